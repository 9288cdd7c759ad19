import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Lives that nobody can have lived, and those that somebody has.
struct LifeLimitTests {
    private static let ids = "SELECT id FROM person ORDER BY id"

    /// Writes the first log of a peer that is no store: it deletes a record.
    private func forge(_ root: FilePath, deleting key: String, life: Int64) throws {
        let peer = try #require(PeerIdentifier("alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6"))
        var rows = WireWriter()
        rows.varint(UInt64(life))
        rows.recordValue(.text(key))
        var body = LogBodyBuilder()
        body.add(LogBody.Table(name: "person", keyColumns: ["id"], columns: ["first", "last", "email", "age"]), count: 1, rows: rows)
        let header = LogHeader(
            peer: peer, contentName: "People", epoch: 1, sequence: 1, predecessor: nil, news: Knowledge(), schema: "v1", created: Date(), saves: 1,
            changes: 1)
        let bytes = LogFile.encode(header, body: body.encoded(time: HybridTime(Date())))
        let directory = root.appending("alice/org.example.test/CoreData/People/\(peer)/1")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        let name = LogFileName(sequence: 1, hash: ContentHash(of: bytes))
        try Data(bytes).write(to: URL(filePath: directory.appending(name.description).string))
    }

    /// The one baseline of a content, changed by SQL and under the name that it has then.
    private func forgeBaseline(_ root: FilePath, _ sql: String) throws {
        let content = root.appending("alice/org.example.test/CoreData/People")
        let names = FileManager.default.enumerator(atPath: content.string)!.compactMap { $0 as? String }
        let whole = content.appending(try #require(names.first { $0.hasSuffix(".ubbaseline") }))
        let draft = root.appending("draft")
        try FileManager.default.moveItem(atPath: whole.string, toPath: draft.string)
        try sqlite3(draft, sql)
        let name = BaselineName(sequence: 1, hash: try ContentHash(ofFile: draft))
        try FileManager.default.moveItem(atPath: draft.string, toPath: whole.removingLastComponent().appending("\(name)").string)
    }

    @Test(
        "a forged deletion of a life that no history has is quarantined with its reason: the record stays, and can be deleted and inserted as ever",
        arguments: [1_000_000, 1 << 32, 1 << 61])
    func forged(life: Int64) async throws {
        try await withDevices(2) { devices, root in
            let (first, second) = try await (devices[0].open(), devices[1].open())
            try await first.execute("INSERT INTO person (id) VALUES ('a')")
            try await first.settled()
            try forge(root, deleting: "a", life: life)
            try await settle(second, first)
            for store in [first, second] {
                #expect(try await store.rows(Self.ids) == [["a"]])
                let quarantined = try await store.status().quarantined
                #expect(quarantined.map(\.kind) == [.refused] && quarantined.first?.record == "person/t:a")
                #expect(quarantined.first?.reason.contains("an impossible number of lives") == true)
            }
            try await second.execute("DELETE FROM person")
            try await settle(second, first)
            #expect(try await first.rows(Self.ids) == [])
            try await first.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(first, second)
            #expect(try await second.rows(Self.ids) == [["a"]])
        }
    }

    @Test(
        "a forged life that a history could have harms nobody for long: what brings the record back is within every store's limit, by log and by baseline"
    )
    func withinTheLimit() async throws {
        try await withDevices(4) { devices, root in
            let (first, second) = try await (devices[0].open(), devices[1].open())
            try await first.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(first, second)
            try await first.rollBaseline()
            let limit = try await first.read { db in LifeLimit(try StoreKnowledge.all(StoreState.read(db), db)).last }
            try forgeBaseline(root, "INSERT INTO dead_1 VALUES ('z', \(limit))")
            // This one begins from the forged baseline; the others hold all of its logs already, and never look into it.
            let third = try await devices[2].open()
            try await third.settled()
            #expect(try await third.rows(Self.ids) == [["a"]])
            for round in 0..<3 {
                try await third.execute("INSERT INTO person (id, age) VALUES ('z', \(round))")
                try await settle(third, first, second)
                for store in [first, second] { #expect(try await store.rows(Self.ids) == [["a"], ["z"]]) }
                try await second.execute("DELETE FROM person WHERE id = 'z'")
                try await settle(second, third)
                #expect(try await third.rows(Self.ids) == [["a"]])
            }
            try await third.execute("INSERT INTO person (id) VALUES ('z')")
            try await third.rollBaseline()
            try await settle(third, first, second)
            let fourth = try await devices[3].open()
            try await settle(fourth, first, second, third)
            for store in [first, second, third, fourth] {
                #expect(try await store.rows(Self.ids) == [["a"], ["z"]])
                #expect(try await store.status().quarantined.isEmpty)
            }
        }
    }

    @Test(
        "a key that is deleted and inserted again and again, in one save, in many, in logs of many, and on two devices at once, is refused by nobody")
    func churn() async throws {
        try await withDevices(4) { devices, root in
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.advanced.coalescing = Coalescing(maximumDelay: .seconds(1000))
            func open(_ device: TestDevice) async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: personSchema)
            }
            let (first, second) = try await (open(devices[0]), open(devices[1]))
            try await settle(first, second)
            for store in [first, second] {
                // A loop within one save is one life later at most.
                try await store.write { db in
                    for round in 0..<500 {
                        try db.execute(sql: "INSERT INTO person (id, age) VALUES ('a', \(round)); DELETE FROM person")
                    }
                    try db.execute(sql: "INSERT INTO person (id, age) VALUES ('a', 500)")
                }
                #expect(try await store.sealedLogs().last?.changes == ["person/a 1 age=500"])
                for round in 0..<100 {
                    try await store.execute("DELETE FROM person; INSERT INTO person (id, age) VALUES ('a', \(round))")
                    try await store.execute("DELETE FROM person")
                    try await store.execute("INSERT INTO person (id, age) VALUES ('a', -1)")
                }
                try await store.publish()
            }
            try await settle(first, second)
            let third = try await devices[2].open()
            try await third.settled()
            try await first.rollBaseline()
            let fourth = try await devices[3].open()
            try await settle(fourth, third, first, second)
            for store in [first, second, third, fourth] {
                #expect(try await store.rows("SELECT id, age FROM person") == [["a", "-1"]])
                #expect(try await store.status().quarantined.isEmpty)
                #expect(try await store.status().waiting.isEmpty)
            }
        }
    }

    @Test("the limit grows by more than one log can take, and no log is merged of more saves than it counts with")
    func growth() throws {
        let peer = PeerIdentifier(account: "alice", uuid: UUID())
        var limit = LifeLimit(Knowledge())
        #expect(limit.last == 1 << 17)
        let before = limit.last
        limit.add(1)
        #expect(limit.last - before == 2 * LogMerger.mostSaves)
        limit.add(.max)
        #expect(limit.last == 1 << 60)
        let far = Knowledge.Position(sequence: Knowledge.Position.lastSequence, hash: ContentHash(of: []))
        #expect(LifeLimit(Knowledge([peer: far])).last < 1 << 60)
        func log(saves: Int64) throws -> LogFile {
            let header = LogHeader(
                peer: peer, contentName: "c", epoch: 1, sequence: 1, predecessor: nil, news: Knowledge(), schema: "", created: Date(), saves: saves,
                changes: 0)
            return try LogFile(decoding: LogFile.encode(header, body: []))
        }
        var merger = LogMerger()
        try merger.add(log(saves: LogMerger.mostSaves - 1))
        let (one, two) = (try log(saves: 1), try log(saves: 2))
        #expect(merger.takes(one) && !merger.takes(two))
    }
}
