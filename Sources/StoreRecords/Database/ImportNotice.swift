internal import Synchronization

/// The records that an import touched, never empty; to read them again brings an observer up to date.
///
/// The three sets describe the import as a whole: a record that was inserted and then changed is in `inserted` alone.
/// They are made when one of them is first read.
public struct ImportNotice: Sendable, Hashable {
    /// The sets of an import's changes, computed for the first reader.
    private final class Sets: Sendable {
        struct Value: Sendable, Hashable {
            var inserted: Set<ObjectID> = []
            var updated: Set<ObjectID> = []
            var deleted: Set<ObjectID> = []
        }

        private let changes: RecordChanges
        private let found = Mutex<Value?>(nil)

        init(_ changes: RecordChanges) { self.changes = changes }

        var value: Value {
            found.withLock { found in
                let value = found ?? Self.value(of: changes)
                found = value
                return value
            }
        }

        private static func value(of changes: RecordChanges) -> Value {
            var value = Value()
            for (kind, id) in changes.list {
                switch kind {
                case .insert: if value.deleted.remove(id) != nil { value.updated.insert(id) } else { value.inserted.insert(id) }
                case .update: if !value.inserted.contains(id) { value.updated.insert(id) }
                case .delete:
                    value.updated.remove(id)
                    if value.inserted.remove(id) == nil { value.deleted.insert(id) }
                }
            }
            return value
        }
    }

    private let sets: Sets

    init(_ changes: RecordChanges) { sets = Sets(changes) }

    /// The records that were inserted.
    public var inserted: Set<ObjectID> { sets.value.inserted }
    /// The records of which some columns changed.
    public var updated: Set<ObjectID> { sets.value.updated }
    /// The records that were deleted.
    public var deleted: Set<ObjectID> { sets.value.deleted }

    /// Compares the sets.
    public static func == (left: Self, right: Self) -> Bool { left.sets === right.sets || left.sets.value == right.sets.value }

    /// Hashes the sets.
    public func hash(into hasher: inout Hasher) { hasher.combine(sets.value) }
}
