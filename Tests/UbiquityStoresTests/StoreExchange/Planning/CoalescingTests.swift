import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Saves that go out together.
@Suite(.timeLimit(.minutes(40)))
struct CoalescingTests {
    private func open(_ device: TestDevice, _ coalescing: Coalescing?, automatically: Bool = false) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: automatically)
        options.advanced.coalescing = coalescing
        return try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: personSchema,
            now: { [clock = device.clock] in clock.now })
    }

    /// The logs of the container, by sequence.
    private func logs(_ device: TestDevice) async throws -> [LogFile] {
        let container = try await device.container()
        let directory = container.path.appending("CoreData/People/\(container.peer)/1")
        return try FileManager.default.contentsOfDirectory(atPath: directory.string).compactMap { LogFileName($0) }.sorted().map { name in
            try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: directory.appending(name.description).string))), named: name)
        }
    }

    @Test("S-120: saves are coalesced into one log: one group a save, with its stamp, and the next log follows it")
    func oneLog() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await open(devices[0], Coalescing(maximumDelay: .seconds(3600)))
            let right = try await devices[1].open()
            try await right.execute("INSERT INTO person (id) VALUES ('r')")
            try await settle(right, left)
            try await left.execute("INSERT INTO person (id, first) VALUES ('a', 'A')")
            try await left.execute("UPDATE person SET first = 'B' WHERE id = 'a'")
            devices[0].clock.advance(by: 5)
            try await left.execute("DELETE FROM person WHERE id = 'r'")
            let sealed = try await left.sealedLogs()
            #expect(sealed.count == 3)
            try await left.publish()
            let log = try #require(try await logs(devices[0]).first)
            #expect(try await logs(devices[0]).count == 1)
            #expect(log.header.sequence == 1 && log.header.saves == 3 && log.header.changes == 3)
            #expect(log.header.news == sealed[0].header.news && !log.header.news.isEmpty)
            #expect(try log.changes == sealed.flatMap { try $0.changes })
            #expect(try LogBody.decode(log).groups.map(\.time) == sealed.map { try LogBody.decode($0).groups[0].time })
            try await left.execute("INSERT INTO person (id) VALUES ('c')")
            try await settle(left, right)
            #expect(try await logs(devices[0]).map(\.header.sequence) == [1, 2])
            let name = LogFileName(sequence: 1, hash: ContentHash(of: LogFile.encode(log.header, body: Array(log.body))))
            #expect(try await logs(devices[0])[1].header.predecessor == name.hash)
            #expect(try await right.rows() == left.rows())
            #expect(try await right.rows().map { $0[0] } == ["'a'", "'c'"])
        }
    }

    @Test("S-120: waiting saves go out by themselves once they come to the size, and once the delay is over")
    func limits() async throws {
        try await withDevices(2) { devices, _ in
            for coalescing in [Coalescing(maximumDelay: .seconds(3600), maximumSize: 3000), Coalescing(maximumDelay: .milliseconds(20))] {
                let left = try await open(devices[0], coalescing, automatically: true)
                let right = try await devices[1].open(automatically: true)
                let notices = right.notices.limited().makeAsyncIterator()
                try await left.execute("INSERT OR REPLACE INTO person (id, first) VALUES ('a', ?)", [String(repeating: "x", count: 4000)])
                try await left.execute("DELETE FROM person")
                try await left.execute("INSERT INTO person (id, first) VALUES ('last', ?)", [String(repeating: "x", count: 4000)])
                var hasArrived = false
                while !hasArrived, let notice = try await notices.next() {
                    if case .didImport(let changes) = notice {
                        hasArrived = changes.inserted.contains(ObjectID(table: "person", key: [.text("last")]))
                    }
                }
                try await left.execute("DELETE FROM person")
                try await left.settled()
                try await right.settled()
                try await left.close()
                try await right.close()
            }
        }
    }

    @Test("a save waits for the next while the delay is not over, though the store exchanges meanwhile")
    func waits() async throws {
        try await withDevices(2) { devices, _ in
            let left = try await open(devices[0], Coalescing(maximumDelay: .seconds(3600)), automatically: true)
            let right = try await devices[1].open()
            let notices = left.notices.limited().makeAsyncIterator()
            func arrives(_ id: String) async throws {
                try await right.execute("INSERT INTO person (id) VALUES (?)", [id])
                try await right.publish()
                while let notice = try await notices.next() {
                    guard case .didImport(let changes) = notice else { continue }
                    if changes.inserted.contains(ObjectID(table: "person", key: [.text(id)])) { return }
                }
            }
            // The first exchange lets go what an earlier process left.
            try await arrives("first")
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            // An exchange publishes before it imports.
            try await arrives("second")
            #expect(try await logs(devices[0]).isEmpty)
            #expect(try await left.sealedLogs().count == 1)
            try await left.close()
        }
    }

    @Test("a log takes the next only of the same author and the same schema")
    func takes() throws {
        let (peer, other) = (PeerIdentifier(account: "alice", uuid: UUID()), PeerIdentifier(account: "alice", uuid: UUID()))
        var merger = LogMerger()
        #expect(merger.takes(try log(peer, "v1")))
        try merger.add(try log(peer, "v1"))
        #expect(merger.takes(try log(peer, "v1")))
        #expect(!merger.takes(try log(other, "v1")))
        #expect(!merger.takes(try log(peer, "v2")))
    }

    @Test("a log of several saves says what the author knew at the last of them")
    func news() throws {
        let (peer, other) = (PeerIdentifier(account: "alice", uuid: UUID()), PeerIdentifier(account: "alice", uuid: UUID()))
        var merger = LogMerger()
        for sequence in [Int64(3), 4] {
            let position = Knowledge.Position(sequence: sequence, hash: ContentHash(of: [UInt8(sequence)]))
            try merger.add(try log(peer, "v1", news: Knowledge([sequence == 3 ? peer : other: position])))
        }
        #expect(merger.finish(sequence: 1, predecessor: nil).header.news.heads.keys.sorted() == [peer, other].sorted())
    }

    private func log(_ peer: PeerIdentifier, _ schema: String, news: Knowledge = Knowledge()) throws -> LogFile {
        let header = LogHeader(
            peer: peer, contentName: "People", epoch: 1, sequence: 1, predecessor: nil, news: news, schema: schema,
            created: Date(timeIntervalSince1970: 0), saves: 1, changes: 0)
        return try LogFile(decoding: LogFile.encode(header, body: LogBody.Contents().encoded()))
    }

    @Test("a log of several saves is cut at the size; what an earlier process left waiting goes out at the next opening")
    func cut() async throws {
        try await withDevices(1) { devices, _ in
            let coalescing = Coalescing(maximumDelay: .seconds(3600), maximumSize: 3000)
            var store = try await open(devices[0], coalescing)
            for index in 0..<5 {
                try await store.execute("INSERT INTO person (id, first) VALUES (?, ?)", ["\(index)", String(repeating: "x", count: 900)])
            }
            try await store.close()
            store = try await open(devices[0], coalescing, automatically: true)
            try await until("all has gone out", seen: { "\(try await store.status().unpublished) logs that have not" }) {
                try await store.status().unpublished == 0
            }
            let logs = try await logs(devices[0])
            #expect(logs.map(\.header.saves) == [2, 2, 1])
            #expect(logs.map(\.header.sequence) == [1, 2, 3])
            try await store.close()
        }
    }

    @Test("what has been let go is never written again: a crash before it is forgotten leaves one log, not two")
    func letGo() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0], Coalescing(maximumDelay: .seconds(3600)))
            try await store.execute("INSERT INTO person (id) VALUES ('a')")
            let pool = try DatabasePool(path: store.file.string)
            try await pool.write { db in try Outbox.close(maximumSize: 1 << 20, db) }
            try pool.close()
            let first = try await store.sealedLogs()[0]
            try await store.execute("INSERT INTO person (id) VALUES ('b')")
            try await store.execute("INSERT INTO person (id) VALUES ('c')")
            try await store.publish()
            let logs = try await logs(devices[0])
            #expect(logs.map(\.header.saves) == [1, 2])
            #expect(logs[0].header == first.header)
        }
    }
}
