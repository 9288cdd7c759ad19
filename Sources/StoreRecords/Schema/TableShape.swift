internal import GRDB
package import StoreFormat

/// A synced table as the database has it, and the numbers that stand for its columns in stamps and logs.
package struct TableShape: Sendable, Hashable {
    /// A uniqueness rule beside the primary key: an index of the app's, or one that it declares for merging alone.
    package struct Unique: Sendable, Hashable {
        /// A term of the rule: a column, or an expression over the table's columns.
        package struct Term: Sendable, Hashable {
            package var sql: String
            package var collation: String
            package var isColumn: Bool
            /// As an app names it.
            package var name: String
            /// Where the column stands among those that sync; nil for an expression, and for a column that does not.
            package var place: ForeignKey.Column?

            package init(sql: String, collation: String = "BINARY", isColumn: Bool = true, name: String? = nil) {
                self.sql = sql
                self.collation = collation
                self.isColumn = isColumn
                self.name = name ?? sql
            }
        }

        /// What is shown where two records hold the same, and are not one.
        package struct Exclusion: Sendable, Hashable {
            package enum Move: String, Sendable { case null, nextFree, chosen }

            /// The column that shows another value.
            package var column: Int
            package var move: Move
            var affinity: ColumnAffinity
            /// Whether the column takes NULL.
            package var takesNull: Bool
        }

        package var terms: [Term]
        /// The condition of a partial index.
        package var condition: String?
        /// Whether SQLite itself enforces it.
        package var isEnforced: Bool
        /// Where two records that hold the same stay two; nil where they are one.
        package var exclusion: Exclusion?

        package init(terms: [Term], condition: String? = nil, isEnforced: Bool = true) {
            self.terms = terms
            self.condition = condition
            self.isEnforced = isEnforced
        }

        /// What it says, as text.
        var declaration: String {
            let moved = exclusion.map { "\($0.column) \($0.move)" } ?? ""
            return (["\(isEnforced)", moved] + terms.map { "\($0.sql) \($0.collation)" } + [condition ?? ""]).joined(separator: "\t")
        }
    }

    /// The table's number in this store file; it names the tables of ours that go with it.
    package var number: Int64
    package var name: String
    /// The columns of the primary key, in its order.
    package var keyColumns: [String]
    /// The other columns that sync; their places are their numbers.
    package var columns: [String]
    /// The names that the table had before.
    package var formerNames: [String] = []
    /// Former names of columns, those of the key included, and their names now.
    package var formerColumns: [String: String] = [:]
    /// How they are merged.
    package var rules: ColumnRules
    /// Whether SQLite gives its rows a number; a WITHOUT ROWID table has only their keys.
    package var hasRowid: Bool
    /// Whether that number is the key.
    package var isRowidKey: Bool
    /// The rules by which two records are one (DESIGN §5).
    package var uniques: [Unique]
    /// The references to other synced tables.
    package var foreignKeys: [ForeignKey] = []
    /// Whether another synced table, or this one, refers to it.
    package var isParent = false
    /// Whether a NULL at an insert is a value that somebody wrote, rather than nobody's.
    package var writesNulls = false
    /// Columns that stay on the device.
    package var localColumns: [String] = []
    /// What an insert gives the other columns that it does not name.
    package var defaults: [RecordValue] = []
    /// The same of the columns that stay on the device.
    package var localDefaults: [RecordValue] = []
    /// What records show in the other columns that the schema of their author does not know: the default, where every device has the same.
    package var assumed: [RecordValue] = []
    /// The other columns without a type: only they keep -0.0 apart from 0.0, which SQL takes for equal.
    package var untyped: ColumnSet = []
    /// The places in the key of columns that keep 1 apart from 1.0, which SQL takes for one key.
    package var untypedKeys: [Int] = []
    /// The defaults, as expressions, of all columns that may not be NULL: what REPLACE puts in the place of one (sqlite.org/lang_conflict.html).
    package var substitutes: [String: String] = [:]
    /// The other columns that may not be NULL.
    package var notNull: ColumnSet = []
    /// The tables that the app's triggers compute from it.
    package var derived: [String] = []

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

    /// Whether what it shows may be another thing than its records' registers.
    package var isRelated: Bool { isParent || !foreignKeys.isEmpty || !uniques.isEmpty }

    /// The rules by which two records may not hold the same, and are not one.
    var exclusives: [Unique] { uniques.filter { $0.exclusion != nil } }

    /// The columns by which it shows what such a rule lets a record show.
    var exclusiveColumns: ColumnSet {
        exclusives.reduce(into: []) { columns, rule in
            for term in rule.terms {
                // Nobody but SQLite can tell what an expression or a condition looks at.
                guard let place = term.place, rule.condition == nil else {
                    columns = allColumns
                    return
                }
                if case .value(let number) = place { columns.insert(ColumnSet(column: number)) }
            }
        }
    }

    package var asideTable: String { "ubiquity_aside_\(number)" }
    package var sameTable: String { "ubiquity_same_\(number)" }
    var unresolvedTable: String { "ubiquity_unresolved_\(number)" }
    var movedTable: String { "ubiquity_moved_\(number)" }

    package var clockTable: String { "ubiquity_clock_\(number)" }
    package var deadTable: String { "ubiquity_dead_\(number)" }
    package var captureTable: String { "ubiquity_capture_\(number)" }

    /// Every column that syncs.
    var allColumns: ColumnSet { ColumnSet(first: columns.count) }

    /// The number of a column by a name that it has or had; nil where there is none.
    func number(of column: String) -> Int? { columns.firstIndex(of: column) ?? formerColumns[column].flatMap { columns.firstIndex(of: $0) } }

    /// The names of a key's columns, where the log or the store file may have former ones.
    func presentKey(_ columns: [String]) -> [String] { columns.map { keyColumns.contains($0) ? $0 : formerColumns[$0] ?? $0 } }

    package var logTable: LogBody.Table { LogBody.Table(name: name, keyColumns: keyColumns, columns: columns) }

    /// `"k0" = ? AND "k1" = ?` and the like, with a placeholder of the caller's for each key column.
    func keyCondition(_ placeholder: (Int, String) -> String) -> String {
        keyColumns.enumerated().map { "\($1.quotedIdentifier) = \(placeholder($0, $1))" }.joined(separator: " AND ")
    }

    /// `k0, k1`: the key's columns in our own tables.
    package var ownKeyColumns: String { keyColumns.indices.map { "k\($0)" }.joined(separator: ", ") }

    /// `v0, v1`: the other columns in the table of notes, where they hold values from before.
    package var ownValueColumns: String { columns.indices.map { "v\($0)" }.joined(separator: ", ") }

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
