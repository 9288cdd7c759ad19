internal import GRDB

/// Records of other accounts that are equal to each other, in a store with a scope.
///
/// Nobody here may state that they are one. The first of them is shown and the others are held, until their account
/// states it, or one of them changes.
struct EqualForeigners {
    let table: RelatedTable

    private var shape: TableShape { table.shape }

    /// Whether records may be held because they are equal to others.
    var mayBeHeld: Bool { shape.access != nil && table.hasAsides && shape.uniques.contains { $0.exclusion == nil } }

    /// Marks the held records of the accounts of which a record is marked.
    func mark() throws {
        let owner = shape.ownerPlace.map { "k\($0) IN (SELECT k\($0) FROM \(shape.unresolvedTable))" }
        try table.db.execute(
            sql: """
                INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable)
                WHERE held > '' AND \(owner ?? "EXISTS (SELECT 1 FROM \(shape.unresolvedTable))")
                """)
    }
}
