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

/// What is joined from one file of a store into another.
struct AccountJoinTests {
    @Test("What another program has written to the local file, and nobody has sealed, goes along, also what it writes once that has been emptied")
    func shell() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            let local = store.file
            try await store.insert("a")
            try sqlite3(local, "INSERT INTO person (id) VALUES ('b')")
            let handler = store.onWillChange { transition in
                // Between what is joined before and the rest.
                if transition.removed.file == local { _ = try? sqlite3(local, "INSERT INTO person (id) VALUES ('d')") }
            }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            handler.cancel()
            #expect(try await store.keys() == ["a", "b", "d"])
            try sqlite3(local, "INSERT INTO person (id) VALUES ('c')")
            try await store.close()
            let again = try await devices[0].follow()
            try await again.settled()
            #expect(try await again.keys() == ["a", "b", "c", "d"])
            try devices[0].home.signOut()
            try await again.settled()
            #expect(try await again.keys() == [])
        }
    }

    @Test("What has been given to one account is joined to no other, by a store that is open either")
    func given() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            try await store.insert("a")
            // Another process has given it to alice, and has come no further.
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let peer = try devices[0].home.peer(of: AccountName("alice"), in: ContainerIdentifier("org.example.test"))
            try sqlite3(store.file, "UPDATE ubiquity_state SET given = '\(peer)'")
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == [])
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["a"])
        }
    }

    @Test("A local file that is put back from a copy, and goes another way, loses nothing")
    func restored() async throws {
        try await withDevices(1) { devices, root in
            var store = try await devices[0].follow()
            try await store.settled()
            try devices[0].home.signOut()
            try await store.settled()
            try await store.insert("a")
            let (local, copy) = (store.file, devices[0].directory.appending("copy.sqlite"))
            try await store.close()
            try sqlite3(local, "PRAGMA wal_checkpoint(TRUNCATE)")
            try FileManager.default.copyItem(atPath: local.string, toPath: copy.string)
            store = try await devices[0].follow()
            try await store.insert("b")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            try await store.close()
            try devices[0].home.signOut()
            for suffix in ["-wal", "-shm", ""] { try? FileManager.default.removeItem(atPath: local.string + suffix) }
            try FileManager.default.moveItem(atPath: copy.string, toPath: local.string)
            store = try await devices[0].follow()
            try await store.insert("c")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["a", "b", "c"])
        }
    }

    @Test("A record that is entered again while nobody is signed in, after the account has deleted it once more, is there again")
    func rebornTwice() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.settled()
            let alice = try AccountName("alice")
            for _ in 0..<3 {
                try await store.insert("k")
                try await store.execute("DELETE FROM person")
                try devices[0].home.signOut()
                try await store.settled()
                try await store.insert("k")
                try devices[0].home.signIn(alice, containers: root)
                try await store.settled()
                #expect(try await store.keys() == ["k"])
                try await store.execute("DELETE FROM person")
            }
        }
    }

    @Test("A handler that was not waited for any longer saves nothing to the other account's file")
    func lateHandler() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow { $0.advanced.transitionDeadline = .milliseconds(10) }
            let (released, release) = AsyncStream.makeStream(of: Void.self)
            let (ended, ending) = AsyncStream.makeStream(of: UbiquitousStoreError.Code?.self)
            let handler = store.onWillChange { _ in
                await Task { for await _ in released { break } }.value
                do {
                    try await store.insert("late")
                    ending.yield(nil)
                } catch {
                    ending.yield((error as? UbiquitousStoreError)?.code)
                }
            }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            handler.cancel()
            release.yield()
            #expect(try await ended.limited("the end of the handler").first { _ in true } == .suspended)
            #expect(try await store.keys() == [])
        }
    }

    @Test("A seeding that is overtaken by another account goes on in no other file")
    func seeding() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.settled()
            let records = AsyncStream { continuation in
                for number in 0..<30_000 { continuation.yield(SeedRecord(table: "person", values: ["id": "\(number)"])) }
                continuation.finish()
            }
            let home = devices[0].home
            let error = await #expect(throws: UbiquitousStoreError.self) {
                try await store.seed(
                    from: records.map { record in
                        if record.values["id"]?.databaseValue == "20000".databaseValue {
                            try home.signIn(AccountName("bob"), containers: root)
                            try await store.settled()
                        }
                        return record
                    }, token: "t")
            }
            #expect(error?.code == .suspended)
            #expect(try await store.keys().isEmpty)
            #expect(try await !store.isSeeded("t"))
        }
    }

    @Test("What the account held before and what was saved while nobody was signed in are in conflict, by the same device too")
    func ownConflict() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = (try await devices[0].follow(), try await devices[1].open())
            try await store.settled()
            try await store.insert("k", first: "account")
            try await settle(store, other)
            try devices[0].home.signOut()
            try await store.settled()
            devices[0].clock.advance(by: 10)
            try await store.insert("k", first: "local")
            try await store.execute("UPDATE person SET first = 'later' WHERE id = 'k'")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await settle(store, other)
            #expect(try await other.rows("SELECT first FROM person") == [["later"]])
            #expect(try await store.conflicts().flatMap(\.lost).map(\.value.description) == ["account"])
        }
    }

    @Test(
        "What was saved and renamed while nobody was signed in is not lost to the account's older record, though that was deleted and entered again")
    func greaterLife() async throws {
        try await withDevices(2) { devices, root in
            try devices[0].home.signOut()
            let (store, other) = (try await devices[0].follow(), try await devices[1].open())
            for _ in 0..<2 {
                try await other.insert("k", first: "account")
                try await other.execute("DELETE FROM person")
            }
            try await other.execute("INSERT INTO person (id, first, last) VALUES ('k', 'account', 'kept')")
            try await other.settled()
            devices[0].clock.advance(by: 10)
            try await store.insert("k", first: "local")
            try await store.execute("UPDATE person SET first = 'later'")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await settle(store, other)
            for device in [store, other] { #expect(try await device.rows("SELECT id, first, last FROM person") == [["k", "later", "kept"]]) }
        }
    }

    @Test("What was saved while nobody was signed in does not lose to stamps of the future; to what was written later it does")
    func future() async throws {
        try await withDevices(2) { devices, root in
            try devices[0].home.signOut()
            let (store, other) = (try await devices[0].follow(), try await devices[1].open())
            // The other's clock is an hour ahead, for one of its saves.
            devices[1].clock.advance(by: 20)
            try await other.insert("k", first: "account")
            try await other.execute("UPDATE person SET last = 'written later'")
            devices[1].clock.advance(by: 3600)
            try await other.execute("UPDATE person SET first = 'ahead'")
            try await other.settled()
            devices[0].clock.advance(by: 10)
            try await store.execute("INSERT INTO person (id, first, last) VALUES ('k', 'local', 'local')")
            try await store.execute("UPDATE person SET first = 'renamed'")
            devices[0].clock.advance(by: 30)
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await settle(store, other)
            for device in [store, other] { #expect(try await device.rows("SELECT first, last FROM person") == [["renamed", "written later"]]) }
            #expect(try await store.conflicts().flatMap(\.lost).map(\.value.description).contains("ahead"))
            // The join is repeated by nobody.
            try await other.execute("UPDATE person SET first = 'after'")
            try await settle(other, store)
            #expect(try await store.rows("SELECT first FROM person") == [["after"]])
        }
    }

    @Test("Where two records are one by a rule, the joined one's later value stays too, whatever the clock of the device that wrote the other")
    func futureOfAnEqual() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT UNIQUE, first TEXT)")) {
            SyncedTable("person", unique: [["email"]])
        }
        try await withDevices(2) { devices, root in
            try devices[0].home.signOut()
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                container: "org.example.test", home: devices[0].home, schema: schema, now: { [clock = devices[0].clock] in clock.now })
            let other = try await devices[1].open(schema)
            devices[1].clock.advance(by: 3600)
            try await other.execute("INSERT INTO person VALUES ('a', 'e', 'account')")
            try await other.settled()
            try await store.execute("INSERT INTO person VALUES ('z', 'e', 'local')")
            devices[0].clock.advance(by: 10)
            try await store.execute("UPDATE person SET first = 'renamed'")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await settle(store, other)
            for device in [store, other] { #expect(try await device.rows("SELECT * FROM person") == [["a", "e", "renamed"]]) }
        }
    }

    @Test(
        "What is saved after a sign-out is later than all that was seen in the account before it, also once the time has come that a fast clock told")
    func seenBefore() async throws {
        try await withDevices(2) { devices, root in
            let (store, other) = (try await devices[0].follow(), try await devices[1].open())
            devices[1].clock.advance(by: 60)
            try await other.insert("k", first: "account")
            try await settle(other, store)
            try devices[0].home.signOut()
            try await store.settled()
            devices[0].clock.advance(by: 10)
            try await store.insert("k", first: "local")
            devices[0].clock.advance(by: 600)
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await settle(store, other)
            for device in [store, other] { #expect(try await device.rows("SELECT first FROM person") == [["local"]]) }
        }
    }

    @Test("Where the way to another file fails, nothing of the account that is gone goes out, and its exchange goes on once it is back")
    func failedPassage() async throws {
        try await withDevices(2) { devices, root in
            let store = try await devices[0].follow { $0.advanced.exchangesAutomatically = true }
            for try await notice in store.notices.limited("the account's file") {
                if case .didChange = notice { break }
            }
            // A directory stands where the local file would be.
            let support = devices[0].directory.appending("CoreDataUbiquitySupport")
            let local = support.appending("local~00000000-0000-0000-0000-000000000001/People/store/People.sqlite")
            try FileManager.default.createDirectory(atPath: local.string, withIntermediateDirectories: true)
            try devices[0].home.signOut()
            await #expect(throws: UbiquitousStoreError.self) { try await store.settled() }
            #expect(await store.place == .account(try AccountName("alice")))
            try await store.insert("a")
            #expect(try await store.status().failure != nil)
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            // It arrives without a call.
            let other = try await devices[1].open(automatically: true)
            let observation = ValueObservation.tracking { db in try String.fetchAll(db, sql: "SELECT id FROM person") }
            for try await keys in observation.values(in: other).limited("the record") where keys == ["a"] { break }
            try await store.close()
            try await other.close()
        }
    }
}
