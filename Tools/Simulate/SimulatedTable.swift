import GRDB
import UbiquityStores

/// The tables of a run: one of each kind that merges in its own way.
struct SimulatedTable: Sendable {
    let name: String
    let keys: [String]
    /// The columns that sync.
    let columns: [String]
    /// Columns of which not the last write stays.
    var policies: [String: MergePolicy] = [:]
    var groups: [[String]] = []
    /// Those of them that come with the schema's second version.
    var later: [String] = []
    /// Columns that stay on the device.
    var excluded: [String] = []
    var hasRowid = true
    /// What stands behind a column's name where the table is made.
    var definitions: [String: String] = [:]
    /// What stands behind the columns.
    var constraints: [String] = []
    var indexes: [String] = []
    /// Columns with few values, so that records meet under uniqueness rules.
    var few: Set<String> = []
    /// Rules that have no index.
    var unique: [[String]] = []
    var references: [Reference] = []

    /// A foreign key, for the model.
    struct Reference: Sendable {
        enum Orphan: Sendable { case null, standard(String), held }
        var columns: [String]
        var parent: String
        var orphan: Orphan
    }

    static let all = plain + related

    static let plain = [
        SimulatedTable(name: "item", keys: ["id"], columns: ["a", "b", "c"]),
        SimulatedTable(
            name: "score", keys: ["id"], columns: ["best", "least", "found", "note"],
            policies: ["best": .maximum, "least": .minimum, "found": .firstWriter]),
        SimulatedTable(name: "place", keys: ["id"], columns: ["x", "y", "label", "z"], groups: [["x", "y"]], later: ["z"], excluded: ["cache"]),
        SimulatedTable(name: "tie", keys: ["l", "r"], columns: ["kind", "weight"], hasRowid: false),
    ]

    /// Every kind of rule and reference, in circles too; children stand before their parents.
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
            indexes: ["CREATE UNIQUE INDEX seat_place ON seat (abs(place) % 5) WHERE place IS NOT NULL"],
            references: [Reference(columns: ["person"], parent: "person", orphan: .held)]),
        SimulatedTable(
            name: "person", keys: ["id"], columns: ["email", "name", "team"],
            definitions: ["email": "TEXT UNIQUE", "team": "TEXT REFERENCES team (id) ON DELETE SET NULL"], few: ["email"],
            references: [Reference(columns: ["team"], parent: "team", orphan: .null)]),
        SimulatedTable(
            name: "team", keys: ["id"], columns: ["code", "name", "lead"],
            definitions: ["lead": "TEXT REFERENCES person (id) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED"], few: ["code"],
            unique: [["code"]], references: [Reference(columns: ["lead"], parent: "person", orphan: .null)]),
    ]

    var statements: [String] {
        let keys = keys.map { "\($0) TEXT NOT NULL" }
        let others = (columns + excluded).filter { !later.contains($0) }.map { column in definitions[column].map { "\(column) \($0)" } ?? column }
        let list = keys + others + ["PRIMARY KEY (\(self.keys.joined(separator: ", ")))"] + constraints
        return ["CREATE TABLE \(name) (\(list.joined(separator: ", ")))\(hasRowid ? "" : " WITHOUT ROWID")"] + indexes
    }

    /// Whether its records are named by others'.
    var isNamedByOthers: Bool { references.contains { keys.contains($0.columns[0]) } }

    var synced: SyncedTable {
        SyncedTable(
            name, columns: policies, together: groups, unique: unique, excluding: Set(excluded),
            election: unique.isEmpty ? nil : Self.elect)
    }

    /// The app's choice: the least name.
    @Sendable private static func elect(_ duplicates: [Row]) -> [String: any DatabaseValueConvertible] {
        ["name": duplicates.map { ($0["name"] as DatabaseValue).description }.min()!]
    }

    /// The schema in its first or its second version, in which there are more columns.
    static func schema(version: Int) -> SyncedSchema {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in for statement in all.flatMap(\.statements) { try db.execute(sql: statement) } }
        if version > 1 {
            migrator.registerMigration("v2") { db in
                for table in all { for column in table.later { try db.execute(sql: "ALTER TABLE \(table.name) ADD COLUMN \(column)") } }
            }
        }
        return SyncedSchema(migrator: migrator, tables: { all.map(\.synced) })
    }

    /// What a seed holds: the same for whoever seeds.
    static let seed: [SeedRecord] = (0..<3).flatMap { number in
        let key: String = "k\(number)"
        return [
            SeedRecord(table: "item", values: ["id": key, "a": number, "b": 7]),
            SeedRecord(table: "person", values: ["id": key, "email": String(number), "name": 500]),
            SeedRecord(table: "task", values: ["id": key, "owner": key, "reviewer": "k0"]),
        ]
    }

    /// The values of a key by its number, in the order of the key's columns.
    func key(_ number: Int) -> [String] {
        if keys.count == 1 { return ["k\(number)"] }
        return isNamedByOthers ? ["k\(number / 2)", "k\(number % 2)"] : ["l\(number / 3)", "r\(number % 3)"]
    }

    /// A value of a column, as SQL.
    func value(_ number: Int?, of column: String) -> String {
        guard let number else { return "NULL" }
        if references.contains(where: { $0.columns.contains(column) }) {
            return "'k\(number % (references.contains { $0.columns.count > 1 } ? 3 : 6))'"
        }
        return few.contains(column) ? "'\(number % 4)'" : String(number)
    }

    /// A condition that one key fulfils.
    func condition(_ number: Int) -> String { zip(keys, key(number)).map { "\($0) = '\($1)'" }.joined(separator: " AND ") }

    /// Every living record, one string each.
    func rows(_ db: Database) throws -> [String] {
        let shown = keys.map { "\($0)" } + columns.map { "quote(\($0))" }
        return try Row.fetchAll(db, sql: "SELECT \(shown.joined(separator: ", ")) FROM \(name) ORDER BY \(keys.joined(separator: ", "))").map { row in
            let values = row.databaseValues.map { String.fromDatabaseValue($0) ?? "\($0)" }
            return "\(name)/\(values.prefix(keys.count).joined(separator: ",")): \(values.dropFirst(keys.count).joined(separator: ", "))"
        }
    }
}
