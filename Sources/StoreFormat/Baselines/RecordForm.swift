/// The form of the table that holds a baseline's records: the columns as the rows hold them, and the indexes.
///
/// Two tables of one form keep equal rows on equal pages (sqlite.org/fileformat2.html), whatever their names are. A
/// baseline therefore holds the records of a table in the form of the writer's table, and a store whose table has that
/// form can use the pages as they are.
package struct RecordForm: Hashable, Sendable {
    /// What the declared type of a column means for stored values.
    package enum StoredType: String, Sendable {
        case none = ""
        case text = " TEXT"
        /// The affinity INTEGER, in a column that is not the rowid.
        case integer = " INT"
        case real = " REAL"
        case numeric = " NUMERIC"
        /// The rowid under another name.
        case rowid = " INTEGER PRIMARY KEY"
    }

    /// The collations of SQLite itself, which every reader has.
    package enum Collation: String, Sendable {
        case binary = "BINARY"
        case noCase = "NOCASE"
        case rightTrim = "RTRIM"
    }

    /// A column: `k0` is part of the key, `v0` is another one.
    package struct Column: Hashable, Sendable {
        package var name: String
        package var type: StoredType
        package var isNotNull: Bool
        package var collation: Collation

        package init(_ name: String, _ type: StoredType = .none, isNotNull: Bool = false, _ collation: Collation = .binary) {
            (self.name, self.type, self.isNotNull, self.collation) = (name, type, isNotNull, collation)
        }

        var sql: String {
            name + type.rawValue + (isNotNull ? " NOT NULL" : "") + (collation == .binary ? "" : " COLLATE \(collation.rawValue)")
        }
    }

    /// A term of an index.
    package struct Term: Hashable, Sendable {
        package var column: String
        package var collation: Collation
        package var isDescending: Bool

        package init(_ column: String, _ collation: Collation = .binary, isDescending: Bool = false) {
            (self.column, self.collation, self.isDescending) = (column, collation, isDescending)
        }

        var sql: String { "\(column) COLLATE \(collation.rawValue)\(isDescending ? " DESC" : "")" }
    }

    /// An index of a primary key or a UNIQUE constraint.
    package struct Constraint: Hashable, Sendable {
        package var isKey: Bool
        package var terms: [Term]

        package init(isKey: Bool, _ terms: [Term]) { (self.isKey, self.terms) = (isKey, terms) }

        var sql: String { "\(isKey ? "PRIMARY KEY" : "UNIQUE") (\(RecordForm.list(terms)))" }
    }

    /// An index with a statement of its own.
    package struct Index: Hashable, Sendable {
        package var isUnique: Bool
        package var terms: [Term]

        package init(isUnique: Bool, _ terms: [Term]) { (self.isUnique, self.terms) = (isUnique, terms) }

        /// The text that tells two indexes of a table apart.
        package var text: String { "\(isUnique ? "UNIQUE " : "")(\(RecordForm.list(terms)))" }

        func sql(_ name: String, on table: String) -> String {
            "CREATE \(isUnique ? "UNIQUE " : "")INDEX \(name) ON \(table) (\(RecordForm.list(terms)))"
        }
    }

    /// The columns, in the order in which the rows hold them.
    package private(set) var columns: [Column]
    /// The indexes of constraints, in the order in which SQLite numbers them.
    package private(set) var constraints: [Constraint]
    package private(set) var indexes: [Index]
    package private(set) var hasRowid: Bool

    package init(columns: [Column], constraints: [Constraint], indexes: [Index], hasRowid: Bool) {
        self.columns = columns
        self.constraints = constraints
        self.indexes = indexes
        self.hasRowid = hasRowid
    }

    private static func list(_ terms: [Term]) -> String { terms.map(\.sql).joined(separator: ", ") }

    /// Whether the key is the rowid.
    package var isRowidKey: Bool { columns.contains { $0.type == .rowid } }

    /// Returns the name of the table with a number.
    package static func table(_ number: Int64) -> String { "record_\(number)" }

    /// Returns the name of an index of the table with a number.
    package static func index(_ place: Int, of number: Int64) -> String { "record_\(number)_\(place)" }

    /// Returns the statements that create the table with a number.
    package func statements(_ number: Int64) -> [String] {
        let table = Self.table(number)
        let parts = (columns.map(\.sql) + constraints.map(\.sql)).joined(separator: ", ")
        return ["CREATE TABLE \(table) (\(parts))\(hasRowid ? "" : Self.withoutRowid)"]
            + indexes.enumerated().map { $1.sql(Self.index($0, of: number), on: table) }
    }

    private static let withoutRowid = " WITHOUT ROWID"
}

extension RecordForm {
    /// Reads the form from the statements of a baseline; nil if they are not exactly those of a form.
    ///
    /// - Parameters:
    ///   - found: all statements of the file.
    ///   - number: the number of the table.
    ///   - keys: the number of its key columns.
    ///   - values: the number of its other columns.
    package init?(among found: [String], _ number: Int64, keys: Int, values: Int) {
        let start = "CREATE TABLE \(Self.table(number)) ("
        guard let head = found.first(where: { $0.hasPrefix(start) }) else { return nil }
        self.init(columns: [], constraints: [], indexes: [], hasRowid: !head.hasSuffix(Self.withoutRowid))
        for part in Self.parts(head.dropFirst(start.count).dropLast(hasRowid ? 1 : 1 + Self.withoutRowid.count)) {
            if let constraint = Self.constraint(part) {
                constraints.append(constraint)
            } else if let column = Self.column(part) {
                columns.append(column)
            } else {
                return nil
            }
        }
        while let text = found.first(where: { $0.contains(" INDEX \(Self.index(indexes.count, of: number)) ON ") }) {
            guard let list = text.wholeMatch(of: /[^(]*\((.*)\)/)?.1, let terms = Self.terms(list) else { return nil }
            indexes.append(Index(isUnique: text.hasPrefix("CREATE UNIQUE "), terms))
        }
        let names = columns.map(\.name)
        let expected = (0..<keys).map { "k\($0)" } + (0..<values).map { "v\($0)" }
        guard names.count == expected.count, Set(names) == Set(expected), Set(statements(number)).isSubset(of: found) else { return nil }
        let terms = constraints.flatMap(\.terms) + indexes.flatMap(\.terms)
        guard terms.allSatisfy({ names.contains($0.column) }), hasRowid || constraints.contains(where: \.isKey) else { return nil }
    }

    /// Returns the parts of a list that commas separate, outside of parentheses.
    private static func parts(_ text: Substring) -> [Substring] {
        var parts: [Substring] = []
        var (depth, start) = (0, text.startIndex)
        for place in text.indices {
            switch text[place] {
            case "(": depth += 1
            case ")": depth -= 1
            case "," where depth == 0:
                parts.append(text[start..<place])
                start = text.index(after: place)
            default: break
            }
        }
        parts.append(text[start...])
        return parts.map { $0.first == " " ? $0.dropFirst() : $0 }
    }

    private static func column(_ text: Substring) -> Column? {
        guard let match = text.wholeMatch(of: /([kv]\d+)( INTEGER PRIMARY KEY| INT| TEXT| REAL| NUMERIC)?( NOT NULL)?(?: COLLATE (NOCASE|RTRIM))?/)
        else { return nil }
        return Column(
            String(match.1), StoredType(rawValue: String(match.2 ?? ""))!, isNotNull: match.3 != nil,
            match.4.flatMap { Collation(rawValue: String($0)) } ?? .binary)
    }

    private static func constraint(_ text: Substring) -> Constraint? {
        guard let match = text.wholeMatch(of: /(PRIMARY KEY|UNIQUE) \((.*)\)/), let terms = terms(match.2) else { return nil }
        return Constraint(isKey: match.1 == "PRIMARY KEY", terms)
    }

    private static func terms(_ text: Substring) -> [Term]? {
        var terms: [Term] = []
        for part in parts(text) {
            guard let match = part.wholeMatch(of: /([kv]\d+) COLLATE (BINARY|NOCASE|RTRIM)( DESC)?/) else { return nil }
            terms.append(Term(String(match.1), Collation(rawValue: String(match.2))!, isDescending: match.3 != nil))
        }
        return terms
    }
}
