public import GRDB

/// What a store's tables are: the app's own migrator, and which of its tables sync.
///
/// ```swift
/// SyncedSchema(migrator: migrator) {
///     SyncedTable("note")
///     SyncedTable("person")
/// }
/// ```
public struct SyncedSchema: Sendable {
    /// The app's migrator; the store runs it.
    public let migrator: DatabaseMigrator
    /// The tables that sync.
    ///
    /// Others stay in this store file.
    public let tables: [SyncedTable]

    /// Declares a schema.
    ///
    /// - Parameters:
    ///   - migrator: makes the tables. The store runs it when it opens; do not run it yourself.
    ///   - tables: the tables that sync; none for a store of ``StoreMetadata`` and local tables alone.
    public init(migrator: DatabaseMigrator = DatabaseMigrator(), @TablesBuilder tables: () -> [SyncedTable] = { [] }) {
        self.migrator = migrator
        self.tables = tables()
    }

    /// Collects the tables of a schema.
    @resultBuilder
    public enum TablesBuilder {
        /// The tables in order.
        public static func buildBlock(_ tables: [SyncedTable]...) -> [SyncedTable] { tables.flatMap { $0 } }
        /// One table.
        public static func buildExpression(_ table: SyncedTable) -> [SyncedTable] { [table] }
        /// Tables that are listed elsewhere.
        public static func buildExpression(_ tables: [SyncedTable]) -> [SyncedTable] { tables }
    }
}
