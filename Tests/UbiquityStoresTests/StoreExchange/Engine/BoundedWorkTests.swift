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

/// What work costs, counted in SQLite's instructions, rows and bytes: it grows with what changes, not with what is there.
struct BoundedWorkTests {
    /// A reader that fails where it would have to wait.
    private static let impatient = {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .immediateError
        return configuration
    }()

    /// Saves so many persons at once.
    private func fill(_ store: UbiquitousStore, _ count: Int) async throws {
        try await store.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
            INSERT INTO person (id, first) SELECT printf('p%06d', i), 'First ' || i FROM n
            """)
    }

    @Test("S-044: the join of a fallback file costs in proportion to what was saved there, however much the account holds")
    func joining() async throws {
        /// The instructions of a join of so many saves with an account that holds so many records.
        func steps(_ saves: Int, among records: Int) async throws -> Int {
            let counted = Mutex(0)
            try await withDevices(2) { devices, _ in
                let other = try await devices[1].open()
                try await fill(other, records)
                try await other.publish()
                let meter = SQLiteMeter(below: devices[0].directory)
                let alice = try AccountName("alice")
                let store = try await devices[0].follow { $0.advanced.baselines = nil }
                for number in 0..<saves { try await store.insert("s\(number)") }
                // What the account holds is imported first, for that costs in proportion to it.
                let keeper = try #require(store.keeper)
                try await keeper.gatheringBase(of: alice).runner.settleByPolicy()
                #expect(await store.place == .fallback(alice))
                meter.reset()
                try await store.settled()
                counted.withLock { $0 = meter.steps }
                #expect(await store.place == .account(alice))
                #expect(try await store.keys().count == records + saves)
                try await store.close()
            }
            return counted.withLock { $0 }
        }
        let few = try await steps(10, among: 50), moreRecords = try await steps(10, among: 5_000), moreSaves = try await steps(100, among: 50)
        #expect(moreRecords < few * 12 / 10, "\(few) instructions among 50 records, \(moreRecords) among 5,000")
        #expect(moreSaves < few * 15, "\(few) instructions for 10 saves, \(moreSaves) for 100")
    }

    @Test("S-056: a change of file costs no more than opening it, however much the file holds")
    func changing() async throws {
        /// The instructions of a change to a file that holds so many records, and of its opening as a plain database and a store.
        func steps(_ records: Int) async throws -> (change: Int, opening: Int) {
            let counted = Mutex((change: 0, opening: 0))
            try await withDevices(1) { devices, root in
                let (alice, bob) = (try AccountName("alice"), try AccountName("bob"))
                let meter = SQLiteMeter(below: devices[0].directory)
                let store = try await devices[0].follow()
                try await fill(store, records)
                try await store.settled()
                let file = store.file
                try devices[0].home.signIn(bob, containers: root)
                try await store.settled()
                #expect(await store.place == .account(bob))
                let notices = store.notices.limited("notices").makeAsyncIterator()
                meter.reset()
                try devices[0].home.signIn(alice, containers: root)
                while let notice = try await notices.next() {
                    if case .didChange(let transition) = notice, transition.added.place == .account(alice) { break }
                }
                counted.withLock { $0.change = meter.steps }
                #expect(store.file == file)
                #expect(try await store.rows("SELECT count(*) FROM person") == [["\(records)"]])
                try await store.close()
                meter.reset()
                let again = try await devices[0].follow()
                counted.withLock { $0.opening = meter.steps }
                try await again.close()
            }
            return counted.withLock { $0 }
        }
        let small = try await steps(50), large = try await steps(5_000)
        #expect(large.change < small.change * 11 / 10, "\(small.change) instructions with 50 records, \(large.change) with 5,000")
        #expect(large.change < large.opening * 2, "\(large.change) instructions, and \(large.opening) for opening")
    }

    @Test("S-121: an import of many logs holds no more of them at once than a batch, and a reader in the midst of each is served at once")
    func importing() async throws {
        try await withDevices(2) { devices, _ in
            let writer = try await devices[0].open(baselines: nil)
            // 24 logs of half a megabyte.
            for row in 0..<24 { try await writer.execute("INSERT INTO person (id, age) VALUES (?, zeroblob(500000))", ["\(row)"]) }
            try await writer.publish()

            /// What the import has read since its last commit, and what readers saw before each.
            struct Seen {
                var bytes = 0
                var most = 0
                var largest = 0
                var counts: [Int] = []
                var faults: [String] = []
                var file: FilePath?
            }
            let seen = Mutex(Seen())
            let files = HookedFileLayer { (operation, path, bytes) throws(Errno) in
                guard operation == .read, path.extension == "ublog" else { return }
                seen.withLock { seen in
                    (seen.bytes, seen.largest) = (seen.bytes + bytes, max(seen.largest, bytes))
                    seen.most = max(seen.most, seen.bytes)
                }
            }
            let meter = SQLiteMeter(below: devices[1].directory) { file, sql in
                guard sql.hasPrefix("COMMIT"), seen.withLock({ $0.file }) == file else { return }
                do {
                    let reader = try DatabaseQueue(path: file.string, configuration: Self.impatient)
                    // Without a transaction, whose end would be told here too.
                    let count = try reader.unsafeRead { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person")! }
                    try reader.close()
                    seen.withLock { seen in
                        seen.counts.append(count)
                        seen.bytes = 0
                    }
                } catch {
                    seen.withLock { $0.faults.append("\(error)") }
                }
            }
            let reader = try await UbiquitousStore.open(
                at: devices[1].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                in: UbiquityContainer("org.example.test", home: devices[1].home, files: files), schema: personSchema)
            seen.withLock { $0 = Seen(file: reader.file) }
            meter.reset()
            try await reader.settled()
            #expect(try await reader.rows("SELECT count(*) FROM person") == [["24"]])
            seen.withLock { seen in
                #expect(seen.faults == [])
                // Before each commit the rows of earlier ones can be read, and no others.
                #expect(Set(seen.counts).count >= 4 && seen.counts == seen.counts.sorted() && seen.counts.last ?? 24 <= 24, "\(seen.counts)")
                // A log that does not fit in the batch is read, put back, and read again with the next.
                #expect(seen.largest > 500_000 && seen.most <= ImportPlanner.batchBytes + 2 * seen.largest, "\(seen.most) bytes")
            }
            try await reader.close()
        }
    }

    @Test("F-01: rows of before are taken over by the batch: no statement returns more rows, and no log has more bytes", arguments: [10, 500_000])
    func adopting(size: Int) async throws {
        try await withDevices(1) { devices, root in
            let rows = size == 10 ? 25_000 : 30
            let plain = devices[0].directory.appending("plain.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let queue = try DatabaseQueue(path: plain.string)
            try personSchema.migrator.migrate(queue)
            try await queue.write { db in
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                        INSERT INTO person (id, age) SELECT 'p' || i, zeroblob(\(size)) FROM n
                        """)
            }
            try queue.close()
            let meter = SQLiteMeter(below: StoreFile.supportDirectory(of: plain))
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            (options.existingDatabase, options.advanced.baselines) = (plain, nil)
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, in: devices[0].container(), schema: personSchema)
            var notices = store.notices.makeAsyncIterator()
            try await store.settled()
            var counts = [0]
            while case .didAdopt(let count, let total, let isDone)? = await notices.next(isolation: nil) {
                #expect(total == rows)
                counts.append(count)
                if isDone { break }
            }
            #expect(counts.last == rows)
            let batches = zip(counts, counts.dropFirst()).map { $1 - $0 }
            #expect(batches.allSatisfy { $0 <= (size == 10 ? 10_000 : 9) }, "\(batches)")
            let logs = try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { $0.hasSuffix(".ublog") }
            let sizes = try logs.map { try LinuxFileLayer().size(of: root.appending($0)) }
            // The copy of the plain database, which is compared with it row by row, is another file.
            let runs = meter.runs.filter { $0.file == store.file }
            #expect(runs.contains { $0.rows > 0 } && runs.allSatisfy { $0.rows <= 10_000 }, "\(runs.max { $0.rows < $1.rows }!)")
            #expect(sizes.count >= 3 && sizes.allSatisfy { $0 <= 4 << 20 + Int64(size) + 1000 }, "\(sizes)")
        }
    }
}
