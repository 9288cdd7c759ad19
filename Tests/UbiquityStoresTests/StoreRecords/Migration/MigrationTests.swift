import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Copies of whole stores, from plain databases and to them.
struct MigrationTests {
    private static let tables = #"""
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, photo BLOB, initial TEXT AS (substr(first, 1, 1)));
        CREATE TABLE visit (person TEXT NOT NULL COLLATE BINARY, day INTEGER NOT NULL, PRIMARY KEY (person, day)) WITHOUT ROWID;
        CREATE TABLE log (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT);
        CREATE TABLE "odd ""name""" ("rowid" TEXT, oid REAL);
        CREATE TABLE word (word TEXT COLLATE NOCASE, n, PRIMARY KEY (word COLLATE BINARY)) WITHOUT ROWID;
        CREATE VIRTUAL TABLE search USING fts5(first, content='person');
        CREATE INDEX byFirst ON person (first COLLATE NOCASE) WHERE first IS NOT NULL;
        CREATE VIEW adults AS SELECT id FROM person;
        CREATE TRIGGER noted AFTER INSERT ON word BEGIN INSERT INTO log (text) VALUES ('trigger'); END;
        """#
    private let schema = SyncedSchema(migrator: migrator(Self.tables)) {
        SyncedTable("person")
        SyncedTable("visit")
    }

    /// A plain database of the app with something of everything.
    private func plain(in directory: FilePath, people: Int) throws -> FilePath {
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let file = directory.appending("Before.sqlite")
        let queue = try DatabaseQueue(path: file.string)
        try schema.migrator.migrate(queue)
        try queue.write { db in
            for index in 0..<people {
                try db.execute(
                    sql: "INSERT INTO person (id, first, photo) VALUES (?, ?, ?)",
                    arguments: ["p\(index)", "F\(index)", Data(repeating: 7, count: index % 50)])
                try db.execute(sql: "INSERT INTO visit VALUES (?, ?)", arguments: ["p\(index % 700)", index])
            }
            try db.execute(
                sql: #"""
                    DELETE FROM person WHERE id = 'p3';
                    INSERT INTO "odd ""name""" VALUES (NULL, 2); INSERT INTO word VALUES ('a', 1), ('A', 1.0), ('b', x'00'), ('B', 'x');
                    INSERT INTO log (number, text) VALUES (41, 'a'), (99, 'gone'); DELETE FROM log WHERE text = 'gone';
                    INSERT INTO search (search) VALUES ('rebuild'); ANALYZE; PRAGMA user_version = 12; PRAGMA application_id = 77;
                    """#)
        }
        try queue.close()
        return file
    }

    /// What is in a database, the order of its schema apart.
    private func dump(_ file: FilePath) throws -> Set<Substring> { try Set(sqlite3(file, ".dump").split(separator: "\n")) }

    private func migrated(_ device: TestDevice, _ plain: FilePath, _ progress: (@Sendable (StoreMigration) -> Void)? = nil) async throws -> (
        store: UbiquitousStore, migration: StoreMigration
    ) {
        try await UbiquitousStore.migrate(
            plain, to: device.directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
            in: device.container(), schema: schema, progress: progress)
    }

    @Test("S-087: a plain database becomes a store and a plain database again, the same in all that it holds, in batches that are counted")
    func roundTrip() async throws {
        try await withDevices(2) { devices, _ in
            let before = try plain(in: devices[0].directory, people: 12_000)
            let steps = Mutex<[StoreMigration]>([])
            let (store, there) = try await migrated(devices[0], before) { step in steps.withLock { $0.append(step) } }
            #expect(there.tables["person"] == 11_999 && there.tables["visit"] == 12_000 && there.tables["log"] == 5 && there.kept == 0)
            #expect(there.rows == there.total && there.rows > 24_000)
            let counts = steps.withLock { $0.map(\.rows) }
            #expect(counts == counts.sorted() && counts.last == there.total)
            #expect(zip(counts, counts.dropFirst()).allSatisfy { $1 - $0 <= 10_000 })
            #expect(try await store.read { db in try Adopter.isPending(db) } == false, "all of it is taken over by now")
            let other = try await UbiquitousStore.open(
                at: devices[1].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                in: devices[1].container(), schema: schema)
            try await settle(store, other)
            #expect(try await other.rows("SELECT count(*) FROM person") == [["11999"]])

            let after = devices[0].directory.appending("After.sqlite")
            let back = try await store.migrate(to: after)
            #expect(back.tables == there.tables)
            #expect(try dump(before).symmetricDifference(dump(after)).map { $0.prefix(200) } == [])
            let rest =
                "SELECT * FROM pragma_user_version, pragma_application_id; SELECT count(*) FROM search WHERE search MATCH 'F7'; SELECT initial FROM person LIMIT 1"
            #expect(try sqlite3(after, rest) == "12|77\n1\nF\n")
            #expect(try sqlite3(after, "PRAGMA integrity_check") == "ok\n")
        }
    }

    /// Makes a copy, and then leaves what it had come to: all but its place, or with the first batch of “visit”, the last table but one.
    private func cutOff(_ target: FilePath, atEnd: Bool = false, _ copy: (@escaping @Sendable (StoreMigration) -> Void) async throws -> Void)
        async throws
    {
        let draft = target.string + "-draft"
        let progress: @Sendable (StoreMigration) -> Void = { migration in
            guard migration.tables[atEnd ? "word" : "search_idx"] != nil, atEnd || migration.tables["visit"] == nil else { return }
            try? FileManager.default.copyItem(atPath: draft, toPath: draft + "-kept")
        }
        try await copy(progress)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: target.string + suffix) }
        try FileManager.default.moveItem(atPath: draft + "-kept", toPath: draft)
    }

    @Test("S-087: a copy to a plain database that was cut off goes on behind what is there; a table that has changed since is begun anew")
    func resumes() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await migrated(devices[0], plain(in: devices[0].directory, people: 12_000)).store
            let target = devices[0].directory.appending("After.sqlite")
            // Tables go by name: some of “visit” is there, and all before it.
            for change in [nil, "UPDATE person SET first = 'Changed' WHERE id = 'p1'", "DELETE FROM visit WHERE person = 'p1'"] {
                try await cutOff(target) { progress in try await store.migrate(to: target, progress: progress) }
                let left = try sqlite3(FilePath(target.string + "-draft"), "SELECT (SELECT count(*) FROM person), (SELECT count(*) FROM visit)")
                let counts = left.split(whereSeparator: { "|\n".contains($0) }).compactMap { Int($0) }
                try #require(counts[0] == 11_999 && counts[1] == 10_000, "\(counts)")
                if let change { try await store.execute(change) }
                let migration = try await store.migrate(to: target)
                var kept = migration.tables.filter { $0.key < "visit" }.reduce(10_000) { $0 + $1.value }
                if let change { kept -= change.contains("person SET") ? 11_999 : 10_000 }
                #expect(migration.kept == kept)
                #expect(migration.rows == migration.total)
                let names = try FileManager.default.contentsOfDirectory(atPath: devices[0].directory.string).filter { $0.hasPrefix("After") }
                #expect(names == ["After.sqlite"])
                for query in ["SELECT id, first FROM person ORDER BY id", "SELECT * FROM visit ORDER BY person, day"] {
                    let copy = try sqlite3(target, query).split(separator: "\n")
                    let rows = try await store.rows(query)
                    #expect(copy.map(String.init) == rows.map { $0.joined(separator: "|") })
                }
                try FileManager.default.removeItem(atPath: target.string)
            }
        }
    }

    @Test("S-087: a copy that was cut off at its very end is taken up without the app's triggers running in it")
    func triggers() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await migrated(devices[0], plain(in: devices[0].directory, people: 5)).store
            let target = devices[0].directory.appending("After.sqlite")
            try await cutOff(target, atEnd: true) { progress in try await store.migrate(to: target, progress: progress) }
            try await store.execute("DELETE FROM word WHERE word = 'a'")
            try await store.migrate(to: target)
            #expect(try sqlite3(target, "SELECT count(*) FROM word; SELECT count(*) FROM log") == "2\n5\n")
            #expect(try sqlite3(target, "INSERT INTO word VALUES ('c', 1); SELECT count(*) FROM log") == "6\n")
        }
    }

    @Test("S-087: a plain database whose copy was cut off becomes a store from what is there", arguments: [false, true])
    func resumesToStore(isForeign: Bool) async throws {
        try await withDevices(1) { devices, _ in
            let before = try plain(in: devices[0].directory, people: 12_000)
            let container = try await devices[0].container()
            let path = StoreFile.path(for: devices[0].directory.appending("People.sqlite"), peer: container.peer, contentName: "People")
            try await cutOff(path) { progress in
                let store = try await migrated(devices[0], before, progress).store
                try await store.close()
            }
            let draft = FilePath(path.string + "-draft")
            if isForeign { try sqlite3(draft, "ALTER TABLE log ADD COLUMN more") }
            let (store, migration) = try await migrated(devices[0], before)
            #expect(isForeign ? migration.kept == 0 : migration.kept > 20_000)
            #expect(migration.rows == migration.total && migration.tables["visit"] == 12_000)
            try await store.settled()
            #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
            #expect(!FileManager.default.fileExists(atPath: draft.string))
            // The store is there by now.
            try await store.close()
            #expect(try await migrated(devices[0], before).migration == StoreMigration())
        }
    }

    @Test("S-087, F-22: a copy that differs from the store is none, and says which table")
    func compared() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(
                SyncedSchema(migrator: migrator("CREATE TABLE a (id TEXT NOT NULL PRIMARY KEY); CREATE TABLE note (text TEXT)")) { SyncedTable("a") })
            try await store.execute("INSERT INTO note VALUES ('12')")
            // A column of another affinity does not take what it holds as it is.
            try sqlite3(
                store.file,
                "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE note (text INTEGER)' WHERE name = 'note'; PRAGMA schema_version = 999"
            )
            let target = devices[0].directory.appending("Plain.sqlite")
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.migrate(to: target) }
            #expect(error?.code == .malformed && error?.message.contains("“note”") == true, "\(String(describing: error))")
            let names = try FileManager.default.contentsOfDirectory(atPath: devices[0].directory.string).filter { $0.hasPrefix("Plain") }
            #expect(names.isEmpty)
        }
    }

    @Test("what is there is replaced only where that is asked for, with what lies beside it; a plain database that is missing is named")
    func replaces() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            let target = devices[0].directory.appending("Plain.sqlite")
            for name in [target.string, target.string + "-wal"] { try Data("old".utf8).write(to: URL(filePath: name)) }
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.migrate(to: target) }
            #expect(error?.message.contains("there already") == true)
            try await store.migrate(to: target, options: .init(replacesExisting: true))
            #expect(try sqlite3(target, "SELECT id FROM person") == "p\n")
            #expect(!FileManager.default.fileExists(atPath: target.string + "-wal"))
            let missing = await #expect(throws: UbiquitousStoreError.self) { _ = try await migrated(devices[0], "/nowhere.sqlite") }
            #expect(missing?.path == "/nowhere.sqlite")
        }
    }
}
