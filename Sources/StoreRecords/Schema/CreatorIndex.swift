internal import GRDB

/// The index by which the records of one account are found in a table with a creator.
struct CreatorIndex {
    let table: String
    let creator: String

    /// Returns whether an index of all rows has the creator first.
    func exists(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM pragma_index_list(?) AS list JOIN pragma_index_xinfo(list.name) AS term
                WHERE NOT list.partial AND term.seqno = 0 AND term.name = ? AND term.coll = 'BINARY')
                """, arguments: [table, creator])!
    }

    /// Creates the index.
    func create(_ db: Database) throws {
        try db.execute(
            sql: "CREATE INDEX \("\(table)_by_\(creator)".quotedIdentifier) ON \(table.quotedIdentifier) (\(creator.quotedIdentifier))")
    }
}
