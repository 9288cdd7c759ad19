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

    @Test("S-154, P-02: a private store attaches the public one, one query joins both, and each syncs by itself")
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

    @Test("S-154, S-156: signed out, private records are unavailable while public ones are read; signed in, their one owner has them in full")
    func owner() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let scores = try await ann.open()
            try await scores.settled()
            try await scores.execute("INSERT INTO score VALUES ('\(ann.name)', 'a', 7)")
            try await scores.settled()
            let reader = try await world.reader("reader").open()
            try await reader.settled()
            try await withDevices(1) { devices, root in
                let device = devices[0]
                var options = UbiquitousStore.Options(contentName: "Notes", exchangesAutomatically: false)
                options.attachedDatabases = [.store("game", at: world.directory.appending("reader/Game.sqlite"))]
                let notes = try await Self.open(device, options)
                try await notes.settled()
                func texts() async throws -> [[String]] { try await notes.rows("SELECT text FROM note ORDER BY id") }
                func points() async throws -> [[String]] { try await notes.rows("SELECT quote(points) FROM game.score") }
                for id in ["a", "b"] { try await notes.execute("INSERT INTO note VALUES ('\(id)', 'p', '\(id) of alice')") }
                try await notes.settled()
                for account in [nil, "bob"] {
                    if let account { try device.home.signIn(AccountName(account), containers: root) } else { try device.home.signOut() }
                    try await notes.settled()
                    #expect(try await texts() == [])
                    #expect(try await points() == [["7"]])
                    #expect(try await reader.game == [score(ann, "a", 7)])
                }
                try device.home.signIn(AccountName("alice"), containers: root)
                try await notes.settled()
                #expect(try await texts() == [["a of alice"], ["b of alice"]])
                try await notes.execute("UPDATE note SET text = 'changed' WHERE id = 'a'; DELETE FROM note WHERE id = 'b'")
                try await notes.execute("INSERT INTO note VALUES ('c', 'p', 'new')")
                try await notes.settled()
                #expect(try await texts() == [["changed"], ["new"]])
                #expect(try await points() == [["7"]])
                try await notes.close()
            }
            for store in [scores, reader] { try await store.close() }
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
