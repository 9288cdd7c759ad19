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

/// What a token of changes is good for, and what it is not.
struct ChangeTokenTests {
    private func code(_ store: UbiquitousStore, since token: ChangeToken) async -> UbiquitousStoreError.Code? {
        do {
            _ = try await store.changes(since: token)
            return nil
        } catch {
            return (error as? UbiquitousStoreError)?.code
        }
    }

    @Test("T-62: changes beyond the number or the age of the retention are removed, a token from before has expired, and one from after goes on")
    func retention() async throws {
        try await withDevices(1) { devices, _ in
            let clock = devices[0].clock
            var store = try await devices[0].open(history: HistoryRetention(count: 300, days: 10))
            let first = try await store.currentChangeToken
            for key in 0..<700 { try await store.insert("\(key)") }
            #expect(await code(store, since: first) == .tokenExpired)
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.changes(since: first) }
            #expect(error?.message.hasSuffix("Read all records once, and continue with the current token.") == true)
            let kept = try await store.changes(since: nil)
            #expect(!kept.isComplete && (300...300 + 256).contains(kept.changes.count), "\(kept.changes.count)")
            let middle = kept.token
            try await store.insert("next")
            #expect(try await store.changes(since: middle).words == ["+person/next"])
            // Nothing is removed from a store that is not used, and what has been read is not needed.
            let last = try await store.currentChangeToken
            try await store.close()
            clock.advance(by: 11 * 86_400)
            store = try await devices[0].open(history: HistoryRetention(count: 300, days: 10))
            try await store.insert("late")
            #expect(try await store.changes(since: last).words == ["+person/late"])
            #expect(try await store.changes(since: middle).words == ["+person/next", "+person/late"])
            #expect(await code(store, since: first) == .tokenExpired)
            #expect(try await store.changes(since: nil).words == ["+person/next", "+person/late"])
            try await store.close()
        }
    }

    @Test("a store without a history says so, lists nothing, and a history that begins again refuses the tokens of the former one")
    func off() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open()
            try await store.insert("a")
            let token = try await store.currentChangeToken
            try await store.close()
            store = try await devices[0].open(history: nil)
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.changes(since: token) }
            #expect(error?.code == .unsupported && error?.message.contains("historyRetention") == true)
            try await store.insert("b")
            #expect(try await store.rows("SELECT count(*) FROM ubiquity_history") == [["0"]])
            try await store.close()
            store = try await devices[0].open()
            #expect(await code(store, since: token) == .tokenExpired)
            let changes = try await store.changes(since: nil)
            #expect(changes.words.contains("*person") && !changes.isComplete)
            try await store.close()
        }
    }

    @Test("a process without a history lists its changes while another process that has opened the file later keeps one")
    func mixed() async throws {
        try await withDevices(1) { devices, _ in
            let without = try await devices[0].open(history: nil)
            let store = try await devices[0].open()
            let start = try await store.currentChangeToken
            try await without.insert("a")
            #expect(try await store.changes(since: start).words == ["+person/a"])
            for store in [store, without] { try await store.close() }
        }
    }

    @Test("T-63: a token of another store, another account, a rebuilt file, a restored backup, or with other bytes is refused, never misread")
    func foreign() async throws {
        try await withDevices(2) { devices, root in
            let (home, alice) = (devices[0].home, try AccountName("alice"))
            var store = try await devices[0].follow()
            let other = try await devices[1].open()
            try await store.settled()
            for key in ["a", "b"] { try await store.insert(key) }
            let token = try await store.currentChangeToken
            #expect(await code(other, since: token) == .foreignToken)
            // The tokens of an account are refused while nobody is signed in, and good again afterwards.
            try home.signOut()
            try await store.settled()
            let local = try await store.currentChangeToken
            #expect(await code(store, since: token) == .foreignToken)
            try home.signIn(alice, containers: root)
            try await store.settled()
            #expect(await code(store, since: token) == nil && local != token)
            #expect(await code(store, since: local) == .foreignToken)
            // A backup that is restored gives its numbers again.
            let (file, backup) = (store.file, devices[0].directory.appending("Backup.sqlite"))
            try await store.close()
            try FileManager.default.copyItem(atPath: file.string, toPath: backup.string)
            store = try await devices[0].follow()
            try await store.insert("c")
            let late = try await store.currentChangeToken
            try await store.close()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
            try FileManager.default.copyItem(atPath: backup.string, toPath: file.string)
            store = try await devices[0].follow()
            #expect(await code(store, since: late) == .foreignToken)
            try await store.insert("d")
            #expect(await code(store, since: late) == .foreignToken)
            #expect(await code(store, since: token) == nil)
            try await store.settled()
            try await store.close()
            store = try await devices[0].follow { $0.rebuildsFromUbiquitousContent = true }
            try await store.settled()
            #expect(await code(store, since: token) == .foreignToken)
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("a token with any other byte, or cut anywhere, is no token")
    func damage() throws {
        let token = ChangeToken(file: (0..<16).map { UInt8($0) }, number: 77, mark: -5)
        let text = token.description
        #expect(ChangeToken(text) == token)
        for index in text.indices {
            for letter in "A0z_- é" where letter != text[index] {
                var damaged = text
                damaged.replaceSubrange(index...index, with: String(letter))
                #expect(ChangeToken(damaged) == nil, "\(damaged)")
            }
            #expect(ChangeToken(String(text[..<index])) == nil)
        }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ChangeToken.self, from: Data("\"\(text.dropLast())\"".utf8)) }
    }

    @Test("a damaged history is refused with the remedy, and random bytes never trap")
    func damagedHistory() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('a'); INSERT INTO person (id) VALUES ('b')")
            let bytes = try #require(try await store.read { db in try Data.fetchOne(db, sql: "SELECT bytes FROM ubiquity_history") })
            var random = SeededRandom(seed: 7)
            for _ in 0..<2000 {
                var damaged = [UInt8](bytes)
                for _ in 0..<Int.random(in: 1..<4, using: &random) {
                    damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
                }
                if Bool.random(using: &random) { damaged.removeLast(Int.random(in: 0..<damaged.count, using: &random)) }
                guard let changes = try? PackedChanges(decoding: damaged) else { continue }
                try? changes.forEach { _, _, _, _, _ in true }
            }
            try await store.write { db in try db.execute(sql: "UPDATE ubiquity_history SET bytes = x'0109'") }
            #expect(await code(store, since: ChangeToken(file: [], number: 0, mark: 0)) == .foreignToken)
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.changes(since: nil) }
            #expect(error?.code == .malformed)
            try await store.close()
        }
    }

    @Test("a file of a version without a history is upgraded when it is opened, and its rows are listed as one change of their table")
    func upgrade() async throws {
        try await withDevices(1) { devices, _ in
            var store = try await devices[0].open()
            try await store.insert("a")
            let file = store.file
            try await store.close()
            try sqlite3(file, "DROP TABLE ubiquity_history; DROP TABLE ubiquity_tracking")
            store = try await devices[0].open()
            try await store.insert("b")
            let changes = try await store.changes(since: nil)
            #expect(changes.words.contains("*person") && changes.words.last == "+person/b" && changes.isComplete)
            try await store.close()
            try sqlite3(file, "DROP TABLE ubiquity_history; DROP TABLE ubiquity_tracking")
            store = try await devices[0].open(history: nil)
            try await store.insert("c")
            #expect(await code(store, since: changes.token) == .unsupported)
            try await store.close()
        }
    }
}
