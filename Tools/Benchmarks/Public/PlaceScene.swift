import Contributors
import Foundation
import GRDB
import StoreInspection
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// A public container with contributors, whose publisher's store has taken them in, and which is published.
struct PlaceScene {
    let directory: FilePath
    let container: ScopeIdentifier
    let owner: AccountIdentifier
    private let home: DeviceHome
    /// The publisher's store.
    let store: UbiquitousStore
    var contributors: Contributors

    /// The directory of the place.
    var published: FilePath { directory.appending("published") }

    /// Runs a body with a container.
    ///
    /// - Parameters:
    ///   - count: the number of contributors, with a record each.
    ///   - logs: the number of logs of each.
    ///   - parent: the directory in which everything is made; nil for the one of temporary files.
    ///   - body: uses the container.
    /// - Throws: the errors of the body; `UbiquitousStoreError`; `Errno`.
    static func with(contributors count: Int, logs: Int = 1, in parent: FilePath? = nil, _ body: (PlaceScene) async throws -> Void) async throws {
        let directory = (parent ?? FilePath(FileManager.default.temporaryDirectory.path)).appending("public-bench-\(UUID().uuidString)")
        let (root, home) = (directory.appending("root"), DeviceHome(directory.appending("home")))
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        var beginning = ScopeRegistration.Beginning()
        beginning.access = ["score": .creator("player")]
        let registration = ScopeRegistration(home: home, root: root)
        let (container, owner) = try registration.createContainer(beginning)
        var contributors = Contributors(to: registration.directory(container), table)
        let store = try await open(directory.appending("Publisher.sqlite"), home, .public(container.description, at: root.string))
        try await store.settled()
        try await step("\(count) contributors join") { try contributors.join(count) }
        try await step("they write \(count * logs) logs") { for _ in 0..<logs { try contributors.write() } }
        try await step("the publisher's store takes them in") { try await store.settled() }
        try await PublicSuite.check(store, count * logs)
        let scene = PlaceScene(directory: directory, container: container, owner: owner, home: home, store: store, contributors: contributors)
        try await step("the publisher publishes them") { _ = try scene.publish() }
        try await body(scene)
        try await store.close()
    }

    private static func step(_ name: String, _ body: () async throws -> Void) async throws {
        let time = try await seconds(body)
        progress("\(name): \(String(format: "%.2f", time)) s")
    }

    /// Publishes what the store has taken in, as `ubcontrol public publish` does.
    func publish() throws -> PublishedEdition {
        try InspectedStore(store.file, readOnly: true).publishPlace(to: published, home: home, PlacePublishing())
    }

    // MARK: Stores

    private static func open(_ path: FilePath, _ home: DeviceHome, _ scope: StoreScope) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: table.contentName, exchangesAutomatically: false)
        options.advanced.baselines = nil
        options.scope = scope
        return try await UbiquitousStore.open(at: path, options: options, home: home, schema: schema)
    }

    /// Opens a store that reads the place, by the directory's address or another one.
    func reader(_ name: String, at address: String? = nil) async throws -> UbiquitousStore {
        try await Self.open(
            directory.appending("\(name)/Game.sqlite"), DeviceHome(directory.appending("\(name)/home")),
            .public(container.description, at: address ?? "file://\(published)"))
    }

    /// Opens a store that reads the place and contributes, and takes the place in.
    func contributor(_ name: String) async throws -> (store: UbiquitousStore, account: String) {
        let home = DeviceHome(directory.appending("\(name)/home"))
        let scope = StoreScope.public(
            container.description, at: "file://\(published)", contributingTo: directory.appending("\(name)/own").string)
        let account = try await scope.createAccount(home: home)
        let store = try await Self.open(directory.appending("\(name)/Game.sqlite"), home, scope)
        try await store.settled()
        precondition(store.canModify, "the account may not contribute")
        return (store, account.description)
    }

    /// Opens a store of the same table in a plain container.
    static func plainStore(_ device: BenchDevice, _ name: String = "Plain") async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: table.contentName, exchangesAutomatically: false)
        options.advanced.baselines = nil
        return try await UbiquitousStore.open(
            at: device.directory.appending("\(name).sqlite"), options: options, in: device.container, schema: plainSchema)
    }

    // MARK: The table

    private static let migrator: DatabaseMigrator = {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.execute(
                sql: """
                    CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, title TEXT, points INTEGER, created TEXT, PRIMARY KEY (player, id))
                    """)
        }
        return migrator
    }()
    private static let schema = SyncedSchema(migrator: migrator) { SyncedTable("score", access: .creator("player")) }
    private static let plainSchema = SyncedSchema(migrator: migrator) { SyncedTable("score") }

    private static let table = ContributedTable(
        contentName: "Game", schema: "v1", table: .init(name: "score", keyColumns: ["player", "id"], columns: ["title", "points", "created"])
    ) { [.text("Score number \($0)"), .integer(Int64($0)), .text("2026-11-21T06:26:45Z")] }

    /// Inserts the records that a contributor's logs insert.
    static func insert(_ records: Range<Int>, of player: String, _ db: Database) throws {
        let statement = try db.cachedStatement(sql: "INSERT INTO score VALUES (?,?,?,?,?)")
        for record in records {
            try statement.execute(arguments: [player, ContributedTable.id(of: record), "Score number \(record)", record, "2026-11-21T06:26:45Z"])
        }
    }
}
