import Foundation
import GRDB
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import UbiquityStores

/// A public and a private store in one app.
struct PublicAndPrivateTests {
    private static let notes = SyncedSchema(
        migrator: migrator("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, player TEXT, text TEXT)")
    ) { SyncedTable("note") }

    private static func open(_ device: TestDevice, _ options: UbiquitousStore.Options) async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: device.directory.appending("Notes.sqlite"), options: options, container: "org.example.test", home: device.home, schema: notes,
            now: { device.clock.now })
    }

    @Test("P-02: a private store attaches the public one, one query joins both, and each syncs by itself")
    func joined() async throws {
        try await PublicWorld.with { world in
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let (scores, other) = (try await ann.open(), try await bob.open())
            try await settle(scores, other)
            try await withDevices(2) { devices, _ in
                var options = UbiquitousStore.Options(contentName: "Notes", exchangesAutomatically: false)
                options.attachedDatabases = [.store("game", at: ann.directory.appending("Game.sqlite"))]
                let notes = try await Self.open(devices[0], options)
                let plain = try await Self.open(devices[1], .init(contentName: "Notes", exchangesAutomatically: false))
                try await other.execute("INSERT INTO score VALUES ('\(bob.name)', 'b', 7)")
                try await notes.execute("INSERT INTO note VALUES ('n', '\(bob.name)', 'well played')")
                try await settle(scores, other)
                try await settle(notes, plain)
                let query = "SELECT text || ' ' || points FROM note JOIN game.score USING (player)"
                #expect(try await notes.read { db in try String.fetchAll(db, sql: query) } == ["well played 7"])
                #expect(try await plain.read { db in try String.fetchAll(db, sql: "SELECT text FROM note") } == ["well played"])
                // What the public store shows later is joined too.
                try await other.execute("UPDATE score SET points = 8")
                try await settle(scores, other)
                #expect(try await notes.read { db in try String.fetchAll(db, sql: query) } == ["well played 8"])
                await #expect(throws: DatabaseError.self) { try await notes.execute("UPDATE game.score SET points = 9") }
                #expect(try await notes.rejected().isEmpty)
                for store in [notes, plain] { try await store.close() }
            }
            for store in [scores, other] { try await store.close() }
        }
    }

    @Test("a path without a store, and a synced store attached as a plain file, are refused with the remedy")
    func refused() async throws {
        try await PublicWorld.with { world in
            let store = try await world.owner.open()
            let file = try await store.read { db in try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")! }
            try await withDevices(1) { devices, _ in
                for (database, code) in [
                    (AttachedDatabase.store("game", at: world.directory.appending("Nothing.sqlite")), UbiquitousStoreError.Code.notFound),
                    (.bundled("game", at: FilePath(file)), .unsupported),
                ] {
                    var options = UbiquitousStore.Options(contentName: "Notes", exchangesAutomatically: false)
                    options.attachedDatabases = [database]
                    let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await Self.open(devices[0], options) }
                    #expect(error?.code == code)
                }
            }
            try await store.close()
        }
    }
}
