/// A table whose rows sync.
public struct SyncedTable: Sendable, Hashable {
    /// The table's name in the store.
    public let name: String

    /// Declares a table of the app's schema as synced.
    ///
    /// - Parameter name: a table that the app's migrator makes, with a primary key that is no rowid alias.
    public init(_ name: String) { self.name = name }
}
