import Foundation
import GRDB
import StoreFormat
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// Large sets of changes that refer to each other, in a private and in a public store.
struct LinkedChangesTests {
    private static let publicSchema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE score (
                player TEXT NOT NULL, id TEXT NOT NULL, before TEXT, replay BLOB, PRIMARY KEY (player, id),
                FOREIGN KEY (player, before) REFERENCES score (player, id));
            CREATE INDEX score_before ON score (player, before);
            """)
    ) { SyncedTable("score", access: .creator("player")) }

    private static let privateSchema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE score (id TEXT NOT NULL PRIMARY KEY, before TEXT REFERENCES score (id), replay BLOB);
            CREATE INDEX score_before ON score (before);
            """)
    ) { SyncedTable("score") }

    /// Saves scores of half a megabyte, each of which refers to the one before; without a player in a private store.
    private static func save(_ saves: [Range<Int>], of player: String? = nil, in store: UbiquitousStore) async throws {
        for scores in saves {
            try await store.write { db in
                for score in scores {
                    let before = score == 0 ? nil : "\(score - 1)"
                    let owner = player.map { "'\($0)', " } ?? ""
                    try db.execute(sql: "INSERT INTO score VALUES (\(owner)?, ?, zeroblob(500000))", arguments: ["\(score)", before])
                }
            }
        }
    }

    /// A sealed log: how a save was divided, what it holds, and how large it is.
    private struct Sealed: Equatable {
        var part: Int
        var goesOn: Bool
        var saves: Int64
        var changes: Int64
    }

    private static func exported(_ store: UbiquitousStore) async throws -> (logs: [Sealed], bytes: [Int]) {
        let logs = try await store.sealedLogs()
        let headers = logs.map { log in
            let header = log.header
            return Sealed(part: Int(header.part), goesOn: header.goesOn, saves: Int64(header.saves), changes: Int64(header.changes))
        }
        return (headers, logs.map(\.body.count))
    }

    @Test("S-169: a public store exports as a private one does: one save is one log, a large one several, with as many changes in each")
    func export() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let store = try await ann.open(Self.publicSchema)
            try await store.settled()
            try await withDevices(1) { devices, _ in
                let plain = try await devices[0].open(Self.privateSchema)
                try await plain.settled()
                var exports: [(logs: [Sealed], bytes: [Int])] = []
                for (store, player) in [(store, ann.name), (plain, nil)] {
                    try await Self.save([0..<1, 1..<2, 2..<30], of: player, in: store)
                    try await store.execute("UPDATE score SET replay = zeroblob(10) WHERE id < '2'; DELETE FROM score WHERE id = '29'")
                    exports.append(try await Self.exported(store))
                }
                #expect(exports[0].logs == exports[1].logs)
                #expect(exports[0].logs.count > 5 && exports[0].logs.contains { $0.goesOn }, "\(exports[0].logs)")
                // A public key names the player as well; otherwise the bodies have the same size.
                for (place, log) in exports[0].logs.enumerated() {
                    let (open, closed) = (exports[0].bytes[place], exports[1].bytes[place])
                    #expect(abs(open - closed) <= Int(log.changes) * (ann.name.utf8.count + 8) + 64, "log \(place): \(open) and \(closed) bytes")
                }
                try await plain.close()
            }
            try await store.close()
        }
    }

    /// What an import has read and committed.
    private struct Work {
        /// The bytes of logs that were read since the last commit, and the most of them.
        var bytes = 0
        var most = 0
        var largest = 0
        /// How many scores each notice names.
        var notices: [Int] = []
    }

    private static let saves = (1..<25).map { $0..<$0 + 1 }

    /// Lets a store that opens in a directory import what is published then, and counts.
    private static func importing(
        in directory: FilePath, _ open: (HookedFileLayer) async throws -> UbiquitousStore, _ publish: () async throws -> Void
    ) async throws -> Work {
        let work = Mutex(Work())
        let files = HookedFileLayer { (operation, path, bytes) throws(Errno) in
            guard operation == .read, path.extension == "ublog" else { return }
            work.withLock { work in
                work.bytes += bytes
                (work.most, work.largest) = (max(work.most, work.bytes), max(work.largest, bytes))
            }
        }
        _ = SQLiteMeter(below: directory) { _, sql in if sql.hasPrefix("COMMIT") { work.withLock { $0.bytes = 0 } } }
        let store = try await open(files)
        try await store.settled()
        let notices = store.notices.limited().makeAsyncIterator()
        try await publish()
        work.withLock { $0 = Work() }
        try await store.settled()
        var told = 0
        while told < saves.count, let notice = try await notices.next() {
            guard case .didImport(let changes) = notice else { continue }
            told += changes.inserted.count
            work.withLock { $0.notices.append(changes.inserted.count) }
        }
        #expect(try await store.rows("SELECT count(*), sum(length(replay)) FROM score") == [["25", "12500000"]])
        #expect(try await store.held().isEmpty)
        try await store.close()
        return work.withLock { $0 }
    }

    /// Checks that no transaction held more than a batch.
    private static func expectBounded(_ work: Work, _ what: String) {
        // A log that does not fit in the batch is read, put back, and read again with the next.
        #expect(work.most <= ImportPlanner.batchBytes + 2 * work.largest, "\(what): \(work)")
        #expect(work.notices.count >= 3 && work.notices.allSatisfy { $0 <= ImportPlanner.batchBytes / 500_000 + 1 }, "\(what): \(work.notices)")
    }

    @Test("S-169: changes that refer to each other are imported by the batch in a private store, in a public one, and from a place")
    func imports() async throws {
        try await withDevices(2) { devices, _ in
            let writer = try await devices[0].open(Self.privateSchema, baselines: nil)
            try await Self.save([0..<1], in: writer)
            try await writer.settled()
            let work = try await Self.importing(in: devices[1].directory) { files in
                var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
                options.advanced.baselines = nil
                return try await UbiquitousStore.open(
                    at: devices[1].directory.appending("People.sqlite"), options: options,
                    in: UbiquityContainer("org.example.test", home: devices[1].home, files: files), schema: Self.privateSchema)
            } _: {
                try await Self.save(Self.saves, in: writer)
                try await writer.settled()
            }
            #expect(work.largest > 500_000)
            Self.expectBounded(work, "private")
            try await writer.close()
        }
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(Self.publicSchema), try await world.owner.open(Self.publicSchema))
            try await settle(store, owner)
            try await Self.save([0..<1], of: ann.name, in: store)
            try await settle(store, owner)
            _ = try await owner.publishPlace(to: world.published)
            func open(_ device: PublicDevice, _ files: HookedFileLayer) async throws -> UbiquitousStore {
                var options = UbiquitousStore.Options(contentName: "Game", exchangesAutomatically: false)
                options.scope = device.scope
                return try await UbiquitousStore.open(
                    at: device.directory.appending("Game.sqlite"), options: options, home: device.home, schema: Self.publicSchema,
                    now: { [clock = device.clock] in clock.now }, files: files)
            }
            let (near, far) = (world.reader("near"), world.placeReader("far"))
            let listed = try await Self.importing(in: near.directory) {
                try await open(near, $0)
            } _: {
                try await Self.save(Self.saves, of: ann.name, in: store)
                try await store.settled()
            }
            #expect(listed.largest > 500_000)
            Self.expectBounded(listed, "public")
            let polled = try await Self.importing(in: far.directory) {
                try await open(far, $0)
            } _: {
                try await owner.settled()
                _ = try await owner.publishPlace(to: world.published)
            }
            Self.expectBounded(polled, "place")
            for store in [store, owner] { try await store.close() }
        }
    }
}
