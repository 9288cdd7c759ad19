import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Saves of many megabytes: several logs of one stamp, which others join together.
struct LargeSaveTests {
    private static let megabyte = 1 << 20

    private let schema = SyncedSchema(
        migrator: migrator("CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, place INTEGER UNIQUE, cover BLOB)")
    ) {
        SyncedTable("song", unique: [["place"]])
    }

    /// Inserts songs whose covers have nearly a megabyte each.
    private func insert(_ songs: Range<Int>, into store: UbiquitousStore) async throws {
        try await store.write { db in
            for song in songs {
                try db.execute(sql: "INSERT INTO song VALUES (printf('%03d', ?), ?, zeroblob(1000000))", arguments: [song, song])
            }
        }
    }

    private func directory(_ root: FilePath, _ peer: PeerIdentifier) -> FilePath {
        root.appending("alice/org.example.test/CoreData/People/\(peer)/1")
    }

    /// The logs in a peer's directory, by name, in order.
    private func logs(in directory: FilePath) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasSuffix(".ublog") }.sorted()
    }

    private func header(_ log: FilePath) throws -> LogHeader { try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: log.string)))).header }

    @Test("a save of many megabytes is several logs of one stamp and of some megabytes each, sealed together, and no buffer holds more than one")
    func parts() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = try await (devices[0].open(schema), devices[1].open(schema))
            try await settle(store, other)
            try await insert(0..<15, into: store)
            let sealed = try await store.sealedLogs()
            #expect(sealed.map(\.header.part) == [0, 1, 2] && sealed.map(\.header.goesOn) == [true, true, false])
            #expect(sealed.map(\.header.saves).reduce(0, +) == 1 && sealed.map(\.header.changes).reduce(0, +) == 15)
            #expect(sealed.allSatisfy { $0.body.count <= 5 * Self.megabyte })
            #expect(Set(try sealed.flatMap { try LogBody.decode($0).groups.map(\.time) }).count == 1)
            // What is published at once has no more bytes than one log.
            let first = try await store.read { db in try Outbox.first(64, bytes: 4 << 20, db) }
            #expect(first.count == 1)
            try await store.settled()
            let state = try await other.read { db in try StoreState.read(db) }
            let layout = ContentLayout(container: try await devices[1].container().path, content: "People")
            let plan = try await other.read { db in
                var inventory = try ContentInventory(listing: layout, epoch: 1, register: LogRegister(own: state.peer, db), files: LinuxFileLayer())
                let reader = LogReader(layout: layout, contentName: "People", epoch: 1, shapes: other.current.file.shapes, files: LinuxFileLayer())
                return try ImportPlanner(reader: reader).plan(&inventory, db)
            }
            #expect(plan.ready.count == 3 && plan.ready.allSatisfy { $0.isLight && $0.log.body.isEmpty && $0.contents.groups.isEmpty })
            try await other.settled()
            #expect(try await other.rows("SELECT count(*), sum(length(cover)) FROM song") == [["15", "15000000"]])
            #expect(try await other.status().waiting.isEmpty)
        }
    }

    @Test("other devices show a save of several logs whole or not at all, whichever logs arrive first, and find no two records equal between")
    func together() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = try await (devices[0].open(schema), devices[1].open(schema))
            try await insert(0..<12, into: store)
            try await settle(store, other)
            let peer = try await store.status().peer
            let before = try logs(in: directory(root, peer)).count
            // Each place is another song's before.
            try await store.execute("UPDATE song SET place = place + 1000, cover = zeroblob(999999); UPDATE song SET place = place - 999")
            try await store.settled()
            let parts = try logs(in: directory(root, peer)).dropFirst(before).map { directory(root, peer).appending($0) }
            try #require(parts.count == 3)
            let sequences = parts.map { LogFileName($0.lastComponent!.string)!.sequence }
            let aside = root.removingLastComponent().appending("aside")
            try FileManager.default.createDirectory(atPath: aside.string, withIntermediateDirectories: true)
            for part in parts { try FileManager.default.moveItem(atPath: part.string, toPath: aside.appending(part.lastComponent!).string) }
            for (index, awaited) in [(2, 0), (0, 1)] {
                let name = parts[index].lastComponent!
                try FileManager.default.moveItem(atPath: aside.appending(name).string, toPath: parts[index].string)
                try await other.settled()
                #expect(try await other.rows("SELECT sum(place), sum(length(cover)) FROM song") == [["66", "12000000"]])
                #expect(try await other.status().waiting.flatMap(\.awaited).map(\.sequence) == [sequences[awaited]])
            }
            try FileManager.default.moveItem(atPath: aside.appending(parts[1].lastComponent!).string, toPath: parts[1].string)
            try await other.settled()
            #expect(try await other.rows("SELECT sum(place), sum(length(cover)) FROM song") == [["78", "11999988"]])
            #expect(try await other.duplicates().isEmpty)
            #expect(try await other.status().waiting.isEmpty)
        }
    }

    @Test("a log of a large save that is damaged, or refused, holds back all of that save and what follows it, and nothing of other peers")
    func damagedPart() async throws {
        try await withDevices(3) { devices, root in
            let (store, good, other) = try await (devices[0].open(schema), devices[1].open(schema), devices[2].open(schema, baselines: nil))
            try await insert(0..<8, into: store)
            try await store.publish()
            try await good.execute("INSERT INTO song VALUES ('good', 500, NULL)")
            try await good.publish()
            let peer = try await store.status().peer
            let last = directory(root, peer).appending(try #require(try logs(in: directory(root, peer)).last))
            let whole = try Data(contentsOf: URL(filePath: last.string))
            try whole.dropLast().write(to: URL(filePath: last.string))
            try await other.settled()
            #expect(try await other.rows("SELECT id FROM song") == [["good"]])
            let status = try await other.status()
            #expect(status.quarantined.map(\.file) == [last.lastComponent!.string])
            #expect(status.waiting.flatMap(\.awaited).map(\.isDamaged) == [true])
            try whole.write(to: URL(filePath: last.string))
            try await other.settled()
            #expect(try await other.rows("SELECT count(*) FROM song") == [["9"]])
        }
    }

    @Test("a large save of a device that goes on under another identifier arrives whole, though a part of it lay there under the old one")
    func renewed() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = try await (devices[0].open(schema), devices[1].open(schema))
            try await store.execute("INSERT INTO song VALUES ('a', -1, NULL)")
            try await settle(store, other)
            let old = try await store.status().peer
            let before = try logs(in: directory(root, old)).count
            try await insert(0..<8, into: store)
            // A crash came after the first of two logs; then another copy of the store had used the identifier.
            let sealed = try await store.read { db in try Outbox.first(1, bytes: 1, db) }
            try Data(sealed[0].bytes).write(to: URL(filePath: directory(root, old).appending(sealed[0].name.description).string))
            let first = directory(root, old).appending(try #require(try logs(in: directory(root, old)).first))
            let log = try LogFile(decoding: [UInt8](Data(contentsOf: URL(filePath: first.string))))
            var altered = log.header
            altered.created = Date(timeIntervalSince1970: 1)
            let forked = LogFile.encode(altered, body: Array(log.body))
            let name = LogFileName(sequence: altered.sequence, hash: ContentHash(of: forked))
            try Data(forked).write(to: URL(filePath: directory(root, old).appending(name.description).string))
            try await settle(store, other)
            let new = try await store.status().peer
            #expect(new != old && before > 0)
            #expect(try await other.rows("SELECT count(*), sum(length(cover)) FROM song") == [["9", "8000000"]])
            // Behind them lies that the old identifier is retired.
            #expect(try logs(in: directory(root, new)).prefix(2).map { try header(directory(root, new).appending($0)).part } == [0, 1])
        }
    }

    @Test("what was saved in one large save while signed out is joined to the account's as one save")
    func signedOut() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open(schema)
            try await other.settled()
            try devices[0].home.signOut()
            let options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, container: "org.example.test", home: devices[0].home,
                schema: schema)
            try await insert(0..<10, into: store)
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            try await store.settled()
            try await other.settled()
            #expect(try await other.rows("SELECT count(*), sum(length(cover)) FROM song") == [["10", "10000000"]])
            let own = directory(root, try await store.status().peer)
            #expect(try logs(in: own).map { try header(own.appending($0)).goesOn } == [true, false])
        }
    }

    @Test("logs that wait for more are merged, and the parts of a large save among them stay as they are")
    func coalesced() async throws {
        try await withDevices(2) { devices, _ in
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.advanced.coalescing = Coalescing(maximumDelay: .seconds(1000))
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, in: devices[0].container(), schema: schema)
            let other = try await devices[1].open(schema)
            try await store.settled()
            for id in ["a", "b"] { try await store.execute("INSERT INTO song (id) VALUES ('\(id)')") }
            try await insert(0..<9, into: store)
            for id in ["c", "d"] { try await store.execute("INSERT INTO song (id) VALUES ('\(id)')") }
            try await store.write { db in try Outbox.close(maximumSize: 1 << 20, db) }
            let sealed = try await store.sealedLogs()
            #expect(sealed.map(\.header.saves) == [2, 1, 0, 2])
            #expect(sealed.map(\.header.goesOn) == [false, true, false, false])
            try await settle(store, other)
            #expect(try await other.rows("SELECT count(*) FROM song") == [["13"]])
        }
    }
}
