internal import GRDB
internal import StoreFormat

/// The statements about the records of one account in a contributed table: rows, and records kept aside.
struct OwnedRows {
    let shape: TableShape
    private let place: Int

    /// Returns nil for a table to which accounts do not contribute.
    init?(_ shape: TableShape) {
        guard let place = shape.ownerPlace else { return nil }
        (self.shape, self.place) = (shape, place)
    }

    private var columns: [String] { shape.keyColumns.map(\.quotedIdentifier) }
    private var rows: String { "SELECT \(columns.joined(separator: ", ")) FROM \(shape.name.quotedIdentifier) WHERE \(columns[place]) = ?1" }
    private var asides: String { "SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable) WHERE k\(place) = ?1" }
    /// The keys of all living records, for FROM; the columns have the names of the table's.
    private var living: String { "(\(rows) UNION \(asides))" }

    /// Marks all records of an account.
    func mark(all account: RecordValue, _ db: Database) throws {
        for source in [rows, asides] { try run("INSERT OR IGNORE INTO \(shape.unresolvedTable) \(source)", [account], db) }
    }

    /// Marks the rows of an account.
    func mark(rows account: RecordValue, _ db: Database) throws {
        try run("INSERT OR IGNORE INTO \(shape.unresolvedTable) \(rows)", [account], db)
    }

    /// Returns a number that the living records of an account do not exceed, without comparing rows with records aside.
    func bound(_ account: RecordValue, _ db: Database) throws -> Int64 {
        let statement = try RawStatement(
            """
            SELECT (SELECT count(*) FROM \(shape.name.quotedIdentifier) WHERE \(columns[place]) = ?1)
            + (SELECT count(*) FROM \(shape.asideTable) WHERE k\(place) = ?1)
            """, db)
        statement.bind(1, account)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Enters the bounds of all accounts, of which none is known.
    ///
    /// The rows are counted by themselves, because an index has them in the order of accounts.
    func enterBounds(_ db: Database) throws {
        for (owner, table) in [(columns[place], shape.name.quotedIdentifier), ("k\(place)", shape.asideTable)] {
            try db.execute(
                sql: """
                    INSERT INTO ubiquity_population SELECT ?, \(owner), count(*) FROM \(table) WHERE true GROUP BY \(owner)
                    ON CONFLICT DO UPDATE SET records = records + excluded.records
                    """, arguments: [shape.number])
        }
    }

    /// Returns the accounts whose bound exceeds a number.
    func accounts(withBoundAbove number: Int64, _ db: Database) throws -> [RecordValue] {
        let statement = try RawStatement("SELECT account FROM ubiquity_population WHERE number = ?1 AND records > ?2", db)
        statement.bind(1, shape.number)
        statement.bind(2, number)
        return try Self.values(statement)
    }

    /// Returns the accounts with rows or records aside.
    ///
    /// `accounts` is a condition without the name of its column; nil for all.
    func owners(_ accounts: String?, _ db: Database) throws -> [RecordValue] {
        let sources = [(columns[place], shape.name.quotedIdentifier), ("k\(place)", shape.asideTable)].map { owner, table in
            "SELECT \(owner) FROM \(table)\(accounts.map { " WHERE \(owner) \($0)" } ?? "")"
        }
        return try Self.values(RawStatement(sources.joined(separator: " UNION "), db))
    }

    private static func values(_ statement: RawStatement) throws -> [RecordValue] {
        defer { statement.reset() }
        var found: [RecordValue] = []
        while try statement.step() { found.append(statement.value(0).detached) }
        return found
    }

    /// Marks all records that are kept aside.
    func markAsides(_ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable)")
    }

    /// Counts the living records of an account.
    func count(_ account: RecordValue, _ db: Database) throws -> Int64 {
        let statement = try RawStatement("SELECT count(*) FROM \(living)", db)
        statement.bind(1, account)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Returns the accounts that may have more living records than a number, from a count that compares no rows with
    /// records aside.
    ///
    /// `accounts` is a condition without the name of its column; nil for all.
    func accounts(_ accounts: String? = nil, withMoreThan number: Int64, _ db: Database) throws -> [RecordValue] {
        let (owner, table, aside) = (columns[place], shape.name.quotedIdentifier, "k\(place)")
        func isMeant(_ column: String) -> String { accounts.map { " WHERE \(column) \($0)" } ?? "" }
        // An index has the rows in the order of accounts, if the account is the first column of the key.
        let statement = try RawStatement(
            """
            WITH hidden(o, n) AS MATERIALIZED (SELECT \(aside), count(*) FROM \(shape.asideTable)\(isMeant(aside)) GROUP BY \(aside))
            SELECT \(owner) FROM \(table) r LEFT JOIN hidden ON o = r.\(owner)\(isMeant("r.\(owner)")) GROUP BY r.\(owner)
            HAVING count(*) + coalesce(max(n), 0) > ?1
            UNION SELECT o FROM hidden WHERE n > ?1
            """, db)
        statement.bind(1, .integer(number))
        return try Self.values(statement)
    }

    /// Returns the key of the living record of an account at a position in the order of keys, from 0; nil if it has
    /// fewer.
    func key(at position: Int64, of account: RecordValue, _ db: Database) throws -> [RecordValue]? {
        let order = columns.map { "\($0) COLLATE BINARY" }.joined(separator: ", ")
        let statement = try RawStatement("SELECT * FROM \(living) ORDER BY \(order) LIMIT 1 OFFSET ?2", db)
        statement.bind(1, account)
        statement.bind(2, .integer(position))
        defer { statement.reset() }
        return try statement.step() ? shape.keyColumns.indices.map { statement.value($0).detached } : nil
    }

    /// Marks the rows of an account that come after a key, and its records aside that do not.
    func mark(rowsAfter key: [RecordValue], _ account: RecordValue, _ db: Database) throws {
        let bound = key.indices.map { "?\($0 + 2)" }.joined(separator: ", ")
        let (row, aside) = (columns.map { "\($0) COLLATE BINARY" }, shape.keyColumns.indices.map { "k\($0)" })
        for source in [
            "\(rows) AND (\(row.joined(separator: ", "))) > (\(bound))", "\(asides) AND (\(aside.joined(separator: ", "))) <= (\(bound))",
        ] {
            try run("INSERT OR IGNORE INTO \(shape.unresolvedTable) \(source)", [account] + key, db)
        }
    }

    /// Marks the records of an account that are kept aside.
    func mark(asides account: RecordValue, _ db: Database) throws {
        try run("INSERT OR IGNORE INTO \(shape.unresolvedTable) \(asides)", [account], db)
    }

    private func run(_ sql: String, _ values: [RecordValue], _ db: Database) throws {
        let statement = try RawStatement(sql, db)
        for (index, value) in values.enumerated() { statement.bind(index + 1, value) }
        try statement.run()
    }
}
