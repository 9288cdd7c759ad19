import GRDB
import UbiquityStores

/// The schema of a run: its tables, in one version or several.
struct SimulatedSchema: Sendable {
    /// The tables; children may come before or after their parents.
    let tables: [SimulatedTable]
    /// The number of versions.
    let versions: Int
    /// The records of a seed, which are equal for every peer that seeds.
    let seed: [SeedRecord]
    /// Whether the models predict the tables; otherwise peers are only compared with each other.
    let isModelled: Bool

    /// The fixed schema: one table for each kind of merging, in two versions.
    static let fixed = SimulatedSchema(tables: SimulatedTable.all, versions: 2, seed: SimulatedTable.seed, isModelled: true)

    /// Returns the schema of an app's version.
    func synced(version: Int) -> SyncedSchema {
        var migrator = DatabaseMigrator()
        for step in 1...version {
            let statements = tables.flatMap { $0.statements(ofVersion: step) }
            migrator.registerMigration("v\(step)") { db in for statement in statements { try db.execute(sql: statement) } }
        }
        let synced = tables.filter { $0.since <= version }.map { $0.synced(version: version) }
        return SyncedSchema(migrator: migrator, tables: { synced })
    }

    /// Returns every live record, one string each.
    func rows(_ db: Database) throws -> [String] { try tables.flatMap { try $0.rows(db) } }
}
