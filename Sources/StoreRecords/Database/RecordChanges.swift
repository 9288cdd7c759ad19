internal import StoreFormat

/// The changes that an import makes to records, in their order.
///
/// A notice names each record once. To find out which records have changed twice costs as much as a third of the
/// import, so it is done only for somebody who reads the notice.
package struct RecordChanges: Sendable {
    enum Kind: Sendable, Hashable {
        case insert
        /// These columns changed.
        case update(ColumnSet)
        case delete
    }

    private(set) var list: [(kind: Kind, id: ObjectID)] = []
    private var tables: Set<String> = []
    /// The authors of the changes, each with the index of its first change.
    private var authors: [(start: Int, stamp: Stamp?)] = []

    package init() {}

    mutating func add(_ kind: Kind, _ id: ObjectID) {
        // Most changes follow one to the same table.
        if list.last?.id.table != id.table { tables.insert(id.table) }
        list.append((kind, id))
    }

    /// Sets the author and time of the next changes; nil if the store makes them by itself.
    mutating func begin(by stamp: Stamp?) {
        if let last = authors.last, last.stamp == stamp { return }
        if authors.last?.start == list.count { authors.removeLast() }
        if stamp != nil || !authors.isEmpty { authors.append((list.count, stamp)) }
    }

    /// Returns the spans of changes by one author, each with the index after its last change.
    func spans(from start: Int) -> [(end: Int, stamp: Stamp?)] {
        var spans: [(end: Int, stamp: Stamp?)] = []
        for (index, author) in authors.enumerated() {
            if index == 0, author.start > start { spans.append((author.start, nil)) }
            let end = index + 1 < authors.count ? authors[index + 1].start : list.count
            if end > start { spans.append((end, author.stamp)) }
        }
        if authors.isEmpty, list.count > start { spans.append((list.count, nil)) }
        return spans
    }

    /// Adds changes that the store makes by itself.
    mutating func add(_ others: RecordChanges) {
        guard !others.list.isEmpty else { return }
        begin(by: nil)
        list += others.list
        tables.formUnion(others.tables)
    }

    /// The numbers of changes; a record that has changed twice counts twice.
    package var counts: (inserted: Int, updated: Int, deleted: Int) {
        list.reduce(into: (0, 0, 0)) { counts, change in
            switch change.kind {
            case .insert: counts.0 += 1
            case .update: counts.1 += 1
            case .delete: counts.2 += 1
            }
        }
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
