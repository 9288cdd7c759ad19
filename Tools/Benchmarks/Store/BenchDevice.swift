import Foundation
import GRDB
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// A device in a temporary directory.
struct BenchDevice {
    let directory: FilePath
    let home: DeviceHome
    let container: UbiquityContainer

    /// Makes a device and signs it in.
    ///
    /// - Parameters:
    ///   - name: the name of its directory.
    ///   - directory: the parent of its directory.
    ///   - root: a containers root that it shares with others; by default its own.
    /// - Throws: `ContainerError`.
    init(_ name: String, in directory: FilePath, root: FilePath? = nil) async throws {
        self.directory = directory.appending(name)
        home = DeviceHome(self.directory.appending("home"))
        try home.signIn(AccountName("bench"), containers: root)
        container = try await UbiquityContainer("org.example.bench", home: home)
    }

    /// Returns the layout of a store's content.
    func layout(_ contentName: String = "Items") -> ContentLayout { ContentLayout(container: container.path, content: contentName) }

    static let schema = SyncedSchema(migrator: Item.migrator) { SyncedTable("item") }

    func store(
        contentName: String = "Items", exchangesAutomatically: Bool = false, existing plain: String? = nil, schema: SyncedSchema = schema,
        baselines: BaselinePolicy? = nil
    ) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: contentName, exchangesAutomatically: exchangesAutomatically)
        options.advanced.baselines = baselines
        options.existingDatabase = plain.map { directory.appending("\($0).sqlite") }
        return try await UbiquitousStore.open(
            at: directory.appending("\(contentName).sqlite"), options: options, in: container, schema: schema)
    }

    /// Opens plain GRDB with equal pragmas.
    func plain(_ name: String = "Plain") throws -> DatabasePool {
        let pool = try DatabasePool(path: directory.appending("\(name).sqlite").string)
        try Item.migrator.migrate(pool)
        return pool
    }
}

/// Runs a body with a device, and removes it.
func withDevice(_ body: (BenchDevice) async throws -> Void) async throws {
    try await withDevices(1) { try await body($0[0]) }
}

/// Runs a body with devices that share a containers root, and removes them.
func withDevices(_ count: Int, _ body: ([BenchDevice]) async throws -> Void) async throws {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-bench-\(UUID().uuidString)")
    let root = directory.appending("root")
    try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    var devices: [BenchDevice] = []
    for index in 0..<count { devices.append(try await BenchDevice("device\(index)", in: directory, root: root)) }
    try await body(devices)
}
