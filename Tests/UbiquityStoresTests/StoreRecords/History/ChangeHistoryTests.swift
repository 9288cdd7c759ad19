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

/// The changes that a store lists.
struct ChangeHistoryTests {
    @Test("T-60: changes of all authors are listed in the order of taking in, with author, time and updated columns")
    func order() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].open(), try await devices[1].open())
            let start = try await store.currentChangeToken
            #expect(try await store.changes(since: start).isEmpty)
            try await other.insert("far")
            try await other.publish()
            devices[0].clock.advance(by: 60)
            try await store.write { db in
                try db.execute(sql: "INSERT INTO person (id) VALUES ('a'), ('b'); DELETE FROM person WHERE id = 'b'")
            }
            devices[0].clock.advance(by: 60)
            try await store.settled()
            try sqlite3(store.file, "UPDATE person SET last = 'L', email = 'e' WHERE id = 'a'")
            #expect(try await store.changes(since: start, limit: 1).words == ["-person/b"])
            let second = try await devices[0].open()
            try await second.execute("DELETE FROM person WHERE id = 'far'")

            let changes = try await store.changes(since: start)
            #expect(changes.words == ["-person/b", "+person/a", "+person/far", "~person/a last,email", "-person/far"])
            #expect(changes.isComplete && !changes.hasMore)
            #expect(changes.transactions.map(\.origin) == [.save, .sync, .save, .save])
            #expect(changes.transactions.map(\.author?.isThisDevice) == [true, false, true, true])
            let (own, foreign) = (try await store.status().peer, try await other.status().peer)
            #expect(changes.transactions.map { $0.author?.peer } == [own, foreign, own, own])
            let begin = ManualClock().now
            #expect(changes.transactions[1].written == begin && changes.transactions[1].takenIn == begin + 120)
            #expect(changes.transactions[0].written == begin + 60 && changes.transactions[0].takenIn == begin + 60)
            // This opening has sealed what the other program wrote, but has not written it.
            #expect(changes.transactions.map(\.isOwn) == [true, true, false, false])
            for store in [store, second, other] { try await store.close() }
        }
    }

    @Test("the device and app of an author come from its receipt")
    func names() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].open(), try await devices[1].open())
            let start = try await store.currentChangeToken
            try await other.insert("a")
            try await other.settled()
            try await store.settled()
            let author = try #require(try await store.changes(since: start).transactions.first?.author)
            let peer = try #require(try await store.peers().first)
            #expect(author.device == peer.device && author.device != nil && author.app == peer.app)
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("a save whose rows are written and changed back is listed, a save that fails is not")
    func nothing() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.insert("a")
            let start = try await store.currentChangeToken
            try? await store.write { db in
                try db.execute(sql: "INSERT INTO person (id) VALUES ('b')")
                throw CancellationError()
            }
            #expect(try await store.changes(since: start).isEmpty)
            try await store.execute("UPDATE person SET first = 'y' WHERE id = 'a'; UPDATE person SET first = 'x' WHERE id = 'a'")
            try await store.execute("INSERT OR REPLACE INTO person (id, first, last) VALUES ('a', 'x', 'new')")
            try await store.execute("UPDATE person SET id = 'c' WHERE id = 'a'")
            #expect(try await store.changes(since: start).words == ["~person/a first", "~person/a last", "+person/c", "-person/a"])
            try await store.close()
        }
    }

    @Test("T-61: a token goes on after the store was closed, and pages of any size have the same changes as one read")
    func pages() async throws {
        try await withDevices(2) { devices, _ in
            var store = try await devices[0].open()
            let other = try await devices[1].open()
            let start = try await store.currentChangeToken
            for round in 0..<4 {
                let keys = (0..<5).map { "('\(round)-\($0)')" }.joined(separator: ", ")
                try await other.execute("INSERT INTO person (id) VALUES \(keys)")
                try await other.publish()
                try await store.settled()
                try await store.execute("UPDATE person SET age = \(round)")
                let stored = try JSONEncoder().encode(start)
                try await store.close()
                store = try await devices[0].open()
                #expect(try JSONDecoder().decode(ChangeToken.self, from: stored) == start)
            }
            let whole = try await store.changes(since: start)
            #expect(whole.changes.count == 70)
            for limit in [1, 2, 3, 7, 24, 25, 69, 70, 1000] {
                var (token, changes, pages) = (start, [ChangeTransaction.Change](), 0)
                while true {
                    let page = try await store.changes(since: token, limit: limit)
                    #expect(page.changes.count <= limit)
                    // A token is good for another process as text.
                    token = try #require(ChangeToken(page.token.description))
                    (changes, pages) = (changes + page.changes, pages + 1)
                    if !page.hasMore { break }
                }
                #expect(changes == whole.changes, "limit \(limit)")
                #expect(pages == (70 + limit - 1) / limit && token == whole.token)
            }
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.changes(since: start, limit: 0) }
            #expect(error?.code == .unsupported)
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("T-66: what fills, rebuilds, removes or migrates tables is listed as whole tables, and the token stays valid")
    func wholeTables() async throws {
        try await withDevices(2) { devices, _ in
            let other = try await devices[1].open()
            for key in ["a", "b"] { try await other.insert(key) }
            try await other.settled()
            #expect(try await other.rollBaseline() != nil)
            let store = try await devices[0].open()
            let start = try await store.currentChangeToken
            try await store.settled()
            let filled = try await store.changes(since: start)
            #expect(filled.words.contains("*person") && filled.transactions.allSatisfy { $0.origin == .baseline }, "\(filled)")
            try await store.execute("UPDATE person SET first = 'z' WHERE id = 'a'")
            try await store.settled()
            try await store.rebuildFromUbiquitousContent()
            let rebuilt = try await store.changes(since: filled.token)
            #expect(rebuilt.words.first == "~person/a first" && rebuilt.words.contains("*person"), "\(rebuilt.words)")
            #expect(rebuilt.transactions.last?.origin != .save)
            try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "People"))
            let removed = try await store.changes(since: rebuilt.token)
            #expect(removed.words.contains("*person") && removed.transactions.map(\.origin) == [.removal])
            try await store.insert("c")
            #expect(try await store.changes(since: removed.token).words == ["+person/c"])
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("a migration renames tables and columns in the history, leaves out what was dropped, and lists the tables as a whole")
    func migration() async throws {
        try await withDevices(1) { devices, _ in
            let tables = "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first, last, age); CREATE TABLE gone (id TEXT NOT NULL PRIMARY KEY)"
            let first = SyncedSchema(migrator: migrator(tables)) {
                SyncedTable("person")
                SyncedTable("gone")
            }
            var store = try await devices[0].open(first)
            try await store.settled()
            let start = try await store.currentChangeToken
            try await store.execute("INSERT INTO person (id) VALUES ('a'); INSERT INTO gone VALUES ('g')")
            try await store.execute("UPDATE person SET first = 1, last = 2, age = 3")
            try await store.close()
            var newer = first.migrator
            newer.registerMigration("v2") { db in
                try db.execute(
                    sql: """
                        ALTER TABLE person RENAME TO human; ALTER TABLE human RENAME COLUMN last TO family; ALTER TABLE human DROP COLUMN first;
                        ALTER TABLE human ADD COLUMN born DEFAULT 5; DROP TABLE gone
                        """)
            }
            let second = SyncedSchema(migrator: newer) { SyncedTable("human", formerly: ["person"], formerColumns: ["family": ["last"]]) }
            store = try await devices[0].open(second)
            let changes = try await store.changes(since: start)
            #expect(Array(changes.words.prefix(2)) == ["+human/a", "~human/a family,age"])
            #expect(changes.words.dropFirst(2).allSatisfy { $0.hasPrefix("*") } && changes.words.contains("*human"))
            #expect(changes.transactions.last?.origin == .migration)
            // Pages pass over the dropped table.
            #expect(try await store.changes(since: start, limit: 1).words == ["+human/a"])
            try await store.close()
        }
    }

    @Test("rows from before the history began are listed as one change of their table")
    func beginning() async throws {
        try await withDevices(1) { devices, _ in
            let plain = devices[0].directory.appending("Plain.sqlite")
            try FileManager.default.createDirectory(atPath: devices[0].directory.string, withIntermediateDirectories: true)
            let queue = try DatabaseQueue(path: plain.string)
            try personSchema.migrator.migrate(queue)
            try await queue.write { db in try db.execute(sql: "INSERT INTO person (id) VALUES ('a'), ('b')") }
            try queue.close()
            let store = try await devices[0].open(existing: plain)
            try await store.settled()
            try await store.insert("c")
            let changes = try await store.changes(since: nil)
            #expect(changes.words == ["*person", "+person/c"] && changes.isComplete)
            #expect(changes.transactions.map(\.origin) == [.beginning, .save])
            try await store.close()
        }
    }

    @Test("T-67: a notice of another process's changes names the records that it has changed, also for a process that writes plain SQL")
    func foreignChanges() async throws {
        try await withDevices(2) { devices, _ in
            let (store, far) = (try await devices[0].open(automatically: true), try await devices[1].open())
            try await store.insert("own")
            try await store.settled()
            let second = try await devices[0].open()
            let notices = store.notices.limited().makeAsyncIterator()
            func next() async throws -> StoreChanges? {
                while let notice = try await notices.next() { if case .didChangeInAnotherProcess(let changes) = notice { return changes } }
                return nil
            }
            var words: [String] = []
            func collect(until end: String) async throws { while words.last != end { words += try await next()?.words ?? ["nil"] } }
            try await second.execute("INSERT INTO person (id) VALUES ('p'); UPDATE person SET age = 1 WHERE id = 'own'")
            try await collect(until: "+person/p")
            try await store.insert("mine")
            try sqlite3(store.file, "DELETE FROM person WHERE id = 'p'")
            try await collect(until: "-person/p")
            // What the other process imports is its change too.
            try await far.insert("far")
            try await far.publish()
            try await second.settled()
            try await second.insert("end")
            try await collect(until: "+person/end")
            #expect(words.filter { $0 != "+person/far" } == ["~person/own age", "+person/p", "-person/p", "+person/end"])
            for store in [store, second, far] { try await store.close() }
        }
    }

    @Test("T-67: a notice names what another program has written, though this opening has listed or saved something before it looked")
    func foreignChangesSealedEarlier() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            try await store.execute("INSERT INTO person (id) VALUES ('a'), ('b')")
            try await store.settled()
            let notices = store.notices.limited().makeAsyncIterator()
            func next() async throws -> [String] {
                try await store.settled()
                while let notice = try await notices.next() {
                    if case .didChangeInAnotherProcess(let changes) = notice { return changes?.words ?? [] }
                }
                return []
            }
            try sqlite3(store.file, "DELETE FROM person WHERE id = 'a'")
            #expect(try await store.changes(since: nil).words.last == "-person/a")
            #expect(try await next() == ["-person/a"])
            try sqlite3(store.file, "DELETE FROM person WHERE id = 'b'")
            try await store.insert("own")
            #expect(try await next() == ["-person/b"])
            #expect(try await store.changes(since: nil).transactions.map(\.isOwn) == [true, false, false, true])
            try await store.close()
        }
    }
}
