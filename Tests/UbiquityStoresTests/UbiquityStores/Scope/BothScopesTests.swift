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

/// What a store has in a container of one account and in one of many accounts alike, and in what the two differ.
struct BothScopesTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    private static func record(_ device: PublicDevice, _ id: String) -> ObjectID {
        ObjectID(table: "score", key: [.text(device.name), .text(id)])
    }

    @Test("S-149, P-01: a public store lists its changes and announces its imports, whether it reads a directory or a place")
    func history() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            let readers = [try await world.reader("near").open(), try await world.placeReader("far").open()]
            func exchange() async throws {
                try await settle(store, owner)
                _ = try await owner.publishPlace(to: world.published)
                for reader in readers { try await reader.settled() }
            }
            try await settle(store, owner)
            for id in ["changed", "deleted"] { try await store.execute(Self.insert(ann, id, 1)) }
            try await exchange()
            var tokens: [ChangeToken] = []
            for reader in readers { tokens.append(try await reader.currentChangeToken) }
            let own = try await store.currentChangeToken
            let notices = readers.map { $0.notices.limited().makeAsyncIterator() }
            try await store.execute("\(Self.insert(ann, "new", 2)); UPDATE score SET points = 3 WHERE id = 'changed'")
            try await store.execute("DELETE FROM score WHERE id = 'deleted'")
            let saved = try await store.changes(since: own)
            let words = saved.words.sorted()
            #expect(words == ["+\(Self.record(ann, "new"))", "-\(Self.record(ann, "deleted"))", "~\(Self.record(ann, "changed")) points"].sorted())
            #expect(saved.transactions.allSatisfy { $0.origin == .save })
            try await exchange()
            for (place, reader) in readers.enumerated() {
                let imported = try await reader.changes(since: tokens[place])
                #expect(imported.words.sorted() == words, "\(place)")
                let author = try ann.peer
                #expect(imported.transactions.allSatisfy { $0.origin == .sync && $0.author?.peer == author }, "\(place)")
                var told: Set<ObjectID> = []
                while told.count < 3, let notice = try await notices[place].next() {
                    guard case .didImport(let changes) = notice else { continue }
                    told.formUnion(changes.inserted.union(changes.updated).union(changes.deleted))
                }
                #expect(told == Set(["new", "changed", "deleted"].map { Self.record(ann, $0) }), "\(place)")
            }
            for store in [store, owner] + readers { try await store.close() }
        }
    }

    @Test("S-158, P-04: canUpdate, canDelete and canModify answer from memory, follow the account while open, and are true in a plain store")
    func rights() async throws {
        try await PublicWorld.with { world in
            var ann = world.reader("ann")
            let meter = SQLiteMeter(below: ann.directory)
            let looks = Mutex(0)
            let files = HookedFileLayer { (_, _, _) throws(Errno) in looks.withLock { $0 += 1 } }
            var options = UbiquitousStore.Options(contentName: "Game", exchangesAutomatically: false)
            options.scope = ann.scope
            let store = try await UbiquitousStore.open(
                at: ann.directory.appending("Game.sqlite"), options: options, home: ann.home, schema: PublicDevice.schema,
                now: { [clock = ann.clock] in clock.now }, files: files)
            /// The answers for an own record, one of somebody else, a template and the store, and what they cost.
            func answers() -> (answers: [Bool], cost: Int) {
                meter.reset()
                let before = looks.withLock { $0 }
                let own = ObjectID(table: "score", key: [.text(ann.account?.description ?? ""), .text("a")])
                let records = [own, Self.record(world.owner, "a"), ObjectID(table: "template", key: [.text("t")])]
                let answers = records.flatMap { [store.canUpdate($0), store.canDelete($0)] } + [store.canModify]
                return (answers, meter.runs.count + meter.connections.count + looks.withLock { $0 } - before)
            }
            try await store.settled()
            #expect(answers() == ([false, false, false, false, false, false, false], 0))
            ann.account = try ann.registration.createAccount(in: world.container)
            #expect(answers() == ([false, false, false, false, false, false, false], 0))
            let notices = store.notices.limited().makeAsyncIterator()
            try await store.settled()
            #expect(answers() == ([true, true, false, false, false, false, true], 0))
            while let notice = try await notices.next() { if case .didChangeRights = notice { break } }
            try await store.close()
        }
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            for account in ["alice", nil, "bob"] {
                if let account { try devices[0].home.signIn(AccountName(account), containers: root) } else { try devices[0].home.signOut() }
                try await store.settled()
                #expect(store.canUpdate(.person("a")) && store.canDelete(.person("a")) && store.canModify, "\(account ?? "nobody")")
            }
            try await store.close()
        }
    }

    @Test("S-161: a private import is one event, which names what has arrived: nothing is listed more than once, and each log is read once")
    func event() async throws {
        try await withDevices(2) { devices, _ in
            let writer = try await devices[0].open(baselines: nil)
            try await writer.insert("first")
            try await writer.publish()
            let peer = try await writer.status().peer.description
            let counts = Mutex((listings: 0, reads: 0))
            let files = HookedFileLayer { (operation, path, _) throws(Errno) in
                guard path.string.contains(peer) else { return }
                counts.withLock { counts in
                    if operation == .names { counts.listings += 1 }
                    if operation == .read, path.extension == "ublog" { counts.reads += 1 }
                }
            }
            var options = UbiquitousStore.Options(contentName: "People")
            options.advanced.baselines = nil
            let reader = try await UbiquitousStore.open(
                at: devices[1].directory.appending("People.sqlite"), options: options,
                in: UbiquityContainer("org.example.test", home: devices[1].home, files: files), schema: personSchema)
            try await reader.settled()
            try await until("the reader has the first record") { try await reader.keys() == ["first"] }
            let notices = reader.notices.limited().makeAsyncIterator()
            counts.withLock { $0 = (0, 0) }
            try await writer.insert("second")
            try await writer.publish()
            while let notice = try await notices.next() {
                if case .didImport(let changes) = notice, changes.inserted == [.person("second")] { break }
            }
            let seen = counts.withLock { $0 }
            // Its logs, its receipts and its baselines at most.
            #expect(seen.reads == 1 && seen.listings <= 3, "\(seen)")
            for store in [writer, reader] { try await store.close() }
        }
    }

    @Test("S-165: a private deletion leaves the record's type and key with its life, and nothing else, on every device, also on one that comes later")
    func tombstone() async throws {
        try await withDevices(3) { devices, _ in
            let (first, second) = (try await devices[0].open(), try await devices[1].open())
            try await first.insert("a", first: "a secret")
            try await settle(first, second)
            try await second.execute("DELETE FROM person WHERE id = 'a'")
            let logs = try await second.sealedLogs()
            #expect(try logs.flatMap { try $0.changes } == ["person/a 2"])
            try await settle(second, first)
            let third = try await devices[2].open()
            try await settle(third, first, second)
            for store in [first, second, third] {
                #expect(try await store.keys() == [])
                #expect(try await store.rows("SELECT k0, quote(life) FROM ubiquity_dead_1") == [["a", "2"]])
                #expect(try await store.rows("SELECT rid FROM ubiquity_clock_1").isEmpty)
                try await store.close()
            }
        }
    }

    @Test("S-167: a scope says whether it is a directory or a place, and an import reads that and nothing of the other")
    func methods() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            try await owner.execute("INSERT INTO template VALUES ('a', 'A')")
            try await owner.settled()
            let (near, far) = (world.reader("near"), world.placeReader("far"))
            #expect(!near.scope.isPlace && far.scope.isPlace)
            // There is no place yet.
            let listing = try await near.open()
            try await listing.settled()
            #expect(try await listing.game == ["a=A"])
            let listed = try await listing.status()
            #expect(listed.place == nil && listed.freshAsOf == nil)
            _ = try await owner.publishPlace(to: world.published)
            // There is no directory any more.
            try await owner.close()
            try await listing.close()
            try FileManager.default.removeItem(atPath: world.root.string)
            let polling = try await far.open()
            try await polling.settled()
            #expect(try await polling.game == ["a=A"])
            let polled = try await polling.status()
            #expect(polled.place?.read == 1 && polled.freshAsOf != nil)
            try await polling.close()
        }
    }
}
