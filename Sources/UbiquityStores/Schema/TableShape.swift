internal import GRDB

/// A synced table as the database has it, and the numbers that stand for its columns in stamps and logs.
package struct TableShape: Sendable, Hashable {
    /// A UNIQUE rule over plain columns beside the primary key; a rule with more in it is taken for less than it is.
    package struct Unique: Sendable, Hashable {
        package var columns: [String]
        package var collations: [String]

        package init(columns: [String], collations: [String]) {
            self.columns = columns
            self.collations = collations
        }
    }

    /// The table's number in this store file; it names the tables of ours that go with it.
    package var number: Int64
    package var name: String
    /// The columns of the primary key, in its order.
    package var keyColumns: [String]
    /// The other columns that sync; their places are their numbers.
    package var columns: [String]
    /// How they are merged.
    package var rules: ColumnRules
    /// Whether SQLite gives its rows a number; a WITHOUT ROWID table has only their keys.
    package var hasRowid: Bool
    /// Whether that number is the key.
    package var isRowidKey: Bool
    /// The rules through which REPLACE takes more than the row with the same key.
    package var uniques: [Unique]

    package init(
        number: Int64, name: String, keyColumns: [String], columns: [String], rules: ColumnRules = .plain, hasRowid: Bool = true,
        isRowidKey: Bool = false, uniques: [Unique] = []
    ) {
        self.number = number
        self.name = name
        self.keyColumns = keyColumns
        self.columns = columns
        self.rules = rules
        self.hasRowid = hasRowid
        self.isRowidKey = isRowidKey
        self.uniques = uniques
    }

    var clockTable: String { "ubiquity_clock_\(number)" }
    var deadTable: String { "ubiquity_dead_\(number)" }
    package var captureTable: String { "ubiquity_capture_\(number)" }

    /// Every column that syncs.
    var allColumns: ColumnSet { ColumnSet(rawValue: columns.isEmpty ? 0 : Int64(bitPattern: UInt64.max >> UInt64(64 - columns.count))) }

    package var logTable: LogBody.Table { LogBody.Table(name: name, keyColumns: keyColumns, columns: columns) }

    /// `"k0" = ? AND "k1" = ?` and the like, with a placeholder of the caller's for each key column.
    func keyCondition(_ placeholder: (Int, String) -> String) -> String {
        keyColumns.enumerated().map { "\($1.quotedIdentifier) = \(placeholder($0, $1))" }.joined(separator: " AND ")
    }

    /// `k0, k1`: the key's columns in our own tables.
    var ownKeyColumns: String { keyColumns.indices.map { "k\($0)" }.joined(separator: ", ") }

    /// `v0, v1`: the other columns in the table of notes, where they hold values from before.
    var ownValueColumns: String { columns.indices.map { "v\($0)" }.joined(separator: ", ") }

    /// A condition on the table for one place: its rowid, or its key.
    var placeCondition: String { hasRowid ? "rowid = ?" : keyCondition { _, _ in "?" } }

    /// The columns of a place in our own tables.
    var ownPlaceColumns: String { hasRowid ? "rid" : ownKeyColumns }

    /// The same condition on our own tables.
    var ownPlaceCondition: String { hasRowid ? "rid = ?" : keyColumns.indices.map { "k\($0) = ?" }.joined(separator: " AND ") }
}

/// Where a row is: SQLite's number for it, or the key of a WITHOUT ROWID table.
package enum Place: Hashable, Sendable {
    case rowid(Int64)
    case key([RecordValue])

    /// Binds it to a statement from a place on, and returns the next.
    @discardableResult
    func bind(to statement: RawStatement, from index: Int = 1) -> Int {
        switch self {
        case .rowid(let rowid):
            statement.bind(index, rowid)
            return index + 1
        case .key(let key):
            for (offset, value) in key.enumerated() { statement.bind(index + offset, value) }
            return index + key.count
        }
    }
}
