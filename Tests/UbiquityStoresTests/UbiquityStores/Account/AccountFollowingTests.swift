import Foundation
import GRDB
import Logging
import Synchronization
import SystemPackage
import Testing
import TreeWatching
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// A store that follows the account, from file to file.
struct AccountFollowingTests {
    private static let names = "SELECT id, first FROM person ORDER BY id"

    @Test("S-032, S-065: what is saved while nobody is signed in is the account's after sign-in, reaches its peers, and is nowhere after sign-out")
    func signIn() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            #expect(await store.place == .local)
            try await store.insert("l")
            try await store.settled()
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(await store.place == .account(try AccountName("alice")))
            #expect(try await store.keys() == ["l", "o"])
            try await other.settled()
            #expect(try await other.keys() == ["l", "o"])
            try devices[0].home.signOut()
            try await store.settled()
            #expect(await store.place == .local)
            #expect(try await store.keys() == [])
            // Whoever comes next does not get it.
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == [])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["l", "o"])
        }
    }

    @Test("S-043, S-044: until the account's content has been read the store serves a fallback file, and each save to that is a log of its own then")
    func fallback() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            let store = try await devices[0].follow()
            let alice = try AccountName("alice")
            #expect(await store.place == .fallback(alice))
            for key in ["a", "b", "c"] { try await store.insert(key) }
            try await store.execute("UPDATE person SET last = 'L' WHERE id = 'a'; DELETE FROM person WHERE id = 'b'")
            #expect(try await store.keys() == ["a", "c"])
            try await store.settled()
            #expect(await store.place == .account(alice))
            #expect(try await store.keys() == ["a", "c", "o"])
            let own = try await store.status().peer
            try await other.settled()
            #expect(try await other.rows() == store.rows())
            #expect(try await other.status().knowledge.sequence(of: own) == 4)
            // What is edited afterwards is no conflict to those who have seen both.
            devices[0].clock.advance(by: 10)
            try await store.execute("UPDATE person SET first = 'y'")
            try await settle(store, other)
            #expect(try await other.rows() == store.rows())
            #expect(try await other.conflicts().isEmpty)
            // The next opening needs no fallback.
            try await store.close()
            let again = try await devices[0].follow()
            #expect(await again.place == .account(alice))
            #expect(try await again.keys() == ["a", "c", "o"])
        }
    }

    @Test("A record that is alive in the fallback file and dead in the account is inserted anew, with all that follows it")
    func reborn() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            try await other.insert("k", first: "old")
            try await other.insert("d", first: "old")
            try await other.execute("DELETE FROM person")
            try await other.settled()
            let store = try await devices[0].follow()
            try await store.insert("k", first: "new")
            try await store.insert("d", first: "gone")
            try await store.execute("UPDATE person SET last = 'L' WHERE id = 'k'; DELETE FROM person WHERE id = 'd'")
            try await store.settled()
            try await other.settled()
            for each in [store, other] {
                #expect(try await each.rows("SELECT id, first, last FROM person") == [["k", "new", "L"]])
            }
            try await other.execute("UPDATE person SET first = 'newer' WHERE id = 'k'")
            try await settle(other, store)
            #expect(try await store.rows(Self.names) == [["k", "newer"]])
        }
    }

    @Test("Of one record saved in the fallback file and on another device, one value stays and the other is listed")
    func conflict() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            try await other.insert("k", first: "other")
            try await other.settled()
            let store = try await devices[0].follow()
            devices[0].clock.advance(by: 10)
            try await store.insert("k", first: "first")
            try await store.execute("UPDATE person SET first = 'mine' WHERE id = 'k'")
            try await store.settled()
            try await other.settled()
            #expect(try await store.rows(Self.names) == [["k", "mine"]])
            #expect(try await other.rows(Self.names) == [["k", "mine"]])
            #expect(try await store.conflicts().flatMap(\.lost).map(\.value.description) == ["other"])
        }
    }

    @Test("What is kept apart stays on this device, and shows again after sign-out")
    func keptSeparate() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.joiningPolicy = .keepSeparate }
            try await store.insert("l")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == [])
            try await store.insert("a")
            try devices[0].home.signOut()
            try await store.settled()
            #expect(try await store.keys() == ["l"])
        }
    }

    @Test("S-061: an observation goes on across changes of file, and delivers what the other holds")
    func observed() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            let observation = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") }
            let values = observation.values(in: store).limited().makeAsyncIterator()
            #expect(try await values.next() == [])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            while let value = try await values.next(), value != ["o"] {}
            try devices[0].home.signOut()
            try await store.settled()
            while let value = try await values.next(), value != [] {}
        }
    }

    @Test("S-042: a store opens and saves where the containers root is not there, and goes on when it is")
    func rootGone() async throws {
        try await withDevices(1) { devices, root in
            let away = FilePath(root.string + "-away")
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            let store = try await devices[0].follow()
            try await store.insert("a")
            await #expect(throws: (any Error).self) { try await store.settled() }
            #expect(await store.place == .fallback(try AccountName("alice")))
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            try await store.settled()
            #expect(await store.place == .account(try AccountName("alice")))
            #expect(try await store.keys() == ["a"])
            #expect(try await store.status().unpublished == 0)
        }
    }

    @Test("What the app kept before it synced goes to the account that signs in first, and to no other")
    func existing() async throws {
        try await withDevices(1) { devices, root in
            let plain = devices[0].directory.appending("plain.sqlite")
            let queue = try DatabaseQueue(path: plain.string)
            try personSchema.migrator.migrate(queue)
            try await queue.write { db in try db.execute(sql: "INSERT INTO person (id) VALUES ('p')") }
            try queue.close()
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.existingDatabase = plain }
            #expect(try await store.keys() == ["p"])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["p"])
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == [])
        }
    }

    @Test("S-046: each change of file writes a line at level 1 that says whether saves reach other devices, and so does a wait for gathering")
    func logged() async throws {
        try await withDevices(1) { devices, root in
            let (lines, faults) = (LineCollector(level: 1), LineCollector(level: 0))
            let support = devices[0].directory.appending("CoreDataUbiquitySupport")
            let store = try await devices[0].follow(logger: lines.logger) { $0.advanced.exchangesAutomatically = true }
            let peer = try await devices[0].container().peer
            _ = try await lines.using(2)
            try devices[0].home.signOut()
            let all = try await lines.using(3)
            let local = try await store.status().peer
            let fallback = try #require(lines.peer(of: "/fallback/"))
            #expect(fallback.account == "alice" && all.count == 3)
            #expect(
                Set(all) == [
                    "Ubiquity: \(fallback): \(support)/\(peer)/People/fallback/People.sqlite: Using local storage: 1",
                    "Ubiquity: \(peer): \(support)/\(peer)/People/store/People.sqlite: Using local storage: 0",
                    "Ubiquity: \(local): \(store.file): Using local storage: 1",
                ])
            #expect(lines.all.allSatisfy { $0.hasPrefix("Ubiquity: ") })
            #expect(lines.all.contains("Ubiquity: alice: People.sqlite: waiting until the content of other devices has been read"))
            #expect(lines.all.contains("Ubiquity: alice: People.sqlite: the content of other devices has been read"))
            try await store.close()
            // It is nothing that keeps anything from working.
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let silent = try await devices[0].follow(logger: faults.logger)
            try await silent.settled()
            try await silent.close()
            #expect(faults.all == [])
        }
    }

    @Test("S-045: the account's store stays in use while the containers root is away, and what is saved goes out when that is back")
    func transportLost() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            let store = try await devices[0].follow()
            try await store.settled()
            let away = FilePath(root.string + "-away")
            try FileManager.default.moveItem(atPath: root.string, toPath: away.string)
            try await store.insert("a")
            try await store.close()
            let again = try await devices[0].follow()
            #expect(await again.place == .account(try AccountName("alice")))
            try await again.insert("b")
            #expect(try await again.keys() == ["a", "b"])
            try FileManager.default.moveItem(atPath: away.string, toPath: root.string)
            try await settle(again, other)
            #expect(try await other.keys() == ["a", "b"])
        }
    }

    @Test("S-037: an account whose content has been read before is there at once when it comes back, though its container is not")
    func backAtOnce() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.insert("a")
            try await store.close()
            try devices[0].home.signOut()
            let again = try await devices[0].follow()
            #expect(await again.place == .local)
            try FileManager.default.moveItem(atPath: root.string, toPath: root.string + "-away")
            try devices[0].home.signIn(AccountName("bob"))
            try devices[0].home.signIn(AccountName("alice"))
            await #expect(throws: UbiquitousStoreError.self) { try await again.settled() }
            #expect(await again.place == .account(try AccountName("alice")))
            #expect(try await again.keys() == ["a"])
        }
    }

    @Test("A damaged log keeps nobody in the fallback file for ever: what can be read is")
    func unusable() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("a")
            try await other.settled()
            try await other.insert("b")
            try await other.settled()
            let logs = try FileManager.default.subpathsOfDirectory(atPath: root.string).filter { $0.hasSuffix(".ublog") }.sorted()
            try Data("damaged".utf8).write(to: URL(filePath: root.appending(logs[1]).string))
            let store = try await devices[0].follow()
            try await store.insert("c")
            try await store.settled()
            #expect(await store.place == .fallback(try AccountName("alice")))
            #expect(try await store.status().quarantined.count == 1)
            // It may still be arriving; a minute later it is not.
            devices[0].clock.advance(by: 61)
            try await store.settled()
            #expect(await store.place == .account(try AccountName("alice")))
            #expect(try await store.keys() == ["a", "c"])
        }
    }

    @Test("By itself, too: signing in and out is noticed, and what there is comes and goes")
    func automatically() async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.advanced.exchangesAutomatically = true }
            let observation = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person ORDER BY id") }
            let values = observation.values(in: store).limited().makeAsyncIterator()
            try await store.insert("l")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            while let value = try await values.next(), value != ["l", "o"] {}
            try devices[0].home.signOut()
            while let value = try await values.next(), value != [] {}
            try await store.close()
        }
    }
}

extension TestDevice {
    /// Opens a store that follows the account.
    func follow(logger: Logger = .ubiquity, _ change: (inout UbiquitousStore.Options) -> Void = { _ in }) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
        change(&options)
        return try await UbiquitousStore.open(
            at: directory.appending("People.sqlite"), options: options, container: "org.example.test", home: home, schema: personSchema,
            now: { [clock] in clock.now }, logger: logger)
    }
}
