import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Tables that lie beside the synced ones, and do not sync.
struct AttachedDatabaseTests {
    private let local = migrator("CREATE TABLE draft (person TEXT NOT NULL PRIMARY KEY, text TEXT)")

    private func open(_ device: TestDevice, _ databases: [AttachedDatabase]) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
        options.attachedDatabases = databases
        return try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: personSchema)
    }

    @Test("S-115: synced and local tables lie in two files, one connection joins them, one save writes each to its own, and no local row is logged")
    func local() async throws {
        try await withDevices(2) { devices, root in
            let file = devices[0].directory.appending("Local ä#?%41.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let left = try await open(devices[0], [.local(at: file, migrator: local)])
            try await left.write { db in
                try db.execute(sql: "INSERT INTO person (id, first) VALUES ('p', 'Ada')")
                try db.execute(sql: "INSERT INTO local.draft VALUES ('p', 'secret')")
            }
            #expect(try await left.rows("SELECT first, text FROM person JOIN draft ON person = id") == [["Ada", "secret"]])
            #expect(try sqlite3(file, "SELECT * FROM draft") == "p|secret\n")
            #expect(try sqlite3(left.file, "SELECT count(*) FROM sqlite_master WHERE name = 'draft'") == "0\n")
            #expect(try await left.sealedLogs().flatMap { try $0.changes } == ["person/p 1 first=Ada"])

            struct Undo: Error {}
            await #expect(throws: Undo.self) {
                try await left.write { db in
                    try db.execute(sql: "DELETE FROM person; DELETE FROM local.draft")
                    throw Undo()
                }
            }
            #expect(try await left.rows("SELECT first, text FROM person JOIN draft ON person = id") == [["Ada", "secret"]])
            try await left.execute("DELETE FROM local.draft")
            #expect(try await left.sealedLogs().count == 1)

            let right = try await open(devices[1], [.local(at: devices[1].directory.appending("Local.sqlite"), migrator: local)])
            try await settle(left, right)
            #expect(try await right.rows("SELECT first, text FROM person LEFT JOIN draft ON person = id") == [["Ada", "NULL"]])
            // The file is the app's: it opens by itself, and again with the store.
            try await left.close()
            #expect(try await DatabaseQueue(path: file.string).read { db in try local.appliedMigrations(db) } == ["v1"])
            let again = try await open(devices[0], [.local(at: file, migrator: local)])
            #expect(try await again.rows("SELECT count(*) FROM person, main.person AS other").count == 1)
        }
    }

    @Test("a transaction over a synced table sees a local table's rows of the same moment, and observations see both")
    func observed() async throws {
        try await withDevices(1) { devices, _ in
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let store = try await open(devices[0], [.local(at: devices[0].directory.appending("Local.sqlite"), migrator: local)])
            let observation = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM local.draft")! }
            let counts = observation.values(in: store).limited().makeAsyncIterator()
            #expect(try await counts.next() == 0)
            try await store.execute("INSERT INTO local.draft VALUES ('p', 'x')")
            while let count = try await counts.next(), count != 1 {}
        }
    }

    @Test("S-117: a bundled set of tables is attached and joined, and a write to it fails")
    func bundled() async throws {
        try await withDevices(1) { devices, _ in
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let file = devices[0].directory.appending("Words.sqlite")
            try sqlite3(file, "CREATE TABLE word (name TEXT, meaning TEXT); INSERT INTO word VALUES ('Ada', 'noble')")
            let before = try Data(contentsOf: URL(filePath: file.string))
            let store = try await open(devices[0], [.bundled("words", at: file)])
            try await store.execute("INSERT INTO person (id, first) VALUES ('p', 'Ada')")
            #expect(try await store.rows("SELECT id, meaning FROM person JOIN word ON first = name") == [["p", "noble"]])
            let error = await #expect(throws: DatabaseError.self) { try await store.execute("DELETE FROM words.word") }
            #expect(error?.resultCode == .SQLITE_READONLY)
            #expect(try Data(contentsOf: URL(filePath: file.string)) == before)
        }
    }

    @Test("a database that cannot be attached is refused by name and remedy, and the store stays as it was")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let directory = devices[0].directory
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            try await store.close()
            try Data(repeating: 7, count: 9000).write(to: URL(filePath: directory.appending("Damaged.sqlite").string))
            for (database, message) in [
                (AttachedDatabase.bundled("words", at: directory.appending("Missing.sqlite")), "whether it is there"),
                (.bundled("words", at: directory.appending("Damaged.sqlite")), "whole"),
                (.local(at: directory.appending("no/such/directory.sqlite"), migrator: local), "whether it is there"),
                (.bundled("words", at: store.file), "synced store"), (.bundled("Main", at: store.file), "main"),
            ] {
                let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await open(devices[0], [database]) }
                #expect(error?.description.contains(message) == true, "\(String(describing: error))")
            }
            #expect(try await devices[0].open().rows("SELECT id FROM person") == [["p"]])
        }
    }
}
