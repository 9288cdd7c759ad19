import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// The import's transaction by itself, without the exchange that publishes before it.
struct ImportTests {
    @Test("F-10: a store that is opened takes in what came while it was closed, though nothing changes in the container any more")
    func everyOpening() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await devices[0].open()
            for round in 0..<3 {
                try await left.execute("INSERT INTO person (id) VALUES (?)", ["\(round)"])
                try await left.publish()
                let right = try await devices[1].open(automatically: true)
                let observation = ValueObservation.tracking { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person")! }
                let counts = observation.values(in: right).limited().makeAsyncIterator()
                while let count = try await counts.next(), count != round + 1 {}
                try await right.close()
            }
        }
    }

    @Test("an import seals what another connection has written since, so that a later edit is not taken for an older one")
    func sealsFirst() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await settle(left, right)
            try await left.execute("UPDATE person SET first = 'imported'")
            try await left.publish()
            devices[1].clock.advance(by: 60)
            try sqlite3(right.file, "UPDATE person SET first = 'written later by the shell'")

            let container = try await devices[1].container()
            let state = try await right.read { db in try StoreState.read(db) }
            let file = try StoreFile.open(right.file, schema: personSchema, newState: state)
            let layout = ContentLayout(container: container.path, content: "People")
            let plan = try plan(file, layout)
            #expect(plan.ready.count == 1)
            let clock = devices[1].clock
            let sealer = Sealer(shapes: file.shapes, schemaVersion: "v1", now: { clock.now })
            let importer = LogImporter(
                shapes: file.shapes, sealer: sealer, conflictRetention: ConflictRetention(),
                values: LargeValueReader(layout: layout, epoch: 1, files: LinuxFileLayer()))
            let outcome = try file.importing { db in try importer.join(plan.ready, isolating: false, db) }
            #expect(outcome.imported.changes.notice == nil && outcome.refused == nil)
            try file.pool.close()

            try await settle(right, left)
            for store in [left, right] { #expect(try await store.rows()[0][1] == "'written later by the shell'") }
        }
    }

    @Test("a trigger of the app keeps its own conflict policy during an import")
    func triggerPolicy() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT, last TEXT, email TEXT, age);
                CREATE TABLE name (first TEXT UNIQUE);
                CREATE TRIGGER note_name AFTER INSERT ON person BEGIN INSERT OR IGNORE INTO name VALUES (NEW.first); END;
                """)
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            try await left.execute("INSERT INTO person (id, first) VALUES ('a', 'Ann'), ('b', 'Ann'), ('c', 'Cid')")
            try await settle(left, right)
            #expect(try await right.rows().count == 3)
            #expect(try await right.rows("SELECT quote(first) FROM name ORDER BY first") == [["'Ann'"], ["'Cid'"]])
        }
    }

    private func plan(_ file: StoreFile, _ layout: ContentLayout) throws -> ImportPlan {
        let reader = LogReader(layout: layout, contentName: "People", epoch: 1, shapes: file.shapes, files: LinuxFileLayer())
        return try file.pool.read { db in
            let own = try StoreState.read(db).peer
            var inventory = try ContentInventory(listing: layout, epoch: 1, register: LogRegister(own: own, db), files: LinuxFileLayer())
            return try ImportPlanner(reader: reader).plan(&inventory, db)
        }
    }

    @Test("F-02: an import runs none of the app's own code, which may change what it imports, and tells what it did")
    func noAppCode() async throws {
        // The app's code that runs at each insert of its own, and would change the same record again wherever it came.
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, age INTEGER);
                CREATE TRIGGER count AFTER INSERT ON person WHEN NOT (SELECT active FROM ubiquity_import) BEGIN
                    UPDATE person SET age = coalesce(age, 0) + 1 WHERE id = NEW.id;
                END;
                """)
        ) { SyncedTable("person") }
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(schema), devices[1].open(schema))
            let notices = right.notices.limited().makeAsyncIterator()
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            for store in [left, right] { #expect(try await store.rows("SELECT id, age FROM person") == [["a", "1"]]) }
            #expect(try await right.status().unpublished == 0)
            #expect(try await right.sealedLogs().isEmpty)
            guard case .didImport(let notice) = try await notices.next() else {
                Issue.record("nothing was told")
                return
            }
            #expect(notice.inserted.map(\.text) == ["person/t:a"] && notice.updated.isEmpty && notice.deleted.isEmpty)
        }
    }

    @Test("F-27: a new device takes in a baseline and the logs after it, reads nothing else, and is told at each step how many of how many")
    func baselineAndLogs() async throws {
        try await withDevices(2) { devices, root in
            let left = try await devices[0].open()
            for index in 0..<20 { try await left.execute("INSERT INTO person (id) VALUES ('\(index)')") }
            try await left.rollBaseline()
            for index in 20..<23 { try await left.execute("INSERT INTO person (id) VALUES ('\(index)')") }
            try await left.publish()
            let logs = FileManager.default.enumerator(atPath: root.string)!.count { ($0 as? String)?.hasSuffix(".ublog") == true }
            #expect(logs == 3, "those before are in the baseline alone")
            let read = Mutex<[String]>([])
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                if operation == .read, path.extension == "ublog" { read.withLock { $0.append(path.lastComponent!.string) } }
            }
            // What an observer that is fast enough hears while each part is committed.
            let steps = Mutex((progress: Broadcast<ImportProgress>?.none, heard: [ImportProgress]()))
            let meter = SQLiteMeter(below: devices[1].directory) { _, sql in
                guard sql.hasPrefix("COMMIT"), let progress = steps.withLock({ $0.progress }) else { return }
                progress.post { present in
                    if let now = present.first, now.isImporting { steps.withLock { $0.heard.append(now) } }
                    return nil
                }
            }
            let right = try await UbiquitousStore.open(
                at: devices[1].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                in: UbiquityContainer("org.example.test", home: devices[1].home, files: files), schema: personSchema)
            steps.withLock { $0.progress = right.importProgress.broadcast }
            let watching = Task { [progress = right.importProgress] in
                var seen: [ImportProgress] = []
                for try await step in progress.limited("a step") { seen.append(step) }
                return seen
            }
            try await right.settled()
            #expect(try await right.rows() == left.rows())
            let late = right.importProgress.limited().makeAsyncIterator()
            let last = try #require(try await late.next())
            #expect(last.logs == 23 && last.knownLogs == 23 && !last.isImporting)
            let heard = steps.withLock { $0.heard.map { "\($0.logs) of \($0.knownLogs)" } }
            #expect(heard.first == "0 of 20" && heard.contains("20 of 23"), "\(heard)")
            #expect(Set(read.withLock { $0 }).count == 3)
            withExtendedLifetime(meter) {}
            try await right.close()
            let seen = try await watching.value
            #expect(seen.last == last)
            #expect(seen.allSatisfy { $0.logs <= $0.knownLogs })
            #expect(seen.map(\.logs) == seen.map(\.logs).sorted())
        }
    }
}
