package import StoreFormat

/// The tables of a baseline: an SQLite image made only for this, which any program can read (see <doc:BaselineFormat>).
///
/// The tables of records have the form of the writer's tables, so that a store whose tables have that form too can use
/// their pages. Format 1 had tables without types and indexes, with a record and its clock in one row. It is still read.
package enum BaselineSchema {
    /// `PRAGMA application_id`: “UbLn”.
    static let applicationID = 0x5562_4C6E
    /// `PRAGMA user_version`: the form of the tables.
    package static let format = 2
    /// The format in which a record and its clock are in one row.
    package static let joinedFormat = 1

    static let common = [
        "CREATE TABLE baseline (content TEXT, epoch INTEGER, peer TEXT, sequence INTEGER, schema TEXT, created REAL, clock INTEGER)",
        "CREATE TABLE peer (number INTEGER PRIMARY KEY, name TEXT)",
        // The last log of each branch of each peer.
        "CREATE TABLE knowledge (peer INTEGER, sequence INTEGER, hash BLOB)",
        // Holes: logs that were passed over because their author was retired. `followed`: the author's next log is
        // here.
        "CREATE TABLE hole (peer INTEGER, sequence INTEGER, hash BLOB, followed INTEGER)",
        // The peers that are retired.
        "CREATE TABLE retired (peer INTEGER, receipt INTEGER, sequence INTEGER)",
        // Every log that the baseline holds, with the highest stamp in the log.
        "CREATE TABLE log (peer INTEGER, sequence INTEGER, hash BLOB, time INTEGER)",
        // The highest stamp of each peer that each author had seen.
        "CREATE TABLE seen (author INTEGER, peer INTEGER, time INTEGER)",
        "CREATE TABLE synced_table (number INTEGER PRIMARY KEY, name TEXT, keys TEXT, columns TEXT)",
    ]

    /// Returns the statements that create the tables for one synced table.
    ///
    /// - `record_n`: the living records whose row at the writer shows exactly their registers.
    /// - `clock_n`: the lives and stamps of these records.
    /// - `other_n`: the other living records: held, or united with other records.
    /// - `dead_n`: the dead records, with the life at which they died.
    /// - `same_n`: the same-as facts, as pairs of a key and a life.
    package static func statements(_ table: BaselineHeader.Table) -> [String] {
        let (keys, columns) = (table.table.keyColumns.count, table.table.columns.count)
        guard let form = table.form else { return joinedStatements(number: table.number, keys: keys, columns: columns) }
        let key = list("k", keys)
        let clock = "life INTEGER NOT NULL, time INTEGER NOT NULL, peer INTEGER NOT NULL, columns INTEGER NOT NULL, others BLOB"
        let place = form.hasRowid ? "(rid INTEGER PRIMARY KEY, \(clock))" : "(\(key), \(clock), PRIMARY KEY (\(key))) WITHOUT ROWID"
        return form.statements(table.number) + [
            "CREATE TABLE clock_\(table.number) \(place)",
            "CREATE TABLE dead_\(table.number) (\(key), life INTEGER NOT NULL, PRIMARY KEY (\(key))) WITHOUT ROWID",
        ] + [other(table.number, keys, columns), same(table.number, keys)]
    }

    /// Returns the statements for one synced table in format 1.
    package static func joinedStatements(number: Int64, keys: Int, columns: Int) -> [String] {
        [
            "CREATE TABLE record_\(number) \(joined(keys, columns))", other(number, keys, columns),
            "CREATE TABLE dead_\(number) (\(list("k", keys)), life INTEGER)", same(number, keys),
        ]
    }

    private static func list(_ letter: String, _ count: Int) -> String { (0..<count).map { "\(letter)\($0)" }.joined(separator: ", ") }

    private static func joined(_ keys: Int, _ columns: Int) -> String {
        let values = columns == 0 ? "" : ", \(list("v", columns))"
        return "(\(list("k", keys)), life INTEGER, time INTEGER, peer INTEGER, columns INTEGER, others BLOB\(values))"
    }

    private static func other(_ number: Int64, _ keys: Int, _ columns: Int) -> String { "CREATE TABLE other_\(number) \(joined(keys, columns))" }

    private static func same(_ number: Int64, _ keys: Int) -> String {
        "CREATE TABLE same_\(number) (\(list("a", keys)), la INTEGER, \(list("b", keys)), lb INTEGER)"
    }

    /// Returns all statements that create a baseline.
    static func statements(_ tables: [BaselineHeader.Table]) -> [String] { common + tables.flatMap { statements($0) } }
}
