internal import StoreFormat

// MARK: References to entities

extension RelatedTables {
    /// Returns the records that refer to an entity by any of its keys, or to a record whose key refers to it.
    func referring(to entity: Entity) throws -> [RecordName] {
        try mentions[entity.table].flatMap { child, key in
            let table = try self[child]
            return try (table.rows(referringTo: entity.keys, by: key) + asides(of: child, referringTo: entity.keys, by: key)).map {
                RecordName(table: child, key: $0)
            }
        }
    }

    /// Returns the records aside that refer to any of the keys, by their own values or by those of records one with
    /// them.
    ///
    /// A reference of several columns that is joined from several records can differ from the reference of each of
    /// them.
    func asides(of child: Int, referringTo keys: [[RecordValue]], by reference: ForeignKey) throws -> [[RecordValue]] {
        guard reference.columns.count > 1, try mayMeanAnother(child) else { return try self[child].asides(referringTo: keys, by: reference) }
        return try self[child].asides()
    }

    /// Returns whether keys of a table can mean other records than those that they name.
    func mayMeanAnother(_ table: Int) throws -> Bool {
        let own = try self[table]
        return try own.hasAsides || own.hasFacts || shapes[table].foreignKeys.contains { try $0.isInKey && mayMeanAnother($0.parent) }
    }
}
