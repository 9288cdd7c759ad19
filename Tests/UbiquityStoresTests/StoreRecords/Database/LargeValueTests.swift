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

/// Values that go out in files of their own.
struct LargeValueTests {
    private func open(_ device: TestDevice, limit: Int = 1000) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
        options.advanced.largeValueSize = limit
        return try await UbiquitousStore.open(
            at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: personSchema,
            now: { [clock = device.clock] in clock.now })
    }

    /// The files of large values, by their names.
    private func values(_ device: TestDevice, of peer: PeerIdentifier? = nil) async throws -> [String: FilePath] {
        let container = try await device.container()
        let directory = container.path.appending("CoreData/People/\(peer ?? container.peer)/1/values")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
        return Dictionary(uniqueKeysWithValues: names.map { ($0, directory.appending($0)) })
    }

    private let text = String(repeating: "äöü", count: 400)
    private let blob = Data((0..<5000).map { UInt8(truncatingIfNeeded: $0 * 7) })

    @Test("a text or blob over the limit goes out in a file of its own, once, named by its hash, and arrives byte for byte with its type")
    func roundTrip() async throws {
        try await withDevices(2) { devices, _ in
            let (left, right) = try await (open(devices[0]), open(devices[1]))
            try await left.execute("INSERT INTO person VALUES ('a', ?, 'small', ?, 1)", [text, blob])
            try await left.execute("INSERT INTO person VALUES ('b', ?, NULL, ?, 2)", [String(repeating: "x", count: 1000), blob])
            try await left.execute("UPDATE person SET age = ? WHERE id = 'b'", [Data(text.utf8)])
            let sizes = try await left.sealedLogs().map { LogFile.encode($0.header, body: Array($0.body)).count }
            #expect(sizes[0] < 700 && sizes[2] < 700)
            try await settle(left, right)
            let files = try await values(devices[0])
            let hashes = [Array(text.utf8), Array(blob)].map { ContentHash(of: $0).description }
            #expect(Set(files.keys) == Set(hashes))
            #expect(try Data(contentsOf: URL(filePath: try #require(files[hashes[1]]).string)) == blob)
            let types = "SELECT id, typeof(first), hex(first), typeof(email), hex(email), typeof(age), hex(age) FROM person ORDER BY id"
            #expect(try await right.rows(types) == left.rows(types))
            #expect(try await left.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM ubiquity_value") } == 0)
        }
    }

    @Test("a log waits, counted and named, while a value that it names is missing, truncated or damaged; other logs go on")
    func waits() async throws {
        try await withDevices(3) { devices, root in
            let (left, other, right) = try await (open(devices[0]), open(devices[1]), open(devices[2]))
            try await left.execute("INSERT INTO person (id, email) VALUES ('a', ?)", [blob])
            try await left.execute("INSERT INTO person (id) VALUES ('b')")
            try await left.publish()
            try await other.execute("INSERT INTO person (id) VALUES ('c')")
            try await other.publish()
            let file = try #require(try await values(devices[0]).values.first)
            let log = try FileManager.default.contentsOfDirectory(atPath: file.removingLastComponent().removingLastComponent().string)
                .filter { $0.hasSuffix(".ublog") }.sorted()[0]
            var altered = blob
            altered[17] ^= 1
            for (content, isDamaged) in [(nil, false), (blob.prefix(100), true), (altered, true)] as [(Data?, Bool)] {
                try FileManager.default.removeItem(atPath: file.string)
                try content?.write(to: URL(filePath: file.string))
                try await right.settled()
                #expect(try await right.rows().map { $0[0] } == ["'c'"])
                let waiting = try await right.status().waiting
                let peer = try await left.status().peer.description
                #expect(
                    waiting == [
                        WaitingPeer(
                            peer: peer, sequence: 1,
                            reason: .files([
                                AwaitedFile(
                                    peer: peer, sequence: nil, hash: ContentHash(of: Array(blob)).description, isDamaged: isDamaged, log: log)
                            ]),
                            logs: 2)
                    ])
                if content == nil { try Data().write(to: URL(filePath: file.string)) }
            }
            try blob.write(to: URL(filePath: file.string))
            try await right.settled()
            #expect(try await right.rows().map { $0[0] } == ["'a'", "'b'", "'c'"])
            #expect(try await right.status().waiting.isEmpty)
        }
    }

    @Test("a value that was published under the identifier of before is found by those who read the log that was written anew")
    func renewed() async throws {
        try await withDevices(2) { devices, root in
            let left = try await open(devices[0])
            let right = try await open(devices[1])
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            let parent = devices[0].directory.removingLastComponent()
            try FileManager.default.copyItem(atPath: devices[0].directory.string, toPath: parent.appending("copy").string)
            let copied = try TestDevice("copy", in: parent, root: root)
            let clone = try await open(copied)
            try await clone.execute("INSERT INTO person (id, email) VALUES ('large', ?)", [blob])
            let old = try await clone.status().peer
            // Its value has gone out, and a crash came before its log.
            let directory = try await copied.container().path.appending("CoreData/People/\(old)/1/values")
            try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            try blob.write(to: URL(filePath: directory.appending(ContentHash(of: Array(blob)).description).string))
            try await clone.write { db in try LargeValues.clear(through: .max, db) }
            try await left.execute("INSERT INTO person (id) VALUES ('b')")
            try await left.publish()
            try await settle(clone, right, left)
            #expect(try await clone.status().peer != old)
            for store in [left, right, clone] {
                #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"], ["large"]])
                #expect(try await store.read { db in try Data.fetchOne(db, sql: "SELECT email FROM person WHERE id = 'large'") } == blob)
            }
        }
    }

    @Test("a key is never in a file of its own, and a malformed reference is refused")
    func malformed() throws {
        var writer = WireWriter()
        writer.large(LargeValue(isText: true, length: 5, hash: ContentHash(of: [1])))
        var reader = WireReader(writer.bytes[...])
        #expect(throws: WireReader.Fault.self) { try reader.recordValue() }
        reader = WireReader(writer.bytes[...])
        #expect(try reader.recordValue { .integer(Int64($0.length)) } == .integer(5) && reader.isAtEnd)
        for count in 0..<writer.bytes.count {
            var cut = WireReader(writer.bytes[..<count])
            #expect(throws: WireReader.Fault.self) { try cut.recordValue { _ in .null } }
        }
        var foreign = writer.bytes
        foreign[1] = 1
        var huge = WireWriter()
        huge.large(LargeValue(isText: false, length: LargeValue.limit + 1, hash: ContentHash(of: [1])))
        for bytes in [foreign, huge.bytes] {
            reader = WireReader(bytes[...])
            #expect(throws: WireReader.Fault.self) { try reader.recordValue { _ in .null } }
        }
    }
}
