internal import GRDB
package import StoreFormat

/// A synced table as the database has it, and the numbers of its columns in stamps and logs.
package struct TableShape: Sendable, Hashable {
    /// A uniqueness rule beside the primary key: an index of the app, or one declared only for merging.
    package struct Unique: Sendable, Hashable {
        /// A term of the rule: a column, or an expression over the table's columns.
        package struct Term: Sendable, Hashable {
            package var sql: String
            package var collation: String
            package var isColumn: Bool
            /// The name in the app's declarations.
            package var name: String
            /// The column's position among the synced columns; nil for an expression, and for a column that does not
            /// sync.
            package var place: ForeignKey.Column?

            package init(sql: String, collation: String = "BINARY", isColumn: Bool = true, name: String? = nil) {
                self.sql = sql
                self.collation = collation
                self.isColumn = isColumn
                self.name = name ?? sql
            }
        }

        /// The rule for two records that hold equal values but are not one.
        package struct Exclusion: Sendable, Hashable {
            package enum Move: String, Sendable { case null, nextFree, chosen }

            /// The column that shows another value.
            package var column: Int
            package var move: Move
            var affinity: ColumnAffinity
            /// Whether the column allows NULL.
            package var takesNull: Bool
        }

        package var terms: [Term]
        /// The condition of a partial index.
        package var condition: String?
        /// Whether SQLite itself enforces the rule.
        package var isEnforced: Bool
        /// The rule for records with equal values that stay separate; nil if they become one.
        package var exclusion: Exclusion?

        package init(terms: [Term], condition: String? = nil, isEnforced: Bool = true) {
            self.terms = terms
            self.condition = condition
            self.isEnforced = isEnforced
        }

        /// The rule as text.
        var declaration: String {
            let moved = exclusion.map { "\($0.column) \($0.move)" } ?? ""
            return (["\(isEnforced)", moved] + terms.map { "\($0.sql) \($0.collation)" } + [condition ?? ""]).joined(separator: "\t")
        }
    }

    /// The table's number in this store file; the names of its own tables contain it.
    package var number: Int64
    package var name: String
    /// The columns of the primary key, in its order.
    package var keyColumns: [String]
    /// The other synced columns; their indexes are their numbers.
    package var columns: [String]
    /// The former names of the table.
    package var formerNames: [String] = []
    /// The present names of former columns, including those of the key.
    package var formerColumns: [String: String] = [:]
    /// The rules by which columns merge.
    package var rules: ColumnRules
    /// Whether its rows have rowids; a WITHOUT ROWID table has only keys.
    package var hasRowid: Bool
    /// Whether the rowid is the key.
    package var isRowidKey: Bool
    /// The uniqueness rules.
    package var uniques: [Unique]
    /// The references to other synced tables.
    package var foreignKeys: [ForeignKey] = []
    /// Whether another synced table, or this one, refers to it.
    package var isParent = false
    /// Whether a NULL in an insert is a written value, rather than no value.
    package var writesNulls = false
    /// The excluded columns.
    package var localColumns: [String] = []
    /// The values that an insert gives other columns that it does not name.
    package var defaults: [RecordValue] = []
    /// The values that an insert gives excluded columns that it does not name.
    package var localDefaults: [RecordValue] = []
    /// The values of other columns in records whose author's schema lacks them: the default, if all devices have an
    /// equal one.
    package var assumed: [RecordValue] = []
    /// The other columns without a type: only they distinguish -0.0 from 0.0, which SQL treats as equal.
    package var untyped: ColumnSet = []
    /// The places in the key of columns that distinguish 1 from 1.0, which SQL treats as one key.
    package var untypedKeys: [Int] = []
    /// The defaults, as expressions, of all NOT NULL columns: REPLACE puts them in place of NULL
    /// (sqlite.org/lang_conflict.html).
    package var substitutes: [String: String] = [:]
    /// The other columns that are NOT NULL.
    package var notNull: ColumnSet = []
    /// The tables that the app's triggers compute from it.
    package var derived: [String] = []
    /// The accounts that may change its rows; nil in a store without a scope.
    package var access: TableAccess?
    /// The place in the key of the column that names the account of a record; nil unless each account has its own
    /// records.
    package var ownerPlace: Int? {
        guard case .creator(let column) = access else { return nil }
        return keyColumns.firstIndex(of: column)
    }

    /// Whether role holders write the table, in a store with a scope.
    package var isCurated: Bool { if case .role = access { true } else { false } }

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

    /// Whether a record that breaks a CHECK is held: an account could otherwise show others what the schema forbids.
    ///
    /// Elsewhere such a record comes from merging an account's own saves, and is shown and listed; see
    /// ``BrokenRecord``.
    package var holdsBroken = false

    /// Whether its rows can differ from its records' registers.
    package var isRelated: Bool { hasRules || holdsBroken || ownerPlace != nil }

    /// Whether a record can depend on others, by references or rules of uniqueness.
    var hasRules: Bool { isParent || !foreignKeys.isEmpty || !uniques.isEmpty }

    /// The rules by which two records cannot hold equal values but are not one.
    var exclusives: [Unique] { uniques.filter { $0.exclusion != nil } }

    /// The columns that the exclusive rules read or move.
    var exclusiveColumns: ColumnSet {
        exclusives.reduce(into: []) { columns, rule in
            for term in rule.terms {
                // Only SQLite knows which columns an expression or a condition reads.
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

    /// Every synced column.
    var allColumns: ColumnSet { ColumnSet(first: columns.count) }

    /// Returns the number of a column by its present or a former name, or nil if there is none.
    func number(of column: String) -> Int? { columns.firstIndex(of: column) ?? formerColumns[column].flatMap { columns.firstIndex(of: $0) } }

    /// Returns the present names of key columns, which a log or the store file may call by former names.
    func presentKey(_ columns: [String]) -> [String] { columns.map { keyColumns.contains($0) ? $0 : formerColumns[$0] ?? $0 } }

    package var logTable: LogBody.Table { LogBody.Table(name: name, keyColumns: keyColumns, columns: columns) }

    /// Returns a condition such as `"k0" = ? AND "k1" = ?`, with the caller's placeholder for each key column.
    func keyCondition(_ placeholder: (Int, String) -> String) -> String {
        keyColumns.enumerated().map { "\($1.quotedIdentifier) = \(placeholder($0, $1))" }.joined(separator: " AND ")
    }

    /// The key's columns in the store's own tables: `k0, k1`.
    package var ownKeyColumns: String { keyColumns.indices.map { "k\($0)" }.joined(separator: ", ") }

    /// The other columns in the capture table, where they hold earlier values: `v0, v1`.
    package var ownValueColumns: String { columns.indices.map { "v\($0)" }.joined(separator: ", ") }

    /// A condition on the table for one place: its rowid, or its key.
    var placeCondition: String { hasRowid ? "rowid = ?" : keyCondition { _, _ in "?" } }

    /// The columns of a place in the store's own tables.
    var ownPlaceColumns: String { hasRowid ? "rid" : ownKeyColumns }

    /// A condition on the store's own tables for one place.
    var ownPlaceCondition: String { hasRowid ? "rid = ?" : keyColumns.indices.map { "k\($0) = ?" }.joined(separator: " AND ") }
}

/// The position of a row: its rowid, or the key in a WITHOUT ROWID table.
package enum Place: Hashable, Sendable {
    case rowid(Int64)
    case key([RecordValue])

    /// Binds the place to a statement from an index on, and returns the next index.
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
