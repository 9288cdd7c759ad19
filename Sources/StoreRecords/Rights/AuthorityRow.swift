package import GRDB
internal import StoreFormat

/// The rights of the store's account in the store file, where the guard triggers read them: the one row of
/// `ubiquity_authority`.
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
        CREATE TABLE IF NOT EXISTS \(table) (number INTEGER PRIMARY KEY, account TEXT, contributes INTEGER NOT NULL, roles TEXT NOT NULL) STRICT
        """,
        "INSERT OR IGNORE INTO \(table) VALUES (\(number), NULL, 0, '')",
    ]

    /// Returns whether a file can tell the rights.
    static func exists(_ db: Database) throws -> Bool { try db.tableExists(table) }

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
            sql: "INSERT OR REPLACE INTO \(table) VALUES (\(number), ?, ?, ?)",
            arguments: [rights.account?.description, rights.contributes, list])
    }
}
