import Foundation
import GRDB
import StoreExchange
import StoreFormat
import SystemPackage
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// A public container in a directory, with devices that share the directory.
struct PublicWorld {
    let directory: FilePath
    let root: FilePath
    /// The container.
    let container: ScopeIdentifier
    /// The device that created the container: its owner's, and the steward.
    let owner: PublicDevice

    /// Runs a body with a container.
    static func with(_ begin: (inout ScopeRegistration.Beginning) -> Void = { _ in }, _ body: (PublicWorld) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            let root = directory.appending("root")
            try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            var beginning = ScopeRegistration.Beginning()
            beginning.access = ["score": .creator("player"), "template": .role("editor")]
            begin(&beginning)
            let home = DeviceHome(directory.appending("owner/home"))
            let (container, account) = try ScopeRegistration(home: home, root: root).createContainer(beginning)
            let owner = PublicDevice(directory: directory.appending("owner"), home: home, root: root, container: container, account: account)
            try await body(PublicWorld(directory: directory, root: root, container: container, owner: owner))
        }
    }

    /// The directory of the container.
    var place: ScopeDirectory { ScopeRegistration(home: owner.home, root: root).directory(container) }
    /// The directory of the content.
    var content: FilePath { place.path.appending("CoreData/Game") }

    /// Makes a device that only reads.
    func reader(_ name: String) -> PublicDevice {
        PublicDevice(
            directory: directory.appending(name), home: DeviceHome(directory.appending("\(name)/home")), root: root, container: container,
            account: nil)
    }

    /// The directory of the container's public place.
    var published: FilePath { directory.appending("published") }

    /// Makes a device that reads the container's public place.
    func placeReader(_ name: String) -> PublicDevice {
        var device = reader(name)
        device.address = "file://\(published)"
        return device
    }

    /// Copies what a contributor has written to the container, as a synchroniser would.
    func carry(from contributions: FilePath) throws {
        let own = contributions.appending("public/\(container)")
        for case let name as String in FileManager.default.enumerator(atPath: own.string)! {
            let (from, to) = (own.pushing(FilePath(name)).string, place.path.pushing(FilePath(name)).string)
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: from, isDirectory: &isDirectory), !isDirectory.boolValue,
                !FileManager.default.fileExists(atPath: to)
            else { continue }
            try FileManager.default.createDirectory(atPath: FilePath(to).removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: from, toPath: to)
        }
    }

    /// Makes a device with an account of its own.
    func player(_ name: String) throws -> PublicDevice {
        var device = reader(name)
        device.account = try device.registration.createAccount(in: container)
        return device
    }

    /// Makes another device of an account, which one of its devices admits.
    func device(_ name: String, of other: PublicDevice) throws -> PublicDevice {
        var device = reader(name)
        device.account = other.account
        try other.registration.admit(device.registration.prepareDevice(of: other.account!, in: container), in: container)
        return device
    }
}

/// A device that has a public container.
struct PublicDevice: Sendable {
    let directory: FilePath
    let home: DeviceHome
    let root: FilePath
    let container: ScopeIdentifier
    var account: AccountIdentifier?
    /// The address of the public place that the device reads; nil if it reads the container's directory.
    var address: String?
    /// The directory with the device's own files, if it reads a public place.
    var contributions: FilePath?
    let clock = ManualClock()

    var registration: ScopeRegistration { ScopeRegistration(home: home, root: root) }
    var keys: DeviceKeys { registration.keys(container) }
    var name: String { account!.description }
    /// The peer under which the device writes.
    var peer: PeerIdentifier { get throws { PeerIdentifier(try keys.record!.peer)! } }

    var scope: StoreScope { .public(container.description, at: address ?? root.string, contributingTo: contributions?.string) }

    static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, PRIMARY KEY (player, id));
            CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, title TEXT);
            """)
    ) {
        SyncedTable("score", access: .creator("player"))
        SyncedTable("template", access: .role("editor"))
    }

    func open(_ schema: SyncedSchema = schema, automatically: Bool = false) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "Game", exchangesAutomatically: automatically)
        options.scope = scope
        return try await UbiquitousStore.open(
            at: directory.appending("Game.sqlite"), options: options, home: home, schema: schema, now: { [clock] in clock.now })
    }

    /// Opens the store, and closes it after the body.
    func with<Result>(_ body: (UbiquitousStore) async throws -> Result) async throws -> Result {
        let store = try await open()
        let result = try await body(store)
        try await store.close()
        return result
    }
}

extension UbiquitousStore {
    /// All scores and templates, one text each.
    var game: [String] {
        get async throws {
            try await read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT substr(player, 1, 6) || '/' || id || '=' || coalesce(points, '') AS row FROM score
                        UNION ALL SELECT id || '=' || coalesce(title, '') FROM template ORDER BY row
                        """)
            }
        }
    }

    /// Writes as a program that does not respect the rights of its account: without the guard triggers.
    func writeUnguarded(_ sql: String) async throws {
        try await write { db in
            let guards = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ubiquity_guard%'")
            for trigger in guards { try db.execute(sql: "DROP TRIGGER \(trigger["name"] as String)") }
            try db.execute(sql: sql)
            for trigger in guards { try db.execute(sql: trigger["sql"] as String) }
        }
    }
}

/// A score's text in ``UbiquitousStore/game``.
func score(_ device: PublicDevice, _ id: String, _ points: Int) -> String { "\(device.name.prefix(6))/\(id)=\(points)" }
