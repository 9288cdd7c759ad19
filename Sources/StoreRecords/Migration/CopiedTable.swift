internal import Foundation
internal import GRDB
internal import StoreFormat

/// A table that is copied row by row, in the order in which its rows are stored.
struct CopiedTable {
    /// The digest of rows: their number, and a hash of their types and bytes.
    struct Digest: Equatable {
        var rows = 0
        var hash = ContentHasher().value
    }

    let name: String
    /// The table's writable columns, after the rowid if it has one.
    private let columns: [String]
    private let order: [String]

    init(_ name: String, in db: Database) throws {
        self.name = name
        let all = try Row.fetchAll(db, sql: "SELECT name, hidden, pk FROM pragma_table_xinfo(?, 'main')", arguments: [name])
        let names = Set(all.map { ($0["name"] as String).lowercased() })
        let own = all.filter { $0["hidden"] == 0 }.map { ($0["name"] as String).quotedIdentifier }
        // A column can have one of the names of the rowid.
        let rowid = try Self.hasRowid(name, db) ? ["rowid", "_rowid_", "oid"].first { !names.contains($0) } : nil
        columns = (rowid.map { [$0] } ?? []) + own
        if let rowid {
            order = [rowid]
        } else {
            // The order is by bytes, whatever the columns' collations: then no two keys are equal.
            order = all.filter { $0["pk"] > 0 }.sorted { ($0["pk"] as Int) < $1["pk"] }
                .map { "\(($0["name"] as String).quotedIdentifier) COLLATE BINARY" }
        }
    }

    private static func hasRowid(_ name: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT NOT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?", arguments: [name]) ?? true
    }

    func count(_ db: Database) throws -> Int { try Int.fetchOne(db, sql: "SELECT count(*) FROM main.\(name.quotedIdentifier)")! }

    func cursor(_ db: Database) throws -> Cursor {
        Cursor(
            statement: try RawStatement(
                "SELECT \(columns.joined(separator: ", ")) FROM main.\(name.quotedIdentifier) ORDER BY \(order.joined(separator: ", "))", db))
    }

    /// Returns the statement that copies the rows of the table of this name in an attached database.
    func copying(from schema: String) -> String {
        let columns = columns.joined(separator: ", ")
        return "INSERT INTO main.\(name.quotedIdentifier) (\(columns)) SELECT \(columns) FROM \(schema).\(name.quotedIdentifier)"
    }

    func digest(_ db: Database) throws -> Digest {
        var rows = try cursor(db)
        defer { rows.close() }
        while try rows.next() {}
        return rows.digest
    }

    func insertion(_ db: Database) throws -> RawStatement {
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        return try RawStatement("INSERT INTO main.\(name.quotedIdentifier) (\(columns.joined(separator: ", "))) VALUES (\(places))", db)
    }

    /// Steps through rows and computes their digest.
    struct Cursor {
        let statement: RawStatement
        /// The number of rows that have been read.
        private(set) var count = 0
        private let hasher = ContentHasher()

        /// The digest of the rows that have been read.
        var digest: Digest { Digest(rows: count, hash: hasher.value) }

        init(statement: RawStatement) { self.statement = statement }

        mutating func next() throws -> Bool {
            guard try statement.step() else { return false }
            var row = WireWriter(reserving: 256)
            for column in 0..<statement.columnCount { statement.write(column, to: &row) }
            hasher.update(row.bytes)
            count += 1
            return true
        }

        /// Inserts the present row elsewhere, and returns its size.
        func insert(by insertion: RawStatement) throws -> Int {
            var size = 0
            for column in 0..<statement.columnCount {
                insertion.bind(column + 1, statement.value(column))
                size += 8 + statement.size(column)
            }
            try insertion.run()
            return size
        }

        func close() { statement.reset() }
    }
}
