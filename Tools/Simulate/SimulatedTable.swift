import GRDB
import UbiquityStores

/// The tables of a run: one for each kind of merging.
struct SimulatedTable: Sendable {
    let name: String
    private(set) var keys: [String]
    /// The columns that sync.
    private(set) var columns: [String]
    /// Computed columns, each with its definition.
    private var generated: [String] = []
    /// Columns with another policy than the last write.
    var policies: [String: MergePolicy] = [:]
    var groups: [[String]] = []
    /// The version of the schema that adds the table.
    var since = 1
    /// Columns that a later version than the table's adds, with that version.
    var later: [String: Int] = [:]
    /// Columns that stay on the device.
    var excluded: [String] = []
    var hasRowid = true
    /// The text after a column's name in the table's definition.
    var definitions: [String: String] = [:]
    /// The text after the columns.
    var constraints: [String] = []
    var indexes: [String] = []
    /// Columns with few values, so that records conflict under uniqueness rules.
    var few: Set<String> = []
    /// Rules with an index, which make records one.
    var indexed: [[String]] = []
    /// Rules without an index.
    var unique: [[String]] = []
    /// Rules that give one of two records another value: the last column, NULL or the next free number.
    var exclusive: [Exclusive] = []
    var references: [Reference] = []
    /// The types of key columns other than TEXT.
    var keyTypes: [String: String] = [:]
    /// The possible values of a column of a key or reference, if they are not the numbered keys of the modelled tables.
    var domains: [String: [String]] = [:]
    /// The possible values of other columns, as SQL.
    var literals: [String: [String]] = [:]
    /// Whether its key is SQLite's own number for the row.
    var assignsIntegerKeys = false
    /// The column that an election sets; nil without an election.
    var elected: String?

    /// A foreign key, for the model.
    struct Reference: Sendable {
        enum Orphan: Sendable { case null, standard(String), held }
        var columns: [String]
        var parent: String
        var orphan: Orphan
    }

    init(
        name: String, keys: [String], columns: [String], policies: [String: MergePolicy] = [:], groups: [[String]] = [], later: [String: Int] = [:],
        excluded: [String] = [], hasRowid: Bool = true, definitions: [String: String] = [:], constraints: [String] = [], indexes: [String] = [],
        few: Set<String> = [], indexed: [[String]] = [], unique: [[String]] = [], exclusive: [Exclusive] = [], references: [Reference] = [],
        elected: String? = nil
    ) {
        self.name = name
        self.keys = keys
        self.columns = columns
        self.policies = policies
        self.groups = groups
        self.later = later
        self.excluded = excluded
        self.hasRowid = hasRowid
        self.definitions = definitions
        self.constraints = constraints
        self.indexes = indexes
        self.few = few
        self.indexed = indexed
        self.unique = unique
        self.exclusive = exclusive
        self.references = references
        self.elected = elected
    }

    /// A rule under which two records with an equal value stay two.
    struct Exclusive: Sendable {
        var columns: [String]
        var showsNull: Bool
    }

    static let all = plain + related

    static let plain = [
        SimulatedTable(name: "item", keys: ["id"], columns: ["a", "b", "c"]),
        SimulatedTable(
            name: "score", keys: ["id"], columns: ["best", "least", "found", "note"],
            policies: ["best": .maximum, "least": .minimum, "found": .firstWriter]),
        SimulatedTable(name: "place", keys: ["id"], columns: ["x", "y", "label", "z"], groups: [["x", "y"]], later: ["z": 2], excluded: ["cache"]),
        SimulatedTable(name: "tie", keys: ["l", "r"], columns: ["kind", "weight"], hasRowid: false),
    ]

    /// Every kind of rule and reference, including circles; children come before their parents.
    private static let related = [
        SimulatedTable(
            name: "badge", keys: ["id"], columns: ["p", "t", "text"], definitions: ["p": "TEXT", "t": "TEXT"],
            constraints: ["FOREIGN KEY (p, t) REFERENCES member (person, team) ON DELETE CASCADE"],
            references: [Reference(columns: ["p", "t"], parent: "member", orphan: .held)]),
        SimulatedTable(
            name: "task", keys: ["id"], columns: ["owner", "reviewer", "parent", "title"],
            definitions: [
                "owner": "TEXT REFERENCES person (id) ON DELETE CASCADE",
                "reviewer": "TEXT DEFAULT 'k0' REFERENCES person (id) ON DELETE SET DEFAULT",
                "parent": "TEXT REFERENCES task (id) ON DELETE CASCADE",
            ],
            references: [
                Reference(columns: ["owner"], parent: "person", orphan: .held),
                Reference(columns: ["reviewer"], parent: "person", orphan: .standard("k0")),
                Reference(columns: ["parent"], parent: "task", orphan: .held),
            ]),
        SimulatedTable(
            name: "member", keys: ["person", "team"], columns: ["role", "rank"], hasRowid: false,
            constraints: [
                "FOREIGN KEY (person) REFERENCES person (id) ON DELETE CASCADE", "FOREIGN KEY (team) REFERENCES team (id) ON DELETE RESTRICT",
            ],
            references: [
                Reference(columns: ["person"], parent: "person", orphan: .held), Reference(columns: ["team"], parent: "team", orphan: .held),
            ]),
        SimulatedTable(
            name: "seat", keys: ["id"], columns: ["person", "place"],
            definitions: ["person": "TEXT UNIQUE REFERENCES person (id) ON DELETE NO ACTION", "place": "TEXT"],
            indexes: ["CREATE UNIQUE INDEX seat_place ON seat (abs(place) % 5) WHERE place IS NOT NULL"], indexed: [["person"], ["abs(place) % 5"]],
            references: [Reference(columns: ["person"], parent: "person", orphan: .held)]),
        SimulatedTable(
            name: "song", keys: ["id"], columns: ["team", "position", "shelf", "title"],
            definitions: [
                "team": "TEXT REFERENCES team (id) ON DELETE CASCADE", "position": "INTEGER", "shelf": "INTEGER",
            ],
            constraints: ["UNIQUE (team, position)"], few: ["position", "shelf"],
            exclusive: [Exclusive(columns: ["team", "position"], showsNull: false), Exclusive(columns: ["shelf"], showsNull: true)],
            references: [Reference(columns: ["team"], parent: "team", orphan: .held)]),
        SimulatedTable(
            name: "person", keys: ["id"], columns: ["email", "name", "team"],
            definitions: ["email": "TEXT UNIQUE", "team": "TEXT REFERENCES team (id) ON DELETE SET NULL"], few: ["email"], indexed: [["email"]],
            references: [Reference(columns: ["team"], parent: "team", orphan: .null)]),
        SimulatedTable(
            name: "team", keys: ["id"], columns: ["code", "name", "lead"],
            definitions: ["lead": "TEXT REFERENCES person (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"], few: ["code"],
            unique: [["code"]], references: [Reference(columns: ["lead"], parent: "person", orphan: .null)], elected: "name"),
    ]

    /// Returns the statements that a version of the schema adds.
    func statements(ofVersion version: Int) -> [String] {
        guard version == since else {
            return columns.filter { later[$0] == version }.map { "ALTER TABLE \(name) ADD COLUMN \(definition(of: $0))" }
        }
        let keys = keys.map { "\($0) \(keyTypes[$0] ?? "TEXT") NOT NULL" }
        let others = (columns + excluded).filter { later[$0] == nil }.map(definition) + generated
        let list = keys + others + ["PRIMARY KEY (\(self.keys.joined(separator: ", ")))"] + constraints
        return ["CREATE TABLE \(name) (\(list.joined(separator: ", ")))\(hasRowid ? "" : " WITHOUT ROWID")"] + indexes
    }

    mutating func setKeys(_ keys: [String]) { self.keys = keys }
    mutating func addColumn(_ column: String) { columns.append(column) }
    mutating func generate(_ definition: String) { generated.append(definition) }

    private func definition(of column: String) -> String { definitions[column].map { "\(column) \($0)" } ?? column }

    /// Whether other records have references to its records in their keys.
    var isNamedByOthers: Bool { references.contains { keys.contains($0.columns[0]) } }

    /// Returns the declaration of an app's version.
    func synced(version: Int) -> SyncedTable {
        func isThere(_ column: String) -> Bool { (later[column] ?? 1) <= version }
        return SyncedTable(
            name, columns: policies.filter { isThere($0.key) }, together: groups, unique: indexed + unique,
            exclusive: exclusive.map { .init($0.columns, to: $0.showsNull ? .null : .nextFree) }, excluding: Set(excluded),
            assignsIntegerKeys: assignsIntegerKeys, election: elected.map(Self.election))
    }

    /// Returns the app's choice: the least value of a column.
    private static func election(of column: String) -> SyncedTable.Election {
        { duplicates in [column: duplicates.map { $0[column] as DatabaseValue }.min { "\($0)" < "\($1)" }!] }
    }

    /// The records of a seed, which are equal for every peer that seeds.
    static let seed: [SeedRecord] = (0..<3).flatMap { number in
        let key: String = "k\(number)"
        return [
            SeedRecord(table: "item", values: ["id": key, "a": number, "b": 7]),
            SeedRecord(table: "person", values: ["id": key, "email": String(number), "name": 500]),
            SeedRecord(table: "task", values: ["id": key, "owner": key, "reviewer": "k0"]),
        ]
    }

    /// The number of keys; nil for the numbered keys of the modelled tables.
    var keyCount: Int? { domains.isEmpty ? nil : keys.reduce(1) { $0 * domains[$1]!.count } }

    /// Returns the values of a key by its number, in the order of the key's columns.
    func key(_ number: Int) -> [String] {
        if keyCount != nil {
            var rest = number
            return keys.map { column in
                let domain = domains[column]!
                defer { rest /= domain.count }
                return domain[rest % domain.count]
            }
        }
        if keys.count == 1 { return ["k\(number)"] }
        return isNamedByOthers ? ["k\(number / 2)", "k\(number % 2)"] : ["l\(number / 3)", "r\(number % 3)"]
    }

    /// Returns a value of a column as SQL.
    func value(_ number: Int?, of column: String) -> String {
        guard let number else { return "NULL" }
        if let domain = domains[column] { return "'\(domain[number % domain.count])'" }
        if let literals = literals[column] { return literals[number % literals.count] }
        if references.contains(where: { $0.columns.contains(column) }) {
            return "'k\(number % (references.contains { $0.columns.count > 1 } ? 3 : 6))'"
        }
        return few.contains(column) ? definitions[column]?.hasPrefix("INTEGER") == true ? "\(number % 4)" : "'\(number % 4)'" : String(number)
    }

    /// Returns a condition that matches one key.
    func condition(_ number: Int) -> String { zip(keys, key(number)).map { "\($0) = '\($1)'" }.joined(separator: " AND ") }

    /// Returns every live record, one string each, with each value's type and bytes.
    func rows(_ db: Database) throws -> [String] {
        let shown = (keys + columns).joined(separator: ", ")
        return try Row.fetchAll(db, sql: "SELECT \(shown) FROM \(name) ORDER BY \(keys.joined(separator: ", "))").map { row in
            let (key, values) = (row.databaseValues.prefix(keys.count), row.databaseValues.dropFirst(keys.count))
            let name = key.map { String.fromDatabaseValue($0) ?? Self.text($0) }.joined(separator: ",")
            return "\(self.name)/\(name): \(values.map(Self.text).joined(separator: ", "))"
        }
    }

    private static func text(_ value: DatabaseValue) -> String {
        switch value.storage {
        case .null: "NULL"
        case .int64(let integer): "\(integer)"
        case .double(let real): "\(real)"
        case .string(let text): "'\(text)'"
        case .blob(let data): "x'\(data.map { String($0, radix: 16) }.joined(separator: " "))'"
        }
    }
}
