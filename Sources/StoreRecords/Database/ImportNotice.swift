internal import Foundation
internal import SystemPackage
internal import UbiquityContainers

/// The records that an import touched, never empty: reading these again brings an observer up to date.
public struct ImportNotice: Sendable, Hashable {
    /// Records that were not there before.
    public internal(set) var inserted: Set<ObjectID> = []
    /// Records some of whose columns changed.
    public internal(set) var updated: Set<ObjectID> = []
    /// Records that are no longer there.
    public internal(set) var deleted: Set<ObjectID> = []

    package init() {}

    /// Whether the import changed nothing.
    package var isEmpty: Bool { inserted.isEmpty && updated.isEmpty && deleted.isEmpty }
}

extension ImportNotice {
    /// Adds one change to those before it, so that the three sets say what the import as a whole did.
    mutating func add(_ kind: Kind, _ id: ObjectID) {
        switch kind {
        case .insert:
            if deleted.remove(id) != nil { updated.insert(id) } else { inserted.insert(id) }
        case .update:
            if !inserted.contains(id) { updated.insert(id) }
        case .delete:
            updated.remove(id)
            if inserted.remove(id) == nil { deleted.insert(id) }
        }
    }

    enum Kind { case insert, update, delete }
}
