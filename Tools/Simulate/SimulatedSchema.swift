import GRDB
import UbiquityStores

/// The schema of a run: its tables, in one version or several.
struct SimulatedSchema: Sendable {
    /// Children stand before or after their parents.
    let tables: [SimulatedTable]
    /// How many versions there are.
    let versions: Int
    /// What a seed holds: the same for whoever seeds.
    let seed: [SeedRecord]
    /// Whether the models say what the tables show; else peers are compared with each other.
    let isModelled: Bool

    /// One table of each kind that merges in its own way, in two versions.
    static let fixed = SimulatedSchema(tables: SimulatedTable.all, versions: 2, seed: SimulatedTable.seed, isModelled: true)

    /// The schema as an app of a version has it.
    func synced(version: Int) -> SyncedSchema {
        var migrator = DatabaseMigrator()
        for step in 1...version {
            let statements = tables.flatMap { $0.statements(ofVersion: step) }
            migrator.registerMigration("v\(step)") { db in for statement in statements { try db.execute(sql: statement) } }
        }
        let synced = tables.filter { $0.since <= version }.map { $0.synced(version: version) }
        return SyncedSchema(migrator: migrator, tables: { synced })
    }

    /// Every living record, one string each.
    func rows(_ db: Database) throws -> [String] { try tables.flatMap { try $0.rows(db) } }
}
