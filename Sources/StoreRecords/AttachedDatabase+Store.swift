public import SystemPackage

extension AttachedDatabase {
    /// Returns another store of the app, whose tables are only read, such as the public store beside a private one.
    ///
    /// A statement reads both stores in one query. It sees what the other store has committed. An observation of this
    /// store does not notice changes of the other one: observe both, or wait for the other store's notices.
    ///
    /// - Parameters:
    ///   - name: the schema name, the prefix of the tables' names in SQL.
    ///   - path: the path that the app gave the other store, which must have been opened once, with one account.
    /// - Returns: the database.
    public static func store(_ name: String, at path: FilePath) -> AttachedDatabase {
        AttachedDatabase(name, at: path, locate: { try InspectedStore.resolve($0) })
    }
}
