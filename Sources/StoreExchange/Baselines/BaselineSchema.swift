internal import StoreFormat

/// The tables of a baseline: an SQLite image made only for this, which any program can read (see <doc:BaselineFormat>).
///
/// No table has an index, because a baseline is read from start to end. The rows are in the order of their keys. The
/// columns have no types, so that values stay unchanged.
package enum BaselineSchema {
    /// `PRAGMA application_id`: “UbLn”.
    static let applicationID = 0x5562_4C6E
    /// `PRAGMA user_version`: the form of the tables.
    package static let format = 1

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
    /// - `other_n`: the other living records: held, or united with other records.
    /// - `dead_n`: the dead records, with the life at which they died.
    /// - `same_n`: the same-as facts, as pairs of a key and a life.
    static func statements(number: Int64, keys: Int, columns: Int) -> [String] {
        func list(_ letter: String, _ count: Int) -> String { (0..<count).map { "\(letter)\($0)" }.joined(separator: ", ") }
        let values = columns == 0 ? "" : ", \(list("v", columns))"
        let record = "(\(list("k", keys)), life INTEGER, time INTEGER, peer INTEGER, columns INTEGER, others BLOB\(values))"
        return [
            "CREATE TABLE record_\(number) \(record)",
            "CREATE TABLE other_\(number) \(record)",
            "CREATE TABLE dead_\(number) (\(list("k", keys)), life INTEGER)",
            "CREATE TABLE same_\(number) (\(list("a", keys)), la INTEGER, \(list("b", keys)), lb INTEGER)",
        ]
    }

    /// Returns all statements that create a baseline.
    static func statements(_ tables: [BaselineHeader.Table]) -> [String] {
        common + tables.flatMap { statements(number: $0.number, keys: $0.table.keyColumns.count, columns: $0.table.columns.count) }
    }
}
