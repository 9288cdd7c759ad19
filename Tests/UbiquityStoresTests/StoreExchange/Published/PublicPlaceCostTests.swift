import Contributors
import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreRecords
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreAuthority
@testable import UbiquityStores

/// What a public place costs those who read it and contribute to it, by counting.
struct PublicPlaceCostTests {
    /// What one store has done with a place.
    private struct Cost {
        /// The requests for the head.
        var heads = 0
        /// The files that were fetched.
        var files: [PublishedPath] = []
        /// The files without which the tables cannot be filled: the policies and the snapshots.
        var needed: Set<PublishedPath> = []
        /// The statements in the fetched files.
        var statements = 0
        /// How many rows of any table the first read has written.
        var rows = 0
        /// The work of a save of one record, of a save of a hundred, and of the publication of both.
        var one = Work(), hundred = Work(), publication = Work()
    }

    /// Work of SQLite and the file system.
    private struct Work {
        var runs: [SQLiteMeter.Run] = []
        var looks = 0

        /// Returns whether each statement does as much as one of another work does, in the same order.
        func isEqual(to other: Work) -> Bool {
            looks == other.looks && runs.map(\.sql) == other.runs.map(\.sql) && runs.map(\.steps) == other.runs.map(\.steps)
        }

        /// Returns where this work differs from another one.
        func difference(from other: Work) -> String {
            let more = zip(runs, other.runs).filter { $0.sql != $1.sql || $0.steps != $1.steps }.prefix(5)
            return "\(runs.count) and \(other.runs.count) statements, \(looks) and \(other.looks) looks; first "
                + more.map { "\($0.sql) in \($0.steps), and \($1.sql) in \($1.steps)" }.joined(separator: "; ")
        }
    }

    private static let table = ContributedTable(
        contentName: "Game", schema: "v1", table: .init(name: "score", keyColumns: ["player", "id"], columns: ["points"])
    ) { [.integer(Int64($0))] }

    /// Lets a new contributor read a place with a number of others, save and publish.
    private static func cost(among count: Int) async throws -> Cost {
        var cost = Cost()
        try await PublicWorld.with { world in
            var contributors = Contributors(to: world.place, table)
            try contributors.join(count)
            try contributors.write()
            let owner = try await world.owner.open()
            try await owner.settled()
            let edition = try await owner.publishPlace(to: world.published)
            cost.needed = Set(edition.head.paths.keys)

            var device = world.placeReader("device")
            device.contributions = world.directory.appending("device/own")
            let name = try await device.scope.createAccount(home: device.home).description
            let (meter, looks) = (SQLiteMeter(below: device.directory), LookCounter())
            let files = HookedFileLayer { _, _, _ in looks.add() }
            var options = UbiquitousStore.Options(contentName: "Game", exchangesAutomatically: false)
            options.scope = device.scope
            let store = try await UbiquitousStore.open(
                at: device.directory.appending("Game.sqlite"), options: options, home: device.home, schema: PublicDevice.schema, now: { Date() },
                files: files)
            let (fetcher, source) = (try #require(store.poller).fetcher, CountedSource(DirectorySource(world.published)))
            let before = try await store.current.pool.write { db in db.totalChangesCount }
            _ = try await PlaceFetcher(source: source, place: fetcher.place, container: world.container, exchange: fetcher.exchange).poll()
            #expect(try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM score") } == count)
            (cost.heads, cost.files) = source.counts
            cost.rows = try await store.current.pool.write { db in db.totalChangesCount } - before
            for path in cost.files {
                guard case .authority(_, let hash) = path else { continue }
                try BundleFile.read(path.components.reduce(world.published) { $0.appending($1) }, hash) { entry in
                    if case .statement = entry.content { cost.statements += 1 }
                }
            }

            /// Counts the work of a body.
            func work(_ body: () async throws -> Void) async throws -> Work {
                meter.reset()
                let before = looks.count
                try await body()
                return Work(runs: meter.runs, looks: looks.count - before)
            }
            func save(_ records: Range<Int>) async throws {
                try await store.write { db in
                    for record in records { try db.execute(sql: "INSERT INTO score VALUES (?, ?, 1)", arguments: [name, "r\(record)"]) }
                }
            }
            // The first save and the first publication also make what all others use.
            try await save(0..<1)
            try await store.settled()
            cost.one = try await work { try await save(1..<2) }
            cost.hundred = try await work { try await save(2..<102) }
            cost.publication = try await work { try await store.settled() }
            #expect(try await store.status().unpublished == 0)
            for store in [owner, store] { try await store.close() }
        }
        return cost
    }

    @Test("P-34: a first read fetches the policies and the snapshots alone, and writes each record once; a save costs what it did")
    func costs() async throws {
        let (few, many) = (try await Self.cost(among: 40), try await Self.cost(among: 400))
        for cost in [few, many] {
            #expect(cost.heads == 1)
            #expect(Set(cost.files).count == cost.files.count && Set(cost.files).isSubset(of: cost.needed))
            #expect(!cost.files.contains { if case .bundle = $0 { true } else { false } }, "\(cost.files)")
            // The first policy, and the statement of its owner.
            #expect(cost.statements == 2)
        }
        #expect(few.files.count == many.files.count)
        // The record, its stamps, the name of its author, and the number of the author's records.
        #expect(many.rows - few.rows <= 4 * 360, "\(few.rows) and \(many.rows)")
        #expect(!few.one.runs.isEmpty && !few.publication.runs.isEmpty && few.publication.looks > 0)
        for work in [\Cost.one, \.hundred, \.publication] {
            let (small, large) = (few[keyPath: work], many[keyPath: work])
            if !large.isEqual(to: small) { Issue.record("\(large.difference(from: small))") }
        }
    }
}

/// A source that notes what is fetched from it.
private final class CountedSource: PlaceSource {
    private let source: any PlaceSource
    private let state = Mutex((heads: 0, files: [PublishedPath]()))

    init(_ source: any PlaceSource) { self.source = source }

    var counts: (Int, [PublishedPath]) { state.withLock { ($0.heads, $0.files) } }

    func head(unless tag: String?) async throws -> PlaceAnswer? {
        state.withLock { $0.heads += 1 }
        return try await source.head(unless: tag)
    }

    func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8] { try await source.head(number, id) }

    func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws {
        state.withLock { $0.files.append(path) }
        try await source.fetch(path, file, to: draft)
    }
}

/// Counts operations on files.
private final class LookCounter: Sendable {
    private let state = Mutex(0)

    var count: Int { state.withLock { $0 } }

    func add() { state.withLock { $0 += 1 } }
}
