import Foundation
import GRDB
import StoreAuthority
import StoreExchange
import StoreFormat
import StoreInspection
import StoreRecords
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// One run of a publisher and its readers: accounts write, rights change, the publisher is interrupted, and readers poll a
/// faulty server at random times.
///
/// Whatever a reader shows, somebody has written. At the end each reader shows what the publisher's store shows, and an audit
/// finds nothing.
package struct PlaceRun {
    /// What a run has done.
    package struct Statistics: Sendable {
        package var heads: Int64 = 0
        package var snapshots = 0
        package var audited = 0
        package var polls = 0
        package var failedPolls = 0
        package var readers = 0
        package var removals = 0

        package init() {}

        package mutating func add(_ other: Statistics) {
            heads += other.heads
            snapshots += other.snapshots
            audited += other.audited
            polls += other.polls
            failedPolls += other.failedPolls
            readers += other.readers
            removals += other.removals
        }
    }

    /// Why a run is wrong.
    package struct Failure: Error, CustomStringConvertible {
        package var description: String
    }

    private struct Reader {
        var store: UbiquitousStore
        var source: FaultySource
    }

    private let world: PlaceWorld
    private let seed: UInt64
    private let trace: (String) -> Void
    private var random: SeededRandom
    private var statistics = Statistics()
    private let owner: UbiquitousStore
    private var writers: [(name: String, account: AccountIdentifier, store: UbiquitousStore)] = []
    private var readers: [Reader] = []
    private var isPhoneRemoved = false
    private var isClosed = false
    /// Every row that any writer has shown.
    private var written: Set<String> = []

    /// Runs a seed.
    ///
    /// - Parameters:
    ///   - seed: the seed of all decisions; keys and identifiers are new in each run.
    ///   - turns: the number of actions.
    ///   - trace: receives what happens.
    /// - Returns: what the run has done.
    /// - Throws: `Failure`, or an error that none of the run's faults explains.
    package static func run(seed: UInt64, turns: Int = 60, trace: @escaping (String) -> Void = { _ in }) async throws -> Statistics {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-place-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        var run = try await PlaceRun(seed, directory, trace)
        do {
            for turn in 0..<turns { try await run.act(turn) }
            try await run.finish()
        } catch {
            await run.close()
            throw error
        }
        await run.close()
        return run.statistics
    }

    private init(_ seed: UInt64, _ directory: FilePath, _ trace: @escaping (String) -> Void) async throws {
        (self.seed, self.trace) = (seed, trace)
        random = SeededRandom(seed: seed)
        world = try PlaceWorld(directory)
        owner = try await world.open("owner")
        try await owner.settled()
        for name in ["ann", "bob"] {
            let account = try world.registration(name).createAccount(in: world.container)
            writers.append((name, account, try await world.open(name)))
        }
        let ann = writers[0].account
        try world.registration("ann").admit(world.registration("phone").prepareDevice(of: ann, in: world.container), in: world.container)
        writers.append(("phone", ann, try await world.open("phone")))
        try await settle()
        try await publish()
    }

    private func close() async { for store in [owner] + writers.map(\.store) + readers.map(\.store) { try? await store.close() } }

    /// Lets all files of the container arrive everywhere.
    private mutating func settle() async throws {
        for _ in 0..<3 {
            for store in writers.map(\.store) + [owner] { try await store.settled() }
        }
        for store in writers.map(\.store) + [owner] { written.formUnion(try await store.game) }
    }

    // MARK: Actions

    private mutating func act(_ turn: Int) async throws {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: try await write(turn)
        case 8..<10: try await settle()
        case 10..<14: try await publish()
        case 14..<16: try await poll()
        case 16: if readers.count < 4 { try await addReader() }
        case 17: try await changeRights()
        case 18: try losePublisher()
        default: world.clock.advance(by: Double(Int.random(in: 1...100_000, using: &random)))
        }
    }

    private mutating func write(_ turn: Int) async throws {
        let writer = writers.randomElement(using: &random)!
        let id = "r\(Int.random(in: 0..<5, using: &random))"
        let own = "player = '\(writer.account)' AND id = '\(id)'"
        let sql =
            switch Int.random(in: 0..<6, using: &random) {
            case 0: "DELETE FROM score WHERE \(own)"
            case 1: "UPDATE score SET best = \(turn % 7) WHERE \(own)"
            case 2: "UPDATE score SET points = \(turn) WHERE \(own)"
            default: "INSERT OR REPLACE INTO score VALUES ('\(writer.account)', '\(id)', \(turn), \(turn % 5))"
            }
        let isTemplate = Int.random(in: 0..<4, using: &random) == 0
        let store = isTemplate && writer.name == "bob" && Bool.random(using: &random) ? writer.store : isTemplate ? owner : writer.store
        let size = Int.random(in: 0..<9000, using: &random)
        let text = isTemplate ? "INSERT OR REPLACE INTO template VALUES ('\(id)', '\(turn)', zeroblob(\(size)))" : sql
        trace("\(isTemplate ? "template" : writer.name): \(text)")
        do {
            try await store.write { db in try db.execute(sql: text) }
        } catch  where error is DatabaseError || (error as? UbiquitousStoreError)?.code == .readOnly {
            // The account may not write this, or not any more.
            trace("  refused")
        }
        written.formUnion(try await store.game)
    }

    private mutating func changeRights() async throws {
        try await settle()
        switch Int.random(in: 0..<6, using: &random) {
        case 0...1:
            trace("bob becomes an editor")
            try await owner.grant("editor", to: writers[1].account)
        case 2:
            trace("bob is no editor any more")
            try await owner.take("editor", from: writers[1].account)
            statistics.removals += 1
        case 3 where !isPhoneRemoved:
            trace("ann removes the phone")
            isPhoneRemoved = true
            let phone = try await writers[2].store.status().peer
            try await writers[0].store.removeDevices([phone])
            statistics.removals += 1
        case 4 where !isClosed:
            trace("the admission is closed")
            isClosed = true
            let key = try HomeKeys(world.home("owner")).publicKey(.registrar)
            _ = try await owner.runner.signPolicy { $0.admission = .registrars([key]) }
        case 5 where isClosed:
            trace("ann and bob are admitted")
            for writer in writers.prefix(2) { try world.registration("owner").admitAccount(writer.account, in: world.container) }
        default: return
        }
        try await settle()
    }

    private mutating func publish() async throws {
        var publishing = PlacePublishing()
        publishing.retention = .seconds(400 * 86400)
        publishing.snapshotAge = .seconds(Bool.random(using: &random) ? 0 : 86400)
        publishing.recordsInOnePart = Bool.random(using: &random) ? 2 : 100
        publishing.leastBundledSize = 20_000
        let before = world.head
        let edition = try await owner.publishPlace(to: world.published, publishing)
        trace("head \(edition.number)\(edition.isNew ? "" : ", nothing new"), snapshots of \(edition.snapshots.sorted())")
        statistics.snapshots += edition.snapshots.count
        guard edition.isNew, let before, Int.random(in: 0..<6, using: &random) == 0 else { return }
        // A crash before the head was written, whose number is used again.
        trace("  and a crash before its head")
        let name = "\(edition.number)."
        let heads = world.published.appending("heads").string
        for file in try FileManager.default.contentsOfDirectory(atPath: heads) where file.hasPrefix(name) {
            try FileManager.default.removeItem(atPath: "\(heads)/\(file)")
        }
        try world.setHead(before)
    }

    /// Removes the publisher's own record of what it has published.
    private mutating func losePublisher() throws {
        guard Bool.random(using: &random) else { return }
        trace("the publisher's record is lost")
        try? FileManager.default.removeItem(atPath: world.published.appending(".publisher").string)
    }

    // MARK: Readers

    private mutating func addReader() async throws {
        trace("reader \(readers.count)")
        let source = FaultySource(world.published, seed: seed &* 1000 &+ UInt64(readers.count))
        let store = try await world.open("reader\(readers.count)", from: source)
        readers.append(Reader(store: store, source: source))
        statistics.readers += 1
    }

    private mutating func poll() async throws {
        guard let reader = readers.randomElement(using: &random) else { return }
        reader.source.set(faults: 15)
        defer { reader.source.set(faults: 0) }
        statistics.polls += 1
        do {
            try await reader.store.settled()
        } catch let error as UbiquitousStoreError where error.code == .unreachable {
            trace("a poll fails: \(error)")
            statistics.failedPolls += 1
        }
        let shown = Set(try await reader.store.game)
        guard shown.isSubset(of: written) else {
            throw Failure(description: "a reader shows what nobody wrote: \(shown.subtracting(written).sorted())")
        }
    }

    // MARK: The end

    private mutating func finish() async throws {
        try await settle()
        try await publish()
        try await publish()
        try await addReader()
        let expected = try await owner.game
        for (number, reader) in readers.enumerated() {
            try await reader.store.settled()
            let shown = try await reader.store.game
            guard shown == expected else {
                throw Failure(
                    description:
                        "reader \(number) lacks \(Set(expected).subtracting(shown).sorted()) and has \(Set(shown).subtracting(expected).sorted()) too"
                )
            }
            let before = reader.source.requests
            try await reader.store.settled()
            guard reader.source.requests == before + 1 else {
                throw Failure(description: "an unchanged poll took \(reader.source.requests - before) requests")
            }
        }
        statistics.heads = try await owner.publishPlace(to: world.published).number
        try await audit()
    }

    private mutating func audit() async throws {
        let facts = try InspectedStore(owner.file, readOnly: true).placeFacts()
        let scratch = world.directory.appending("audit")
        try FileManager.default.createDirectory(atPath: scratch.string, withIntermediateDirectories: true)
        let audit = try await PlaceAuditor(
            address: "file://\(world.published)", container: facts.container, contentName: facts.contentName, schema: facts.schema, seen: facts.state,
            scratch: scratch, progress: { _ in }
        ).audit()
        statistics.audited += audit.audited.count
        guard audit.isSound else { throw Failure(description: "the audit finds \(audit.findings.prefix(5))") }
    }
}
