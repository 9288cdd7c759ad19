import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// Imports in batches, and what is told of them.
struct ImportProgressTests {
    @Test("S-121: an import runs in batches of bounded size, with one exact notice each; a reader in its midst never waits")
    func batches() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            let value = String(repeating: "x", count: 1 << 20)
            for index in 0..<12 { try await left.execute("INSERT INTO person (id, first) VALUES (?, ?)", ["\(index)", value]) }
            try await left.publish()
            let notices = right.notices.limited().makeAsyncIterator()
            try await right.settled()
            var seen: Set<ObjectID> = []
            var count = 0
            while seen.count < 12, case .didImport(let notice) = try await notices.next() {
                #expect(notice.inserted.count <= 4 && notice.inserted.isDisjoint(with: seen))
                seen.formUnion(notice.inserted)
                count += 1
            }
            #expect(count >= 3)
        }
    }

    @Test("S-121: a reader in the midst of an import sees what was before it, at once")
    func reader() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await left.publish()
            try readInTheMidst(of: right, container: try await devices[1].container())
            try await right.settled()
            #expect(try await right.rows().count == 1)
        }
    }

    /// Joins what is in the container, reads through the store before the commit, and undoes it.
    private func readInTheMidst(of store: UbiquitousStore, container: UbiquityContainer) throws {
        struct Undo: Error {}
        let state = try store.current.pool.read { db in try StoreState.read(db) }
        let file = try StoreFile.open(store.file, schema: personSchema, newState: state)
        let layout = ContentLayout(container: container.path, content: "People")
        let reader = LogReader(layout: layout, contentName: "People", epoch: 1, shapes: file.shapes, files: LinuxFileLayer())
        let plan = try file.pool.read { db in
            var inventory = try ContentInventory(listing: layout, epoch: 1, register: LogRegister(own: state.peer, db), files: LinuxFileLayer())
            return try ImportPlanner(reader: reader).plan(&inventory, db)
        }
        let importer = LogImporter(
            shapes: file.shapes, sealer: Sealer(shapes: file.shapes, schemaVersion: "v1", now: { Date() }), conflictRetention: ConflictRetention(),
            values: LargeValueReader(layout: layout, epoch: 1, files: LinuxFileLayer()))
        #expect(throws: Undo.self) {
            try file.importing { db in
                #expect(try importer.join(plan.ready, isolating: false, db).imported.changes.notice?.inserted.count == 1)
                #expect(try store.current.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person") } == 0)
                throw Undo()
            }
        }
        try file.pool.close()
    }

    @Test("an import's progress counts logs and changes done of known, and a late observer hears the present")
    func progress() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (devices[0].open(), devices[1].open())
            let value = String(repeating: "x", count: 2 << 20)
            for index in 0..<6 { try await left.execute("INSERT INTO person (id, first) VALUES (?, ?)", ["\(index)", value]) }
            try await left.publish()
            let steps = right.importProgress.limited().makeAsyncIterator()
            #expect(try await steps.next() == ImportProgress())
            let watching = Task {
                let iterator = right.importProgress.limited().makeAsyncIterator()
                var seen: [ImportProgress] = []
                while let step = try await iterator.next() { seen.append(step) }
                return seen
            }
            try await right.settled()
            let last = try await steps.next()
            #expect(last == ImportProgress(isImporting: false, logs: 6, knownLogs: 6, changes: 6, knownChanges: 6))
            let late = right.importProgress.limited().makeAsyncIterator()
            #expect(try await late.next() == last)
            // Logs that wait are known, and not done; counts begin anew with the next import.
            try await left.execute("INSERT INTO person (id) VALUES ('w')")
            try await left.execute("UPDATE person SET age = 1")
            try await left.publish()
            try await right.settled()
            #expect(try await steps.next() == ImportProgress(isImporting: false, logs: 2, knownLogs: 2, changes: 8, knownChanges: 8))
            try await right.close()
            let seen = try await watching.value
            #expect(seen.allSatisfy { $0.logs <= $0.knownLogs && $0.changes <= $0.knownChanges })
            #expect(try await late.next() != nil)
            #expect(try await late.next() == nil)
        }
    }
}
