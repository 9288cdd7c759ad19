internal import GRDB

/// A synced table as the database has it, and the numbers that stand for its columns in stamps and logs.
package struct TableShape: Sendable, Hashable {
    /// The table's number in this store file; it names the tables of ours that go with it.
    package var number: Int64
    package var name: String
    /// The columns of the primary key, in its order.
    package var keyColumns: [String]
    /// The other columns that sync; their places are their numbers.
    package var columns: [String]

    var clockTable: String { "ubiquity_clock_\(number)" }
    var deadTable: String { "ubiquity_dead_\(number)" }
    var captureTable: String { "ubiquity_capture_\(number)" }

    /// Every column that syncs.
    var allColumns: ColumnSet { ColumnSet(rawValue: columns.isEmpty ? 0 : Int64(bitPattern: UInt64.max >> UInt64(64 - columns.count))) }

    package var logTable: LogBody.Table { LogBody.Table(name: name, keyColumns: keyColumns, columns: columns) }

    /// `"k0" = ? AND "k1" = ?` and the like, with a placeholder of the caller's for each key column.
    func keyCondition(_ placeholder: (Int, String) -> String) -> String {
        keyColumns.enumerated().map { "\($1.quotedDatabaseIdentifier) = \(placeholder($0, $1))" }.joined(separator: " AND ")
    }

    /// `k0, k1`: the key's columns in our own tables.
    var ownKeyColumns: String { keyColumns.indices.map { "k\($0)" }.joined(separator: ", ") }
}
