/// The changes that an import makes to records, in their order.
///
/// A notice names each record once. To find out which records have changed twice costs as much as a third of the
/// import, so it is done only for somebody who reads the notice.
package struct RecordChanges {
    private var changes: [(kind: Kind, id: ObjectID)] = []
    private var tables: Set<String> = []

    package init() {}

    /// Whether nothing has been changed, not even back and forth.
    package var isEmpty: Bool { changes.isEmpty }

    enum Kind { case insert, update, delete }

    mutating func add(_ kind: Kind, _ id: ObjectID) {
        // Most changes follow one to the same table.
        if changes.last?.id.table != id.table { tables.insert(id.table) }
        changes.append((kind, id))
    }

    mutating func add(_ others: RecordChanges) {
        changes += others.changes
        tables.formUnion(others.tables)
    }

    func touches(_ table: String) -> Bool { tables.contains(table) }

    /// The notice of all changes as a whole: what was inserted and then changed is inserted.
    package var notice: ImportNotice {
        var (inserted, updated, deleted): (Set<ObjectID>, Set<ObjectID>, Set<ObjectID>) = ([], [], [])
        for (kind, id) in changes {
            switch kind {
            case .insert: if deleted.remove(id) != nil { updated.insert(id) } else { inserted.insert(id) }
            case .update: if !inserted.contains(id) { updated.insert(id) }
            case .delete:
                updated.remove(id)
                if inserted.remove(id) == nil { deleted.insert(id) }
            }
        }
        return ImportNotice(inserted: inserted, updated: updated, deleted: deleted)
    }
}
