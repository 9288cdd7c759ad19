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
    /// Columns that stay on the device.
    var excluded: [String] = []
    var hasRowid = true

    static let all = [
        SimulatedTable(name: "item", keys: ["id"], columns: ["a", "b", "c"]),
        SimulatedTable(
            name: "score", keys: ["id"], columns: ["best", "least", "found", "note"],
            policies: ["best": .maximum, "least": .minimum, "found": .firstWriter]),
        SimulatedTable(name: "place", keys: ["id"], columns: ["x", "y", "label"], groups: [["x", "y"]], excluded: ["cache"]),
        SimulatedTable(name: "tie", keys: ["l", "r"], columns: ["kind", "weight"], hasRowid: false),
    ]

    var create: String {
        let keys = keys.map { "\($0) TEXT NOT NULL" }.joined(separator: ", ")
        let all = (columns + excluded).joined(separator: ", ")
        return "CREATE TABLE \(name) (\(keys), \(all), PRIMARY KEY (\(self.keys.joined(separator: ", "))))\(hasRowid ? "" : " WITHOUT ROWID")"
    }

    var synced: SyncedTable { SyncedTable(name, columns: policies, groups: groups, excluding: Set(excluded)) }

    static var schema: SyncedSchema {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in for table in all { try db.execute(sql: table.create) } }
        return SyncedSchema(migrator: migrator) {
            all[0].synced
            all[1].synced
            all[2].synced
            all[3].synced
        }
    }

    /// The values of a key by its number, in the order of the key's columns.
    func key(_ number: Int) -> [String] { keys.count == 1 ? ["k\(number)"] : ["l\(number / 3)", "r\(number % 3)"] }

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
