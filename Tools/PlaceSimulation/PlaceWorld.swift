import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreRecords
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// A public container in a directory, with a public place that its owner publishes.
struct PlaceWorld: Sendable {
    let directory: FilePath
    let container: ScopeIdentifier
    let clock = ManualClock()

    var root: FilePath { directory.appending("root") }
    var published: FilePath { directory.appending("published") }

    static let schema: SyncedSchema = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, best INTEGER, PRIMARY KEY (player, id));
                    CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT, data BLOB);
                    """)
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("score", access: .creator("player"), columns: ["best": .maximum])
            SyncedTable("template", access: .role("editor"))
        }
    }()

    /// Creates a container, whose owner's device is called `owner`.
    init(_ directory: FilePath) throws {
        self.directory = directory
        try FileManager.default.createDirectory(atPath: directory.appending("root").string, withIntermediateDirectories: true)
        var beginning = ScopeRegistration.Beginning()
        beginning.access = ["score": .creator("player"), "template": .role("editor")]
        container = try ScopeRegistration(home: DeviceHome(directory.appending("owner/home")), root: directory.appending("root"))
            .createContainer(beginning).0
    }

    /// Returns what a device has of the container.
    func registration(_ device: String) -> ScopeRegistration { ScopeRegistration(home: home(device), root: root) }

    func home(_ device: String) -> DeviceHome { DeviceHome(directory.appending("\(device)/home")) }

    /// Opens a device's store of the container's directory, or of its public place.
    func open(_ device: String, from source: (any PlaceSource)? = nil) async throws -> UbiquitousStore {
        var options = StoreOptions(contentName: "Game", exchangesAutomatically: false)
        options.advanced.largeValueSize = 4096
        options.scope = .public(container.description, at: source == nil ? root.string : "file://\(published)")
        return try await UbiquitousStore.open(
            at: directory.appending("\(device)/Game.sqlite"), options: options, home: home(device), schema: Self.schema,
            now: { [clock] in clock.now },
            placeSource: source)
    }

    /// The bytes of the newest head; nil before the first.
    var head: Data? { try? Data(contentsOf: URL(filePath: published.appending("head").string)) }

    func setHead(_ bytes: Data) throws { try bytes.write(to: URL(filePath: published.appending("head").string)) }
}

extension UbiquitousStore {
    /// All scores and templates, one text each.
    var game: [String] {
        get async throws {
            try await read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT player || '/' || id || '=' || coalesce(points, '') || ',' || coalesce(best, '') AS row FROM score
                        UNION ALL SELECT id || '=' || coalesce(title, '') || ',' || coalesce(length(data), '') FROM template ORDER BY row
                        """)
            }
        }
    }
}
