import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Rows that were in the tables before these were synced.
struct AdoptionTests {
    private static let tables = """
        CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, age);
        CREATE TABLE visit (person TEXT NOT NULL, day INTEGER NOT NULL, note TEXT, PRIMARY KEY (person, day)) WITHOUT ROWID;
        """
    private let schema = SyncedSchema(migrator: migrator(Self.tables)) {
        SyncedTable("person")
        SyncedTable("visit")
    }

    /// A plain database of the app, its migrator's first version, with some thousand rows.
    private func plain(in directory: FilePath, rows: Int) throws -> FilePath {
        let file = directory.appending("Plain.sqlite")
        let queue = try DatabaseQueue(path: file.string)
        try migrator(Self.tables).migrate(queue)
        try queue.write { db in
            for index in 0..<rows {
                try db.execute(sql: "INSERT INTO person VALUES (?, ?, NULL, ?)", arguments: ["p\(index)", "First \(index)", index])
                try db.execute(sql: "INSERT INTO visit VALUES (?, ?, 'x')", arguments: ["p\(index % 7)", index])
            }
        }
        try queue.close()
        return file
    }

    private func open(_ device: TestDevice, existing: FilePath?) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
        options.existingDatabase = existing
        return try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: schema,
            now: { [clock = device.clock] in clock.now })
    }

    private func content(_ store: UbiquitousStore) async throws -> [[String]] {
        try await store.rows("SELECT * FROM person ORDER BY id") + store.rows("SELECT * FROM visit ORDER BY person, day")
    }

    @Test("S-085, F-01: a populated database is opened as a store: its rows reach other devices as insertions, in batches, and are counted")
    func populated() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await open(devices[0], existing: plain(in: devices[0].directory, rows: 12_000))
            let right = try await open(devices[1], existing: nil)
            let notices = left.notices.limited().makeAsyncIterator()
            try await settle(left, right)
            var counts: [Int] = []
            while case .didAdopt(let count, let total, let isDone)? = try await notices.next() {
                #expect(total == 24_000)
                counts.append(count)
                if isDone { break }
            }
            #expect(counts.count > 3 && counts.last == 24_000 && counts == counts.sorted())
            let content = try await content(left)
            #expect(content.count == 24_000)
            #expect(try await self.content(right) == content)
            #expect(try await left.read { db in try Adopter.isPending(db) } == false)
            #expect(try InspectedStore(left.file, readOnly: true).check(container: nil).problems.isEmpty)
        }
    }

    @Test("S-089: the plain database is taken over once and stays as it is; where there is none, the store begins empty")
    func once() async throws {
        try await withDevices(2) { devices, _ in
            let file = try plain(in: devices[0].directory, rows: 3)
            let bytes = try Data(contentsOf: URL(filePath: file.string))
            var store = try await open(devices[0], existing: file)
            #expect(try await content(store).count == 6, "rows can be read before they are taken over")
            try await store.settled()
            try await store.close()
            #expect(try Data(contentsOf: URL(filePath: file.string)) == bytes)

            try sqlite3(file, "INSERT INTO person (id) VALUES ('late')")
            store = try await open(devices[0], existing: file)
            try await store.settled()
            #expect(try await content(store).count == 6)
            let other = try await open(devices[1], existing: file.removingLastComponent().appending("Nothing.sqlite"))
            #expect(try await content(other).isEmpty)
            try await settle(store, other)
            #expect(try await content(other).count == 6)
        }
    }

    @Test("a plain database that is damaged or a synced store is refused by name, and no store is made", arguments: [true, false])
    func refused(isDamaged: Bool) async throws {
        try await withDevices(1) { devices, _ in
            var file = devices[0].directory.appending("Damaged.sqlite")
            if isDamaged {
                try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
                try Data(repeating: 7, count: 9000).write(to: URL(filePath: file.string))
            } else {
                let store = try await devices[0].open(contentName: "Other")
                file = store.file
                try await store.close()
            }
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await open(devices[0], existing: file) }
            #expect(error?.path == file)
            let store = try await open(devices[0], existing: nil)
            #expect(try await content(store).isEmpty)
        }
    }

    @Test("an adopted value never beats an edit, whenever that was made, and fills what nobody wrote")
    func least() async throws {
        try await withDevices(2) { devices, _ in
            devices[0].clock.advance(by: -1e6)
            let editor = try await open(devices[0], existing: nil)
            try await editor.execute("INSERT INTO person (id, first) VALUES ('p1', 'Edited')")
            try await editor.publish()
            let adopter = try await open(devices[1], existing: plain(in: devices[1].directory, rows: 3))
            try await settle(adopter, editor)
            for store in [editor, adopter] {
                let people = try await store.rows("SELECT first, age FROM person ORDER BY id")
                #expect(people == [["First 0", "0"], ["Edited", "1"], ["First 2", "2"]])
            }
        }
    }

    @Test("where two devices take over the same records, the greater of two values stays, on both")
    func bothAdopt() async throws {
        try await withDevices(2) { devices, _ in
            var stores: [UbiquitousStore] = []
            for (device, changes) in zip(devices, ["UPDATE person SET first = 'A', age = 9", "UPDATE person SET first = 'B', age = 5, last = 'L'"]) {
                let file = try plain(in: device.directory, rows: 2)
                try sqlite3(file, changes)
                stores.append(try await open(device, existing: file))
            }
            try await settle(stores[0], stores[1])
            for store in stores {
                #expect(try await store.rows("SELECT first, last, age FROM person") == [["B", "L", "9"], ["B", "L", "9"]])
                #expect(try await store.conflicts().isEmpty, "nobody wrote them")
            }
        }
    }

    @Test("what is written before the rows are taken over counts as written to them, by the app or another program")
    func writtenMeanwhile() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await open(devices[0], existing: plain(in: devices[0].directory, rows: 5))
            let right = try await open(devices[1], existing: nil)
            try await left.execute("UPDATE person SET first = 'Edited' WHERE id = 'p0'")
            try sqlite3(left.file, "DELETE FROM person WHERE id = 'p1'; INSERT INTO person (id, first) VALUES ('new', 'New')")
            try await left.execute("UPDATE person SET id = 'other' WHERE id = 'p2'")
            try await left.execute("INSERT OR REPLACE INTO person VALUES ('p3', 'Replaced', NULL, NULL)")
            try await settle(left, right)
            let people = try await left.rows("SELECT id, first FROM person ORDER BY id")
            #expect(people == [["new", "New"], ["other", "First 2"], ["p0", "Edited"], ["p3", "Replaced"], ["p4", "First 4"]])
            #expect(try await content(right) == content(left))
            #expect(try InspectedStore(left.file, readOnly: true).check(container: nil).problems.isEmpty)
            // An edit made elsewhere before it, but after the adoption, loses to none of these by being adopted.
            #expect(try await right.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_dead_1") } == 2)
        }
    }

    @Test("a store whose container is missing is read and written, and takes its rows over when the container is there")
    func missingContainer() async throws {
        try await withDevices(2) { devices, root in
            let away = FilePath(root.string + "-away")
            let file = try plain(in: devices[0].directory, rows: 4)
            let container = try await devices[0].container()
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.existingDatabase = file
            let left = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, in: container, schema: schema)
            try await left.execute("UPDATE person SET first = 'Edited' WHERE id = 'p0'")
            try? await left.settled()
            #expect(try await left.read { db in try Adopter.isPending(db) })
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            let right = try await open(devices[1], existing: nil)
            try await settle(left, right)
            #expect(try await content(right) == content(left))
            #expect(try await content(right).count == 8)
        }
    }
}
