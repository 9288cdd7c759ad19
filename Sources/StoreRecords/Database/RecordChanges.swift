/// The changes that an import makes to records, in their order.
///
/// A notice names each record once. To find out which records have changed twice costs as much as a third of the
/// import, so it is done only for somebody who reads the notice.
package struct RecordChanges: Sendable {
    enum Kind: Sendable { case insert, update, delete }

    private(set) var list: [(kind: Kind, id: ObjectID)] = []
    private var tables: Set<String> = []

    package init() {}

    mutating func add(_ kind: Kind, _ id: ObjectID) {
        // Most changes follow one to the same table.
        if list.last?.id.table != id.table { tables.insert(id.table) }
        list.append((kind, id))
    }

    mutating func add(_ others: RecordChanges) {
        list += others.list
        tables.formUnion(others.tables)
    }

    func touches(_ table: String) -> Bool { tables.contains(table) }

    /// The notice of all changes; nil if none is left, because each record that was inserted was deleted too.
    package var notice: ImportNotice? {
        guard !list.isEmpty else { return nil }
        let notice = ImportNotice(self)
        let isInsertedOnly = list.allSatisfy { $0.kind == .insert }
        if isInsertedOnly || !(notice.inserted.isEmpty && notice.updated.isEmpty && notice.deleted.isEmpty) { return notice }
        return nil
    }
}
