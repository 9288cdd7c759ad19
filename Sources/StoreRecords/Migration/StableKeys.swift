internal import Foundation
public import GRDB
internal import StoreFormat

/// Gives tables whose keys SQLite counts up keys that are the same on every device, in one migration of the app.
///
/// ```swift
/// migrator.registerMigration("stable keys") { db in
///     try StableKeys("artist", "album", "track").convert(db)
/// }
/// ```
///
/// Each listed table gets a TEXT key with a UUID in place of its `INTEGER PRIMARY KEY`, and each column that refers to
/// it by a foreign key gets the new key of the row that it referred to. Everything else stays: other columns and
/// tables, rowids, defaults, constraints, indexes, triggers, views, and the text of the statements that create them.
///
/// The conversion runs completely or not at all. It first lists everything that it cannot convert, with the remedy, and
/// changes nothing then. The page “Stable keys” of the book shows it in an app.
public struct StableKeys: Sendable {
    /// The tables whose keys are replaced.
    public let tables: [String]
    private(set) var references: [KeyReference] = []
    private(set) var accepted: Set<String> = []
    private(set) var shipped: [ShippedKeys] = []

    /// Names the tables whose keys are replaced.
    ///
    /// - Parameter tables: tables with a key of one INTEGER column. Tables that refer to them need not be named.
    public init(_ tables: String...) { self.init(for: tables) }

    /// Names the tables whose keys are replaced.
    ///
    /// - Parameter tables: tables with a key of one INTEGER column. Tables that refer to them need not be named.
    public init(for tables: [String]) { self.tables = tables }

    /// Names a column that holds keys of a listed table and has no foreign key.
    ///
    /// ```swift
    /// StableKeys("artist", "album")
    ///     .referring(column: "artist_id", in: "album", to: "artist")
    ///     .referring(column: "subject", in: "comment", to: "artist", where: "kind = 'artist'")
    ///     .referring(column: "subject", in: "comment", to: "album", where: "kind = 'album'")
    /// ```
    ///
    /// - Parameters:
    ///   - column: the column.
    ///   - table: the table that has it.
    ///   - parent: a listed table.
    ///   - condition: an SQL condition on the row, for a column that refers to several tables. Every row in which the
    ///     column is not NULL meets one of its conditions; the first one counts.
    /// - Returns: the tables with this reference.
    public func referring(column: String, in table: String, to parent: String, where condition: String? = nil) -> StableKeys {
        var copy = self
        copy.references.append(KeyReference(column: ColumnName(table, column), parent: parent, condition: condition))
        return copy
    }

    /// Accepts what the conversion would refuse because it looks like a use of integer keys.
    ///
    /// - Parameter names: `table.column` for a column that looks like a reference and is none, or whose integers are
    ///   wanted; the name of a view, a trigger, an index, a virtual table, or a table with CHECKs or computed columns,
    ///   whose SQL is right with text keys too.
    /// - Returns: the tables with these exceptions.
    public func accepting(_ names: String...) -> StableKeys {
        var copy = self
        copy.accepted.formUnion(names.map { $0.lowercased() })
        return copy
    }

    /// Derives the new keys of shipped rows from their old keys, so that every device gives them equal keys.
    ///
    /// An app that ships a filled database has rows with equal integer keys on every device. With random keys, each
    /// device would make other records of them. Rows that the user added have greater integers, and get random keys.
    ///
    /// Without AUTOINCREMENT, SQLite gives the greatest number again after its row was deleted. A row that a user added
    /// after deleting the last shipped rows would get the key of a shipped row: give it a greater number before.
    ///
    /// - Parameters:
    ///   - name: a name for the shipped data, the same in all versions of the app, such as `org.example.shop`.
    ///   - table: a listed table.
    ///   - last: the greatest key of a shipped row.
    /// - Returns: the tables with this rule.
    public func derived(_ name: String, in table: String, upTo last: Int64) -> StableKeys {
        var copy = self
        copy.shipped.append(ShippedKeys(name: name, table: table, last: last))
        return copy
    }

    /// Returns a new key: a UUID of version 7 in upper case, which sorts by the time of its creation.
    ///
    /// A record takes it as the default of its key, in place of the number that SQLite assigned.
    public static func newKey() -> String { KeySequence(at: Date(), using: SystemRandomNumberGenerator()).key(1) }

    /// Replaces the keys, inside a migration of the app.
    ///
    /// GRDB turns foreign keys off during a migration and checks them at its end; do not register this one with
    /// `foreignKeyChecks: .immediate`.
    ///
    /// - Parameter db: the connection that the migration has.
    /// - Throws: `UbiquitousStoreError` with `invalidSchema` that lists every obstacle and its remedy, with `unsupported`
    ///   if foreign keys are on, or with `database` if rows would be lost; or GRDB's errors. The database is unchanged
    ///   then.
    public func convert(_ db: Database) throws {
        try convert(db, keys: KeySequence(at: Date(), using: SystemRandomNumberGenerator()))
    }

    /// Replaces the keys, with a given source of random keys.
    package func convert(_ db: Database, keys: KeySequence) throws {
        guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") != true else {
            throw UbiquitousStoreError(
                .unsupported,
                "Foreign keys are on, so that tables cannot be made again: call convert(_:) in a migration that is registered without `foreignKeyChecks: .immediate`. Nothing has changed."
            )
        }
        let plan = try StableKeyPlan(self, of: KeyedSchema(db))
        let obstacles = try plan.obstacles + (plan.obstacles.isEmpty ? StableKeyRows(plan, db).obstacles() : [])
        guard obstacles.isEmpty else {
            let list = obstacles.map { "  - \($0)" }.joined(separator: "\n")
            throw UbiquitousStoreError(.invalidSchema, "The keys cannot be made stable, and nothing has changed:\n\(list)")
        }
        try db.inSavepoint {
            try StableKeyConversion(plan, keys, db).run()
            return .commit
        }
    }
}
