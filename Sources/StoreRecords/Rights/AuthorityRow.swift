package import GRDB
internal import StoreFormat

/// The rights of the store's account in the store file, where the guard triggers read them, and the limit of records:
/// the one row of `ubiquity_authority`.
///
/// Only a store with a scope has the table. A new row gives no rights.
package enum AuthorityRow {
    static let table = "ubiquity_authority"
    /// The number of the row.
    static let number = 1
    /// The character before and after each role.
    static let separator: Character = "\n"

    /// The statements that create the table and its row.
    static let statements = [
        """
        CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, account TEXT, contributes INTEGER NOT NULL, roles TEXT NOT NULL, \
        records INTEGER NOT NULL) STRICT
        """,
        "INSERT OR IGNORE INTO \(table) VALUES (\(number), NULL, 0, '', \(Policy.Limits().records))",
    ]

    /// Returns whether a file can tell the rights.
    static func exists(_ db: Database) throws -> Bool { try db.tableExists(table, in: "main") }

    /// Reads the rights.
    ///
    /// - Parameter db: a store with a scope.
    /// - Returns: the rights; those of a reader if the row is gone.
    /// - Throws: `UbiquitousStoreError` with `malformed` if the account is none; GRDB's errors.
    package static func read(_ db: Database) throws -> WriteRights {
        let row = try RawStatement("SELECT account, contributes, roles FROM \(table) WHERE number = \(number)", db)
        defer { row.reset() }
        guard try row.step() else { return .reading }
        let account = row.text(0)
        let identifier = account.flatMap { AccountIdentifier($0) }
        guard (account == nil) == (identifier == nil) else {
            throw UbiquitousStoreError(.malformed, "\(table) names an account that is none: open the store again, which writes the rights.")
        }
        let roles = (row.text(2) ?? "").split(separator: separator).map(String.init)
        return WriteRights(account: identifier, contributes: row.integer(1) != 0, roles: Set(roles))
    }

    /// Writes the rights, which hold for the writes after it, also for those of other programs.
    ///
    /// - Parameters:
    ///   - rights: the rights. A role with a control character belongs to no table, and is left out.
    ///   - db: a store with a scope, in a transaction.
    /// - Throws: GRDB's errors.
    package static func write(_ rights: WriteRights, _ db: Database) throws {
        let roles = rights.roles.filter { !$0.contains(separator) && !$0.isEmpty }.sorted()
        let list = roles.isEmpty ? "" : "\(separator)\(roles.joined(separator: String(separator)))\(separator)"
        try db.execute(
            sql: """
                INSERT INTO \(table) VALUES (\(number), ?, ?, ?, \(Policy.Limits().records))
                ON CONFLICT DO UPDATE SET account = excluded.account, contributes = excluded.contributes, roles = excluded.roles
                """, arguments: [rights.account?.description, rights.contributes, list])
    }

    /// Reads the number of living records of an account in a table that are shown.
    static func limit(_ db: Database) throws -> Int64 {
        let row = try RawStatement("SELECT records FROM \(table) WHERE number = \(number)", db)
        defer { row.reset() }
        return try row.step() ? row.integer(0) : Policy.Limits().records
    }

    static func setLimit(_ limit: Int64, _ db: Database) throws {
        try db.execute(sql: "UPDATE \(table) SET records = ? WHERE number = \(number)", arguments: [limit])
    }
}
