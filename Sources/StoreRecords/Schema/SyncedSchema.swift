public import GRDB

/// The tables of a store: the app's own migrator, and the declarations of the tables that sync.
///
/// ```swift
/// SyncedSchema(migrator: migrator) {
///     SyncedTable("note")
///     SyncedTable("person")
/// }
/// ```
public struct SyncedSchema: Sendable {
    /// The app's migrator, which the store runs.
    public let migrator: DatabaseMigrator
    /// The synced tables.
    ///
    /// Other tables stay in this store file.
    public let tables: [SyncedTable]
    /// The names of the tables that stay in this store file on purpose.
    ///
    /// A table that is neither synced, nor derived from a synced one, nor local may have been forgotten: the log warns of
    /// it at opening, and the store's status and `ubcontrol doctor` name it.
    public let local: Set<String>
    /// Whether the store that uses the schema has a scope, in which each table declares who may change its rows.
    package var hasScope = false

    /// The synced tables that the store itself brings: ``StoreMetadata``, and with a scope ``Moderation``.
    var ownTables: [TableShape] { [StoreMetadata.shape(hasScope: hasScope)] + (hasScope ? [Moderation.shape] : []) }

    /// Returns whether a synced table is the store's own, which no app declares.
    static func isOwn(_ table: String) -> Bool { table == StoreMetadata.table || table == Moderation.table }

    /// Declares a schema.
    ///
    /// - Parameters:
    ///   - migrator: creates the tables. The store runs it when it opens; do not run it yourself.
    ///   - local: the tables that stay in this store file on purpose. A virtual table needs no declaration.
    ///   - tables: the synced tables; none for a store with only ``StoreMetadata`` and local tables.
    public init(
        migrator: DatabaseMigrator = DatabaseMigrator(), local: Set<String> = [], @TablesBuilder tables: () -> [SyncedTable] = { [] }
    ) {
        self.migrator = migrator
        self.local = local
        self.tables = tables()
    }

    /// Collects the tables of a schema.
    @resultBuilder
    public enum TablesBuilder {
        /// Combines tables, in order.
        public static func buildBlock(_ tables: [SyncedTable]...) -> [SyncedTable] { tables.flatMap { $0 } }
        /// Takes one table.
        public static func buildExpression(_ table: SyncedTable) -> [SyncedTable] { [table] }
        /// Takes an array of tables.
        public static func buildExpression(_ tables: [SyncedTable]) -> [SyncedTable] { tables }
    }
}
