import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Peers that nobody expects back: what no longer waits for them, and what becomes of them when they are back after all.
struct RetirementTests {
    private let rows = "SELECT id, first, last FROM person ORDER BY id"

    private func write(_ store: UbiquitousStore, _ ids: String...) async throws {
        for id in ids { try await store.execute("INSERT INTO person (id, first) VALUES ('\(id)', 'name of \(id)')") }
    }

    /// A peer's own directory of the first epoch.
    private func directory(_ root: FilePath, _ peer: PeerIdentifier) -> FilePath {
        root.appending("alice/org.example.test/CoreData/People/\(peer)/1")
    }

    private func logs(_ root: FilePath, _ store: UbiquitousStore) async throws -> [FilePath] {
        let directory = directory(root, try await store.status().peer)
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasSuffix(".ublog") }.sorted().map(
            directory.appending)
    }

    @Test("F-13: a peer that is retired by hand holds up no removal of logs, and is back by itself with all that it had not sent")
    func byHand() async throws {
        try await withDevices(3) { devices, root in
            let (first, second, third) = (try await devices[0].open(), try await devices[1].open(), try await devices[2].open())
            try await settle(first, second, third)
            let silent = try await third.status().peer
            try await write(third, "unsent")
            try await third.close()
            try await write(first, "1", "2", "3")
            try await settle(first, second)
            try await first.rollBaseline()
            #expect(try await logs(root, first).count == 3, "the third has not read them")
            try await second.retire(silent)
            #expect(try await second.peers().first { $0.peer == silent.description }?.isRetired == true)
            try await settle(first, second)
            #expect(try await first.peers().first { $0.peer == silent.description }?.isRetired == true, "it is told to all")
            #expect(try await logs(root, first).isEmpty)
            let back = try await devices[2].open()
            try await settle(back, first, second)
            #expect(try await back.status().peer == silent)
            let peers = try await first.peers()
            #expect(peers.map(\.behind) == [0, 0] && !peers.contains { $0.isRetired })
            for store in [first, second, back] {
                #expect(try await store.rows(rows).map { $0[0] } == ["1", "2", "3", "unsent"])
            }
            try await write(first, "4")
            try await first.settled()
            try await first.rollBaseline()
            #expect(try await logs(root, first).count == 1, "it is waited for again")
        }
    }

    @Test("a peer that leaves logs unread for longer than the app wants to wait is retired, and one that has read all is not")
    func byTime() async throws {
        try await withDevices(3) { devices, root in
            let first = try await devices[0].open(silenceLimit: .seconds(90 * 86_400))
            let (second, third) = (try await devices[1].open(), try await devices[2].open())
            try await settle(first, second, third)
            let (reader, silent) = (try await second.status().peer.description, try await third.status().peer.description)
            func retired() async throws -> [String] { try await first.peers().filter(\.isRetired).map(\.peer) }
            for device in devices { device.clock.advance(by: 1000 * 86_400) }
            try await settle(first)
            #expect(try await retired() == [], "there is nothing that they have not read")
            try await write(first, "1")
            try await settle(first, second)
            for device in devices { device.clock.advance(by: 89 * 86_400) }
            try await settle(first, second)
            #expect(try await retired() == [])
            for device in devices { device.clock.advance(by: 2 * 86_400) }
            try await settle(first, second)
            #expect(try await retired() == [silent])
            #expect(try await second.peers().first { $0.peer == silent }?.isRetired == true)
            #expect(try await first.peers().first { $0.peer == reader }?.behind == 0)
            try await settle(third, first, second)
            #expect(try await retired() == [])
        }
    }

    /// Three stores of which one has lost a log for good: the first wrote three, of which the second has them all but the second one.
    private func withLostLog(
        _ body: (
            _ devices: [TestDevice], _ root: FilePath, _ waiting: UbiquitousStore, _ author: PeerIdentifier, _ lost: (path: FilePath, bytes: Data)
        )
            async throws -> Void
    ) async throws {
        try await withDevices(3) { devices, root in
            let author = try await devices[0].open()
            try await write(author, "1", "2", "3")
            try await author.settled()
            let path = try await logs(root, author)[1]
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path.string))
            try FileManager.default.removeItem(atPath: path.string)
            let peer = try await author.status().peer
            try await author.close()
            let waiting = try await devices[1].open()
            try await waiting.settled()
            #expect(try await waiting.rows(rows).map { $0[0] } == ["1"])
            #expect(try await waiting.status().awaited.map(\.sequence) == [2])
            try await body(devices, root, waiting, peer, (path, bytes))
        }
    }

    @Test("a log that nobody has any more is passed over once its author is retired at it; the hole stays named, and closes when the log turns up")
    func hole() async throws {
        try await withLostLog { devices, root, waiting, author, lost in
            try await waiting.retire(author, at: 1)
            #expect(try await waiting.rows(rows).map { $0[0] } == ["1"], "the first is not the one that is missing")
            try await waiting.retire(author, at: 2)
            #expect(try await waiting.rows(rows).map { $0[0] } == ["1", "3"])
            let status = try await waiting.status()
            #expect(status.waiting.isEmpty)
            #expect(status.knowledge.holes[author]?.map(\.sequence) == [2])
            // Whoever comes later passes too, be it by the logs or by a baseline, and what is missing stays named.
            let other = try await devices[2].open()
            try await other.settled()
            #expect(try await other.rows(rows) == waiting.rows(rows))
            #expect(try await other.status().knowledge == waiting.status().knowledge)
            try await other.rollBaseline()
            try lost.bytes.write(to: URL(fileURLWithPath: lost.path.string))
            try await settle(waiting, other)
            for store in [waiting, other] {
                #expect(try await store.rows(rows).map { $0[0] } == ["1", "2", "3"])
                let knowledge = try await store.status().knowledge
                #expect(knowledge.holes.isEmpty && knowledge.heads[author]?.map(\.sequence) == [3])
            }
        }
    }

    @Test("a hole closes by a baseline that holds the log, which its author writes when it is back")
    func holeClosedByBaseline() async throws {
        try await withLostLog { devices, root, waiting, author, lost in
            try await waiting.retire(author, at: 2)
            try await write(waiting, "later")
            try await waiting.rollBaseline()
            let back = try await devices[0].open()
            try await settle(back, waiting)
            #expect(try await waiting.rows(rows).map { $0[0] } == ["1", "2", "3", "later"])
            #expect(try await back.rows(rows) == waiting.rows(rows))
            #expect(try await waiting.status().knowledge.holes.isEmpty)
            #expect(try await waiting.status().knowledge == back.status().knowledge)
            #expect(!FileManager.default.fileExists(atPath: lost.path.string))
        }
    }

    @Test("a store that begins with a baseline takes over its holes, and closes them with what it has itself")
    func holesInBaselines() async throws {
        try await withLostLog { devices, root, waiting, author, lost in
            try await waiting.retire(author, at: 2)
            try await write(waiting, "4")
            try await waiting.settled()
            #expect(try await waiting.rollBaseline() == 1)
            // The one that comes has the lost log, and nothing else.
            let content = root.appending("alice/org.example.test/CoreData/People")
            let hidden = root.appending("hidden")
            for log in try await logs(root, waiting) { try FileManager.default.removeItem(atPath: log.string) }
            try FileManager.default.moveItem(atPath: content.appending("\(author)").string, toPath: hidden.string)
            let other = try await devices[2].open()
            try await other.settled()
            #expect(try await other.status().quarantined.map(\.reason) == [])
            #expect(try await other.status().knowledge.holes[author]?.map(\.sequence) == [2])
            #expect(try await other.rows(rows) == waiting.rows(rows))
            #expect(try await other.peers().first { $0.peer == author.description } == nil)
            try FileManager.default.moveItem(atPath: hidden.string, toPath: content.appending("\(author)").string)
            try lost.bytes.write(to: URL(fileURLWithPath: lost.path.string))
            try await settle(other, waiting)
            #expect(try await other.rows(rows).map { $0[0] } == ["1", "2", "3", "4"])
            #expect(try await other.status().knowledge.heads[author]?.map(\.sequence) == [3])
            try await other.rebuildFromUbiquitousContent()
            #expect(try await other.rows(rows).map { $0[0] } == ["1", "2", "3", "4"])
        }
    }

    @Test("a store with a hole can be made anew, and has the hole again")
    func rebuildWithHole() async throws {
        try await withLostLog { _, _, waiting, author, _ in
            try await waiting.retire(author, at: 2)
            let before = (try await waiting.rows(rows), try await waiting.status().knowledge)
            try await waiting.rebuildFromUbiquitousContent()
            #expect(try await waiting.rows(rows) == before.0)
            let after = try await waiting.status().knowledge
            #expect(after == before.1)
        }
    }

    @Test("F-13: a store that takes a new identifier adopts what the old one had written, and retires it, so that it holds up nothing")
    func predecessor() async throws {
        try await withDevices(2) { devices, root in
            let first = try await devices[0].open()
            try await write(first, "mine")
            try await first.settled()
            let old = try await first.status().peer
            try await first.close()
            // The store has lost its past.
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: first.file.string + suffix) }
            try await write(try await devices[1].open(), "other")
            let again = try await devices[0].open()
            let second = try await devices[1].open()
            try await settle(again, second)
            #expect(try await again.status().peer != old)
            for store in [again, second] { #expect(try await store.rows(rows).map { $0[0] } == ["mine", "other"]) }
            #expect(try await second.peers().first { $0.peer == old.description }?.isRetired == true)
            try await again.execute("UPDATE person SET last = 'edited' WHERE id = 'mine'")
            try await settle(again, second)
            #expect(try await second.rows(rows)[0] == ["mine", "name of mine", "edited"])
            #expect(try await second.conflicts().isEmpty, "it is its own record still")
            try await write(second, "1", "2")
            try await settle(second, again)
            try await second.rollBaseline()
            #expect(try await logs(root, second).isEmpty)
        }
    }

    @Test("nobody retires itself, nor one of whom nobody has heard")
    func refusals() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.settled()
            let own = try await store.status().peer
            for peer in [own, PeerIdentifier(account: own.account, uuid: UUID())] {
                await #expect { try await store.retire(peer) } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            }
            #expect(try await store.sealedLogs().isEmpty)
        }
    }

    @Test("a store that has been seeded and nothing more keeps its identifier")
    func seededOnly() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let records = [SeedRecord(table: "person", values: ["id": "1", "first": "A"])]
            _ = try await store.seed(from: records, token: "seed")
            try await store.settled()
            let peer = try await store.status().peer
            try await store.settled()
            #expect(try await store.status().peer == peer)
        }
    }
}
