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

/// Copies without anything of this package.
struct PlainCopyTests {
    private static let tables = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, photo BLOB);
        CREATE TABLE visit (person TEXT NOT NULL, day INTEGER NOT NULL, PRIMARY KEY (person, day)) WITHOUT ROWID;
        CREATE TABLE log (text TEXT);
        CREATE VIRTUAL TABLE search USING fts5(first, content='person');
        """
    private let schema: SyncedSchema = {
        var migrator = migrator(tables)
        // An app's trigger on a synced table, guarded as it has to be.
        migrator.registerMigration("v2") { db in
            try db.execute(sql: "CREATE TABLE count (people INTEGER); INSERT INTO count VALUES (0)")
        }
        return SyncedSchema(migrator: migrator) {
            SyncedTable("person")
            SyncedTable("visit")
        }
    }()
    private let trigger = #"""
        CREATE TRIGGER "ask ""it""" AFTER INSERT ON person WHEN (SELECT active FROM "ubiquity_import") = 0
        BEGIN UPDATE count SET people = people + 1; END
        """#

    private func open(_ device: TestDevice, existing: FilePath? = nil) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
        options.existingDatabase = existing
        return try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: schema)
    }

    /// The copy, and what is left of its making.
    private func names(in directory: FilePath) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasPrefix("Plain") }
    }

    @Test("S-109, F-21: the copy holds the app's rows and nothing of ours, opens and is written as a plain database; the store is unchanged")
    func stripped() async throws {
        try await withDevices(2) { devices, _ in
            let store = try await open(devices[0])
            try sqlite3(store.file, trigger)
            try await store.execute("INSERT INTO person VALUES ('p', 'Ada', x'00ff'), ('q', NULL, NULL)")
            try await store.execute("INSERT INTO visit VALUES ('p', 1); INSERT INTO log VALUES ('here'); DELETE FROM person WHERE id = 'q'")
            try await store.settled()
            let before = try await store.status()
            let target = devices[0].directory.appending("Plain.sqlite")
            let copy = try await store.writePlainCopy(to: target)
            #expect(copy.rows["person"] == 1 && copy.rows["visit"] == 1 && copy.rows["log"] == 1)

            let bytes = try Data(contentsOf: URL(filePath: target.string))
            #expect(bytes.range(of: Data("ubiquity".utf8)) == nil)
            #expect(bytes.range(of: Data(before.peer.description.utf8)) == nil)
            #expect(try names(in: devices[0].directory) == ["Plain.sqlite"])
            let plain = try DatabasePool(path: target.string)
            try schema.migrator.migrate(plain)
            try await plain.write { db in try db.execute(sql: "INSERT INTO person VALUES ('r', 'Rex', NULL)") }
            #expect(try await plain.read { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") } == ["p", "r"])
            #expect(try await plain.read { db in try Int.fetchOne(db, sql: "SELECT people FROM count") } == 3)

            #expect(try await store.status().knowledge == before.knowledge)
            #expect(try await store.rows("SELECT id FROM person") == [["p"]])
            let other = try await open(devices[1])
            try await settle(store, other)
            #expect(try await other.rows("SELECT id FROM person") == [["p"]])
        }
    }

    @Test("a plain database that becomes a store and is copied again is as it was, row by row")
    func roundTrip() async throws {
        try await withDevices(1) { devices, _ in
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let file = devices[0].directory.appending("Before.sqlite")
            let queue = try DatabaseQueue(path: file.string)
            try schema.migrator.migrate(queue)
            try await queue.write { db in
                for index in 0..<500 {
                    let photo = Data(repeating: 7, count: index)
                    try db.execute(sql: "INSERT INTO person VALUES (?, ?, ?)", arguments: ["p\(index)", "F\(index)", photo])
                }
                try db.execute(sql: "INSERT INTO search (search) VALUES ('rebuild')")
            }
            try queue.close()
            let store = try await open(devices[0], existing: file)
            try await store.settled()
            let after = devices[0].directory.appending("After.sqlite")
            try await store.writePlainCopy(to: after)
            // The order of what is in the schema apart.
            func dump(_ file: FilePath) throws -> [Substring] { try sqlite3(file, ".dump").split(separator: "\n").sorted() }
            let different = try Set(dump(file)).symmetricDifference(dump(after)).map { $0.prefix(200) }
            #expect(different == [])
            #expect(try sqlite3(after, "SELECT count(*) FROM search WHERE search MATCH 'F7'") == "1\n")
        }
    }

    @Test("S-146: a copy made beside a running writer is whole, of one moment")
    func besideWriter() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0])
            let photo = Data(repeating: 1, count: 100_000)
            for index in 0..<100 { try await store.execute("INSERT INTO person VALUES (?, 'a', ?)", ["p\(index)", photo]) }
            try await store.execute("INSERT INTO visit SELECT id, 1 FROM person")
            let target = devices[0].directory.appending("Plain.sqlite")
            let (steps, step) = AsyncStream.makeStream(of: Double.self)
            async let copy = store.writePlainCopy(to: target) { step.yield($0) }
            // Between the first page and the last somebody writes: to one table, and to another that is copied elsewhere.
            let parts = steps.limited().makeAsyncIterator()
            let first = try await parts.next() ?? 1
            for index in 100..<110 {
                try await store.write { db in
                    try db.execute(sql: "INSERT INTO person VALUES (?, 'b', ?)", arguments: ["p\(index)", photo])
                    try db.execute(sql: "INSERT INTO visit VALUES (?, 1)", arguments: ["p\(index)"])
                }
            }
            let rows = try await copy.rows
            #expect(first < 0.5 && rows["person"] == rows["visit"])
            #expect(rows["person"] == 100)
            #expect(try sqlite3(target, "PRAGMA integrity_check; SELECT count(*) FROM person JOIN visit ON person = id") == "ok\n100\n")
        }
    }

    @Test("what is there is not overwritten, and a copy that is cancelled or fails leaves nothing")
    func refused() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0])
            for index in 0..<50 { try await store.execute("INSERT INTO person VALUES (?, 'a', zeroblob(200000))", ["p\(index)"]) }
            let directory = devices[0].directory
            try Data("mine".utf8).write(to: URL(filePath: directory.appending("Mine").string))
            for (target, message) in [("Mine", "there already"), ("no/such/Plain.sqlite", "its directory is there")] {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.writePlainCopy(to: directory.appending(target)) }
                #expect(error?.description.contains(message) == true, "\(String(describing: error))")
            }
            #expect(try Data(contentsOf: URL(filePath: directory.appending("Mine").string)) == Data("mine".utf8))
            let task = Task {
                try await store.writePlainCopy(to: directory.appending("Plain.sqlite")) { _ in withUnsafeCurrentTask { $0?.cancel() } }
            }
            let outcome = await task.result
            #expect(throws: (any Error).self) { try outcome.get() }
            #expect(try names(in: directory).isEmpty)
        }
    }
}
