import Foundation
import GRDB
import StoreExchange
import StoreFormat
import StoreRecords
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreAuthority
@testable import UbiquityStores

/// A public place in a directory: what a publisher writes, and what readers that list nothing take in.
struct PublicPlaceTests {
    private static func insert(_ device: PublicDevice, _ id: String, _ points: Int) -> String {
        "INSERT INTO score VALUES ('\(device.name)', '\(id)', \(points))"
    }

    @Test("P-01, S-148, S-152: a store whose scope is an address shows what the publisher's container has, with notices, and writes nothing")
    func reads() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await store.execute(Self.insert(ann, "a", 1))
            try await owner.execute("INSERT INTO template VALUES ('t', 'Title')")
            try await settle(store, owner)
            let first = try await owner.publishPlace(to: world.published)
            #expect(first.number == 1 && first.isNew && first.snapshots.isSuperset(of: ["score", "template"]))
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            #expect(try await reader.game == [score(ann, "a", 1), "t=Title"].sorted())
            await #expect(throws: DatabaseError.self) { try await reader.execute("INSERT INTO template VALUES ('x', 'X')") }

            try await store.execute(Self.insert(ann, "b", 2))
            try await store.execute("UPDATE score SET points = 3 WHERE id = 'a'")
            try await settle(store, owner)
            let second = try await owner.publishPlace(to: world.published)
            #expect(second.number == 2 && second.logs == 2 && second.snapshots.isEmpty)
            let notices = reader.notices.limited().makeAsyncIterator()
            try await reader.settled()
            #expect(try await reader.game == [score(ann, "a", 3), score(ann, "b", 2), "t=Title"].sorted())
            var imported: Set<ObjectID> = []
            while imported.count < 2, case .didImport(let import_) = try await notices.next() {
                imported.formUnion(import_.inserted.union(import_.updated))
            }
            #expect(Set(imported.map(\.table)) == ["score"])
            let status = try await reader.status()
            #expect(status.place?.head == 2 && status.place?.read == 2 && status.freshAsOf == second.made && status.place?.fault == nil)
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("Without news nothing is published, and a head is renewed in the second half of its time")
    func renewal() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            #expect(try await owner.publishPlace(to: world.published).isNew)
            #expect(try await !owner.publishPlace(to: world.published).isNew)
            world.owner.clock.advance(by: 4 * 86400)
            let renewed = try await owner.publishPlace(to: world.published)
            #expect(renewed.isNew && renewed.number == 2 && renewed.logs == 0)
            try await owner.close()
        }
    }

    @Test(
        "P-20: readers that are any number of heads behind, and one that begins, equal one that reads all logs",
        arguments: [UInt64(1), 2, 3])
    func distances(_ seed: UInt64) async throws {
        try await PublicWorld.with { world in
            var random = SeededRandom(seed: seed)
            let (ann, bob) = (try world.player("ann"), try world.player("bob"))
            let players = [(ann, try await ann.open()), (bob, try await bob.open())]
            let owner = try await world.owner.open()
            for (_, store) in players { try await settle(store, owner) }
            var readers: [UbiquitousStore] = []
            for turn in 0..<40 {
                let (device, store) = players.randomElement(using: &random)!
                let id = "r\(Int.random(in: 0..<6, using: &random))"
                switch Int.random(in: 0..<4, using: &random) {
                case 0: try await store.execute("DELETE FROM score WHERE player = '\(device.name)' AND id = '\(id)'")
                case 1: try await store.execute("UPDATE score SET points = points + 1 WHERE player = '\(device.name)' AND id = '\(id)'")
                default: try await store.execute("INSERT OR REPLACE INTO score VALUES ('\(device.name)', '\(id)', \(turn))")
                }
                try await settle(store, owner)
                _ = try await owner.publishPlace(to: world.published)
                if turn % 13 == 0 {
                    let reader = try await world.placeReader("reader\(turn)").open()
                    try await reader.settled()
                    #expect(try await reader.game == owner.game)
                    readers.append(reader)
                }
            }
            for reader in readers {
                try await reader.settled()
                #expect(try await reader.game == owner.game)
            }
            for store in players.map(\.1) + [owner] + readers { try await store.close() }
        }
    }

    @Test("P-21: an older head and another of the same number are refused, and what is shown stays; an expired one is dated")
    func ratchet() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            try await owner.execute("INSERT INTO template VALUES ('t', 'One')")
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            let first = try Data(contentsOf: URL(filePath: world.published.appending("head").string))
            try await owner.execute("UPDATE template SET title = 'Two'")
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            let device = world.placeReader("reader")
            let reader = try await device.open()
            try await reader.settled()
            #expect(try await reader.game == ["t=Two"])
            try first.write(to: URL(filePath: world.published.appending("head").string))
            let error = await #expect(throws: UbiquitousStoreError.self) { try await reader.settled() }
            #expect(error?.code == .unreachable && error?.description.contains("older than the head 2") == true)
            #expect(try await reader.game == ["t=Two"])
            #expect(try await reader.status().place?.isStale == false)
            device.clock.advance(by: 8 * 86400)
            #expect(try await reader.status().place?.isStale == true)
            for store in [owner, reader] { try await store.close() }
        }
    }

    @Test("P-21: the heads of another publisher, whose account holds the role, have numbers of their own")
    func otherPublisher() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(store, owner)
            for _ in 0..<3 {
                world.owner.clock.advance(by: 5 * 86400)
                _ = try await owner.publishPlace(to: world.published)
            }
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            #expect(try await reader.status().place?.head == 3)
            _ = try await owner.runner.signPolicy { $0.roles[PublishedHead.role, default: []].insert(account) }
            try await settle(store, owner)
            try await store.execute(Self.insert(ann, "b", 2))
            try await settle(store, owner)
            let other = world.directory.appending("other")
            #expect(try await store.publishPlace(to: other).number == 1)
            try FileManager.default.removeItem(atPath: world.published.string)
            try FileManager.default.copyItem(atPath: other.string, toPath: world.published.string)
            try await reader.settled()
            #expect(try await reader.game == [score(ann, "a", 1), score(ann, "b", 2)])
            #expect(try await reader.status().place?.head == 1)
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("P-22, S-166: a deletion reaches readers; the next snapshot holds neither the key nor a value of the record")
    func deletion() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await store.execute("INSERT INTO score VALUES ('\(ann.name)', 'unmistakable-key', 4711)")
            try await store.execute(Self.insert(ann, "stays", 1))
            try await settle(store, owner)
            _ = try await owner.publishPlace(to: world.published)
            let early = try await world.placeReader("early").open()
            try await early.settled()
            #expect(try await early.game.count == 2)
            try await store.execute("DELETE FROM score WHERE id = 'unmistakable-key'")
            try await settle(store, owner)
            world.owner.clock.advance(by: 2 * 86400)
            let edition = try await owner.publishPlace(to: world.published)
            #expect(edition.snapshots.contains("score"))
            try await early.settled()
            #expect(try await early.game == [score(ann, "stays", 1)])
            let late = try await world.placeReader("late").open()
            try await late.settled()
            #expect(try await late.game == [score(ann, "stays", 1)])
            for (path, _) in edition.head.paths {
                guard case .snapshot = path else { continue }
                let file = path.components.reduce(world.published) { $0.appending($1) }
                #expect(try Data(contentsOf: URL(filePath: file.string)).range(of: Data("unmistakable-key".utf8)) == nil)
            }
            for store in [store, owner, early, late] { try await store.close() }
        }
    }

    @Test("A late change of a deleted record brings it back to no reader, also to one that began with a snapshot")
    func lateChange() async throws {
        try await PublicWorld.with { world in
            let phone = try world.player("phone")
            let laptop = try world.device("laptop", of: phone)
            let (first, second, owner) = (try await phone.open(), try await laptop.open(), try await world.owner.open())
            try await settle(first, second, owner)
            try await first.execute(Self.insert(phone, "a", 1))
            try await settle(first, second, owner)
            // The laptop changes the record before it hears of the deletion.
            try await second.execute("UPDATE score SET points = 2")
            try await first.execute("DELETE FROM score")
            try await settle(first, owner)
            _ = try await owner.publishPlace(to: world.published)
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            try await settle(second, owner)
            _ = try await owner.publishPlace(to: world.published)
            try await reader.settled()
            #expect(try await owner.game == [])
            #expect(try await reader.game == [])
            // A record that begins again lives, everywhere.
            try await settle(first, second, owner)
            try await first.execute(Self.insert(phone, "a", 5))
            try await settle(first, second, owner)
            _ = try await owner.publishPlace(to: world.published)
            try await reader.settled()
            #expect(try await owner.game == [score(phone, "a", 5)])
            #expect(try await reader.game == [score(phone, "a", 5)])
            for store in [first, second, owner, reader] { try await store.close() }
        }
    }

    @Test("A removal reaches readers of a place with its base: what it cuts is not shown, what the base holds is")
    func removal() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let account = ann.account!
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            _ = try await owner.runner.signPolicy { $0.roles["editor"]?.insert(account) }
            try await settle(store, owner)
            try await store.execute("INSERT INTO template VALUES ('early', 'Ann')")
            try await settle(store, owner)
            _ = try await owner.publishPlace(to: world.published)
            let reader = try await world.placeReader("reader").open()
            try await reader.settled()
            _ = try await owner.runner.signPolicy { $0.roles["editor"]?.remove(account) }
            try await store.execute("INSERT INTO template VALUES ('late', 'Ann')")
            try await store.execute(Self.insert(ann, "b", 2))
            try await settle(store, owner)
            try await owner.execute("INSERT INTO template VALUES ('after', 'Owner')")
            try await settle(owner)
            _ = try await owner.publishPlace(to: world.published)
            try await reader.settled()
            let expected = ["after=Owner", "early=Ann", score(ann, "b", 2)].sorted()
            #expect(try await owner.game == expected)
            #expect(try await reader.game == expected)
            let late = try await world.placeReader("late").open()
            try await late.settled()
            #expect(try await late.game == expected)
            for store in [store, owner, reader, late] { try await store.close() }
        }
    }

    @Test("An account contributes through a directory of its own, and reads what everybody wrote from the place")
    func contributing() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            try await owner.execute("INSERT INTO template VALUES ('t', 'Title')")
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            var bob = world.placeReader("bob")
            bob.contributions = world.directory.appending("bob/own")
            bob.account = try await bob.scope.createAccount(home: bob.home)
            let store = try await bob.open()
            try await store.settled()
            #expect(try await store.game == ["t=Title"])
            #expect(store.account == bob.account && store.canModify)
            try await store.execute(Self.insert(bob, "mine", 9))
            try await store.settled()
            // Something carries the directory to the publisher, such as a synchroniser.
            try world.carry(from: world.directory.appending("bob/own"))
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            let reader = try await world.placeReader("reader").open()
            for store in [store, reader] {
                try await store.settled()
                #expect(try await store.game == [score(bob, "mine", 9), "t=Title"].sorted())
            }
            // The own record stays when the tables are filled again.
            try await store.execute(Self.insert(bob, "unpublished", 10))
            try await store.current.pool.write { db in try db.execute(sql: "DELETE FROM ubiquity_place") }
            try await owner.execute("UPDATE template SET title = 'Other'")
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            try await store.settled()
            #expect(try await store.game == [score(bob, "mine", 9), score(bob, "unpublished", 10), "t=Other"].sorted())
            for store in [owner, store, reader] { try await store.close() }
        }
    }

    @Test("What a removal's base lacks is published again: readers keep what a sibling wrote before the removal reached the publisher")
    func lateBase() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            _ = try await owner.publishPlace(to: world.published)
            var laptop = world.placeReader("laptop")
            let own = world.directory.appending("laptop/own")
            laptop.contributions = own
            laptop.account = try await laptop.scope.createAccount(home: laptop.home)
            let (container, account) = (world.container, laptop.account!)
            let registration = ScopeRegistration(home: laptop.home, root: own)
            let siblings = try ["phone", "stolen"].map { name in
                var device = world.reader(name)
                device.account = account
                try registration.admit(device.registration.prepareDevice(of: account, in: container), in: container)
                return device
            }
            try world.carry(from: own)
            let (store, phone) = (try await laptop.open(), try await siblings[0].open())
            let reader = try await world.placeReader("reader").open()
            func publish() async throws {
                try await settle(phone, owner)
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
                #expect(try await reader.game == owner.game)
            }
            try await settle(phone)
            try await phone.execute(Self.insert(siblings[0], "first", 1))
            try await publish()
            try await store.settled()
            try await phone.execute(Self.insert(siblings[0], "second", 2))
            try await publish()
            // The laptop has not asked the place again, so its base lacks the second record.
            try await store.runner.removeDevices([try siblings[1].peer])
            try world.carry(from: own)
            try await publish()
            #expect(try await reader.game == [score(laptop, "first", 1), score(laptop, "second", 2)])
            for store in [owner, store, phone, reader] { try await store.close() }
        }
    }

    @Test("A publisher without the role is refused with the command that gives it, and readers refuse its head")
    func withoutRole() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let store = try await ann.open()
            try await store.settled()
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await store.publishPlace(to: world.published) }
            #expect(error?.code == .unsupported && error?.description.contains("ubcontrol public grant") == true)
            try await store.close()
        }
    }

    @Test("Damaged, missing and foreign files of a place are named, nothing of them is shown, and whole ones are read later")
    func damage() async throws {
        try await PublicWorld.with { world in
            let owner = try await world.owner.open()
            try await owner.settled()
            try await owner.execute("INSERT INTO template VALUES ('t', 'Title')")
            try await owner.settled()
            let edition = try await owner.publishPlace(to: world.published)
            let reader = try await world.placeReader("reader").open()
            for path in edition.head.paths.keys.map({ $0.components.reduce(world.published) { $0.appending($1) } }).sorted(by: {
                $0.string < $1.string
            }) {
                let url = URL(filePath: path.string)
                let whole = try Data(contentsOf: url)
                var altered = whole
                altered[altered.count / 2] ^= 1
                for bytes in [whole.dropLast(), altered, nil] {
                    if let bytes { try Data(bytes).write(to: url) } else { try FileManager.default.removeItem(at: url) }
                    guard path.lastComponent!.string.hasSuffix(".ubbundle") || path.string.contains("template") else { continue }
                    let error = await #expect(throws: UbiquitousStoreError.self, "\(path)") { try await reader.settled() }
                    #expect(error?.code == .unreachable && error?.description.contains(path.lastComponent!.string) == true)
                    #expect(try await reader.game == [])
                }
                try whole.write(to: url)
            }
            try Data("<html>404</html>".utf8).write(to: URL(filePath: world.published.appending("head").string))
            let error = await #expect(throws: UbiquitousStoreError.self) { try await reader.settled() }
            #expect(error?.description.contains("head") == true)
            _ = try await owner.publishPlace(to: world.published)
            try await reader.settled()
            #expect(try await reader.game == ["t=Title"])
            for store in [owner, reader] { try await store.close() }
        }
    }

    @Test("Readers of a place lose the records of an account that a closed admission shuts out, and have them again once it is admitted")
    func admittedAgain() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            try await settle(store, owner)
            try await store.execute(Self.insert(ann, "a", 1))
            try await settle(store, owner)
            let reader = try await world.placeReader("reader").open()
            func publish() async throws -> [String] {
                try await settle(store, owner)
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
                return try await reader.game
            }
            #expect(try await publish() == [score(ann, "a", 1)])
            let key = try HomeKeys(world.owner.home).publicKey(.registrar)
            _ = try await owner.runner.signPolicy { $0.admission = .registrars([key]) }
            #expect(try await publish() == [])
            try world.owner.registration.admitAccount(ann.account!, in: world.container)
            #expect(try await publish() == [score(ann, "a", 1)])
            for store in [store, owner, reader] { try await store.close() }
        }
    }

    @Test("A reader keeps of what it has fetched only the newest policies and the bases in effect")
    func mirror() async throws {
        try await PublicWorld.with { world in
            let ann = try world.player("ann")
            let (store, owner) = (try await ann.open(), try await world.owner.open())
            _ = try await owner.runner.signPolicy { $0.roles["editor"]?.insert(ann.account!) }
            try await settle(store, owner)
            let device = world.placeReader("reader")
            let reader = try await device.open()
            for turn in 0..<3 {
                try await (turn == 2 ? owner : store).execute("INSERT INTO template VALUES ('t\(turn)', 'Ann')")
                if turn == 1 { _ = try await owner.runner.signPolicy { $0.roles["editor"]?.remove(ann.account!) } }
                if turn == 2 { _ = try await owner.runner.signPolicy { $0.limits.records = 9 } }
                try await settle(store, owner)
                _ = try await owner.publishPlace(to: world.published)
                try await reader.settled()
                #expect(try await reader.game == owner.game)
            }
            let root = FilePath(reader.file.string + "-place").string
            let files = FileManager.default.enumerator(atPath: root)!.compactMap { $0 as? String }.filter {
                $0.contains(".") && !$0.contains("drafts")
            }
            #expect(files.filter { $0.hasPrefix("authority/") }.count == 1, "\(files)")
            #expect(files.filter { $0.hasPrefix("bases/") }.count == 1, "\(files)")
            #expect(
                files.filter { $0.hasPrefix("bundles/") || $0.hasPrefix("snapshots/") }.count {
                    $0.hasSuffix("ubbundle") || $0.hasSuffix("ubbaseline")
                } == 0)
            for store in [store, owner, reader] { try await store.close() }
        }
    }
}
