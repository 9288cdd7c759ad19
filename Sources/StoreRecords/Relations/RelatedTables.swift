package import GRDB
internal import StoreFormat

/// The synced tables and what is kept aside of them, in one transaction.
///
/// What is saved or imported is written as if it were alone; here is marked of which records it has to be found out what they show.
package final class RelatedTables {
    let shapes: [TableShape]
    /// For each table, the references to it.
    let references: [[(child: Int, key: ForeignKey)]]
    /// The same, and the references to records whose keys refer to it: what these mean depends on it too, also where there is no such record.
    let mentions: [[(child: Int, key: ForeignKey)]]
    private var opened: [RelatedTable?]
    private let db: Database

    /// The tables of a store; nil where none relates to another and no records can be one.
    package init?(_ shapes: [TableShape], _ db: Database) {
        guard shapes.contains(where: \.isRelated) else { return nil }
        self.shapes = shapes
        self.db = db
        opened = shapes.map { _ in nil }
        references = shapes.indices.map { parent in
            shapes.indices.flatMap { child in shapes[child].foreignKeys.filter { $0.parent == parent }.map { (child, $0) } }
        }
        mentions = Self.mentions(references)
    }

    private static func mentions(_ references: [[(child: Int, key: ForeignKey)]]) -> [[(child: Int, key: ForeignKey)]] {
        var mentions = references
        for parent in mentions.indices {
            var index = 0
            while index < mentions[parent].count {
                let (child, outer) = mentions[parent][index]
                index += 1
                guard outer.isInKey else { continue }
                for (grandchild, inner) in references[child] {
                    // What of a reference to the child is the child's own reference.
                    let columns = outer.columns.map { column in
                        guard case .key(let place) = column else { return column }
                        return inner.columns[place]
                    }
                    guard !mentions[parent].contains(where: { $0.child == grandchild && $0.key.columns == columns }) else { continue }
                    var orphan = inner.orphan
                    if case .standard(let standard) = orphan { orphan = outer.reference(key: standard, values: []).map { .standard($0) } ?? .null }
                    mentions[parent].append((grandchild, ForeignKey(columns: columns, parent: parent, orphan: orphan)))
                }
            }
        }
        return mentions
    }

    subscript(index: Int) -> RelatedTable {
        get throws {
            if let table = opened[index] { return table }
            let table = try RelatedTable(shapes[index], db)
            opened[index] = table
            return table
        }
    }

    /// How many records are not shown.
    package static func heldCount(_ shapes: [TableShape], _ db: Database) throws -> Int {
        try shapes.filter(\.isRelated).reduce(0) { try $0 + Int.fetchOne(db, sql: "SELECT count(*) FROM \($1.asideTable) WHERE held > ''")! }
    }

    /// Whether records are marked.
    package static func hasUnresolved(_ shapes: [TableShape], _ db: Database) throws -> Bool {
        guard shapes.contains(where: \.isRelated) else { return false }
        return try shapes.contains { shape in
            let statement = try RawStatement("SELECT 1 FROM \(shape.unresolvedTable) LIMIT 1", db)
            defer { statement.reset() }
            return try statement.step()
        }
    }
}

extension RelatedTables {
    /// Marks a record whose row came to be, if it may have to be shown otherwise, or others for it.
    func noteBegun(_ index: Int, _ node: RecordNode, value: (Int) throws -> RecordValue) throws {
        let table = try self[index]
        if try needsParent(index, node.key, among: nil, value: value) || table.partner(of: node.key) != nil
            || isAwaited(index) || !table.neighbours(of: node).isEmpty || table.hasMoved || table.hasRival(node.key)
        {
            try table.markUnresolved(node.key)
        }
    }

    /// Marks a record some of whose columns were written, if it may have to be shown otherwise.
    func noteWritten(_ index: Int, _ key: [RecordValue], _ columns: ColumnSet, value: (Int) throws -> RecordValue) throws {
        let table = try self[index]
        // What it held until now may be another's again.
        let isExclusive = !table.exclusiveColumns.isDisjoint(with: columns)
        if try needsParent(index, key, among: columns, value: value) || table.partner(of: key) != nil
            || isExclusive && (table.hasMoved || table.hasRival(key))
        {
            try table.markUnresolved(key)
        }
    }

    /// Marks a record that ended, if others may have to be shown otherwise for it.
    func noteEnded(_ index: Int, _ node: RecordNode) throws {
        let table = try self[index]
        if try shapes[index].isParent || !table.neighbours(of: node).isEmpty || table.hasMoved { try table.markUnresolved(node.key) }
    }

    /// Whether records may wait for a parent in a table.
    private func isAwaited(_ index: Int) throws -> Bool { try mentions[index].contains { try self[$0.child].hasAsides } }

    /// Whether a record refers to one that has no row.
    private func needsParent(_ index: Int, _ key: [RecordValue], among columns: ColumnSet?, value: (Int) throws -> RecordValue) throws -> Bool {
        for reference in shapes[index].foreignKeys {
            if let columns, reference.valueColumns.isDisjoint(with: columns) { continue }
            var wanted: [RecordValue] = []
            for column in reference.columns {
                switch column {
                case .key(let place): wanted.append(key[place])
                case .value(let number): wanted.append(try value(number))
                }
            }
            if !wanted.contains(.null), try !self[reference.parent].hasRow(wanted) { return true }
        }
        return false
    }
}
