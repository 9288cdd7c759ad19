package import GRDB
package import StoreFormat

/// The deaths of records that snapshots of a public place list without keys.
///
/// They keep a late change of a dead record from bringing it back, and give a record that begins again the next life.
package struct ForgottenDeaths {
    private let find: RawStatement

    /// Prepares to look for deaths in a table; returns nil if none are known.
    init?(in shape: TableShape, _ db: Database) throws {
        // Only a store with a scope has the table.
        guard shape.access != nil else { return nil }
        let any = try RawStatement("SELECT 1 FROM ubiquity_forgotten WHERE number = ? LIMIT 1", db)
        any.bind(1, shape.number)
        defer { any.reset() }
        guard try any.step() else { return nil }
        find = try RawStatement("SELECT life FROM ubiquity_forgotten WHERE number = ? AND mark = ?", db)
        find.bind(1, shape.number)
    }

    /// Returns the life at which a key died, or 0 if that is not known.
    func life(_ key: [RecordValue]) throws -> Int64 {
        find.bind(2, DeathList.Mark(of: key).bytes)
        defer { find.reset() }
        return try find.step() ? find.integer(0) : 0
    }

    /// Enters deaths of a table's records.
    ///
    /// - Parameters:
    ///   - list: the deaths.
    ///   - shape: the table.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    package static func enter(_ list: DeathList, in shape: TableShape, _ db: Database) throws {
        let enter = try RawStatement(
            "INSERT INTO ubiquity_forgotten VALUES (?,?,?) ON CONFLICT DO UPDATE SET life = max(life, excluded.life)", db)
        for (mark, life) in list.lives.sorted(by: { $0.key < $1.key }) {
            enter.bind(1, shape.number)
            enter.bind(2, mark.bytes)
            enter.bind(3, life)
            try enter.run()
        }
    }

    /// Returns the deaths of a table's records that are known without keys.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - db: the store.
    /// - Returns: the deaths.
    /// - Throws: GRDB's errors.
    package static func all(in shape: TableShape, _ db: Database) throws -> DeathList {
        var list = DeathList()
        let rows = try RawStatement("SELECT mark, life FROM ubiquity_forgotten WHERE number = ?", db)
        rows.bind(1, shape.number)
        defer { rows.reset() }
        while try rows.step() { if let mark = DeathList.Mark(bytes: rows.bytes(0)) { list.lives[mark] = rows.integer(1) } }
        return list
    }
}
