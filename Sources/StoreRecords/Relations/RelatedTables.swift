package import GRDB
internal import StoreFormat

/// The synced tables and their records kept aside, in one transaction.
///
/// Saves and imports write each record as if it had no relations, and this type marks the records to resolve
/// afterwards.
package final class RelatedTables {
    let shapes: [TableShape]
    /// The references to each table.
    let references: [[(child: Int, key: ForeignKey)]]
    /// The references to each table, and those to records whose keys refer to it.
    ///
    /// The meaning of the latter depends on the table too, even if the record between them does not exist.
    let mentions: [[(child: Int, key: ForeignKey)]]
    /// The limit of an account's records; nil without contributed tables.
    let limit: RecordLimit?
    private var opened: [RelatedTable?]
    private let db: Database

    /// Creates the tables of a store; nil if they have no relations and no records can be one.
    package init?(_ shapes: [TableShape], _ db: Database) {
        guard shapes.contains(where: \.isRelated) else { return nil }
        self.shapes = shapes
        self.db = db
        limit = shapes.contains { $0.ownerPlace != nil } ? RecordLimit(shapes, db) : nil
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
                    // The columns of the outer reference that belong to the child's own reference.
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

    /// Returns the number of held records.
    package static func heldCount(_ shapes: [TableShape], _ db: Database) throws -> Int {
        try shapes.filter(\.isRelated).reduce(0) { try $0 + Int.fetchOne(db, sql: "SELECT count(*) FROM \($1.asideTable) WHERE held > ''")! }
    }

    /// Returns whether any records are marked.
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
    /// Returns whether a new record of a table concerns no other record, and none concerns it: the table has no rules, and
    /// every row shows its own record.
    func isPlain(_ index: Int) throws -> Bool {
        guard !shapes[index].hasRules else { return false }
        let table = try self[index]
        return !table.hasAsides && !table.hasFacts
    }

    /// Marks a record with a new row, if it or other records may now show something else.
    func noteBegun(_ index: Int, _ node: RecordNode, value: (Int) throws -> RecordValue) throws {
        limit?.begin(node.key, in: index)
        if try isPlain(index) { return }
        let table = try self[index]
        if try needsParent(index, node.key, among: nil, value: value) || table.partner(of: node.key) != nil
            || isAwaited(index) || !table.neighbours(of: node).isEmpty || table.hasMoved || table.hasRival(node.key)
        {
            try table.markUnresolved(node.key)
        }
    }

    /// Marks a record after a write to some of its columns, if it may now show something else.
    func noteWritten(_ index: Int, _ key: [RecordValue], _ columns: ColumnSet, value: (Int) throws -> RecordValue) throws {
        let table = try self[index]
        // Another record may get back a value that this record held until now.
        let isExclusive = !table.exclusiveColumns.isDisjoint(with: columns)
        if try needsParent(index, key, among: columns, value: value) || table.partner(of: key) != nil
            || isExclusive && (table.hasMoved || table.hasRival(key)) || EqualForeigners(table: table).mayBeHeld
        {
            try table.markUnresolved(key)
        }
    }

    /// Marks a record that ended, if other records may now show something else.
    func noteEnded(_ index: Int, _ node: RecordNode) throws {
        let table = try self[index]
        limit?.end(node.key, in: index)
        if try shapes[index].isParent || !table.neighbours(of: node).isEmpty || table.hasMoved || EqualForeigners(table: table).mayBeHeld {
            try table.markUnresolved(node.key)
        }
    }

    /// Marks the held records that may have been equal to a marked one.
    func markEqualForeigners() throws {
        for foreigners in try shapes.indices.map({ EqualForeigners(table: try self[$0]) }) where foreigners.mayBeHeld { try foreigners.mark() }
    }

    /// Returns whether records may wait for a parent in a table.
    private func isAwaited(_ index: Int) throws -> Bool { try mentions[index].contains { try self[$0.child].hasAsides } }

    /// Returns whether a record refers to a record without a row.
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
