import Foundation
import GRDB
import Testing
import Ubiquity
import UbiquityTesting

/// Two devices of one account, with an app's store on each, opened as an app opens it.
struct TwoDevices {
    let devices: SimulatedDevices
    let desk: UbiquitousStore
    let phone: UbiquitousStore

    /// Lets the stores exchange until nothing is left to carry.
    func sync() async throws { try await devices.settle(desk, phone) }

    /// Exchanges, reads on both devices, and checks that they show equal values.
    ///
    /// - Returns: the value on the phone.
    func onBoth<Value: Equatable & Sendable>(
        _ value: @escaping @Sendable (Database) throws -> Value, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> Value {
        try await sync()
        let (here, there) = (try await desk.read(value), try await phone.read(value))
        #expect(here == there, sourceLocation: sourceLocation)
        return there
    }

    /// Returns the rows of a query, as SQLite quotes their values, on both devices.
    func rows(_ sql: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [[String]] {
        try await onBoth({ db in try Row.fetchAll(db, sql: sql).map { $0.databaseValues.map(\.description) } }, sourceLocation: sourceLocation)
    }
}

/// Opens a store on a device, as an app does.
func openStore(on device: SimulatedDevice, _ schema: SyncedSchema, attached: [AttachedDatabase] = []) async throws -> UbiquitousStore {
    var options = UbiquitousStore.Options(contentName: "Neighbours")
    options.attachedDatabases = attached
    return try await UbiquitousStore.open(
        at: device.storePath("Neighbours.sqlite"), options: options, container: "org.example.neighbours", home: device.home, schema: schema)
}

/// Runs a body with a store on each of two simulated devices.
func withTwoDevices(_ schema: SyncedSchema, attached: [AttachedDatabase] = [], _ body: (TwoDevices) async throws -> Void) async throws {
    try await withSimulatedDevices(seed: 1) { devices in
        let desk = try await openStore(on: devices.add("desk"), schema, attached: attached)
        let phone = try await openStore(on: devices.add("phone"), schema, attached: attached)
        let two = TwoDevices(devices: devices, desk: desk, phone: phone)
        try await two.sync()
        try await body(two)
        try await desk.close()
        try await phone.close()
    }
}

/// Returns why a schema is refused at opening; records an issue if it is not.
func refusal(of schema: SyncedSchema, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
    let error = await #expect(throws: UbiquitousStoreError.self, sourceLocation: sourceLocation) { try await withTwoDevices(schema) { _ in } }
    #expect(error?.code == .invalidSchema, sourceLocation: sourceLocation)
    return error?.message ?? ""
}

/// A migrator with one migration of SQL.
func migrator(_ sql: String) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { db in try db.execute(sql: sql) }
    return migrator
}
