import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// How a store that follows the account is set up, and what an app can rely on from then on.
struct AccountSetUpTests {
    /// What a device begins with.
    enum Beginning: CaseIterable {
        case firstDevice, contentWaiting, signedOut, nothingToDo
    }

    @Test("S-035: opening ends in a store that reads and saves at once, and later in the account's, in each case", arguments: Beginning.allCases)
    func usable(beginning: Beginning) async throws {
        try await withDevices(2) { devices, root in
            let alice = try AccountName("alice")
            var expected: [String] = []
            switch beginning {
            case .firstDevice: break
            case .contentWaiting:
                let other = try await devices[1].open()
                try await other.insert("o")
                try await other.settled()
                expected = ["o"]
            case .signedOut: try devices[0].home.signOut()
            case .nothingToDo:
                let before = try await devices[0].follow()
                try await before.insert("b")
                try await before.settled()
                try await before.close()
                expected = ["b"]
            }
            let store = try await devices[0].follow()
            try await store.insert("n")
            #expect(try await store.keys().contains("n"))
            #expect(await store.place == [.signedOut: .local, .nothingToDo: .account(alice)][beginning] ?? .fallback(alice))
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            #expect(await store.place == .account(alice))
            #expect(try await store.keys() == (expected + ["n"]).sorted())
        }
    }

    @Test("S-066: a change of account is told by the notices of the first set-up, and by no others")
    func sameNotices() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            let heard = Mutex<[String]>([])
            let reader = store.notices.limited("a notice").makeAsyncIterator()
            let observing = Task {
                while let notice = try await reader.next() {
                    switch notice {
                    case .willChange(let transition): heard.withLock { $0.append("will \(transition.added.place.account?.description ?? "-")") }
                    case .didChange(let transition):
                        heard.withLock { $0.append("did \(transition.added.place.account?.description ?? "-") \(transition.kind)") }
                        if transition.added.place == .local { return }
                    default: heard.withLock { $0.append("\(notice)") }
                    }
                }
            }
            try await store.settled()
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            try devices[0].home.signOut()
            try await store.settled()
            try await observing.value
            #expect(
                heard.withLock { $0 } == [
                    "will alice", "did alice initialImportCompleted", "will bob", "did bob accountAdded", "will bob",
                    "did bob initialImportCompleted", "will -", "did - accountRemoved",
                ])
        }
    }

    @Test("S-012: once the file has been changed nothing needs the old one, which may be gone")
    func oldFileGone() async throws {
        try await withDevices(1) { devices, root in
            try devices[0].home.signOut()
            let store = try await devices[0].follow()
            let old = store.file
            try await store.insert("l")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            try FileManager.default.removeItem(atPath: old.removingLastComponent().removingLastComponent().removingLastComponent().string)
            try await store.insert("a")
            try await store.settled()
            #expect(try await store.keys() == ["a", "l"])
            try devices[0].home.signOut()
            try await store.settled()
            #expect(try await store.keys() == [])
            try await store.insert("m")
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["a", "l", "m"])
        }
    }

    @Test("S-063: an app that closes and opens again at another token loses nothing")
    func reopened() async throws {
        try await withDevices(1) { devices, root in
            var expected: [String: [String]] = [:]
            for turn in 0..<6 {
                let account = turn % 2 == 0 ? "alice" : "bob"
                try devices[0].home.signIn(AccountName(account), containers: root)
                let store = try await devices[0].follow()
                // Some before anything has been exchanged, some after.
                try await store.insert("\(turn)a")
                if turn % 3 != 0 {
                    try await store.settled()
                    try await store.insert("\(turn)b")
                }
                expected[account, default: []] += turn % 3 != 0 ? ["\(turn)a", "\(turn)b"] : ["\(turn)a"]
                try await store.close()
            }
            for (account, keys) in expected {
                try devices[0].home.signIn(AccountName(account), containers: root)
                let store = try await devices[0].follow()
                try await store.settled()
                #expect(try await store.keys() == keys)
                #expect(try await store.status().unpublished == 0)
                try await store.close()
            }
        }
    }

    @Test("S-060, S-114: several stores are open at once, each with its schema, beside a plain one; a handler is told of its own store")
    func several() async throws {
        try await withDevices(1) { devices, root in
            let device = devices[0]
            let people = try await device.follow()
            let places = try await UbiquitousStore.open(
                at: device.directory.appending("Places.sqlite"), options: .init(contentName: "Places", exchangesAutomatically: false),
                container: "org.example.test", home: device.home,
                schema: SyncedSchema(migrator: migrator("CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY)")) { SyncedTable("place") })
            let again = try await UbiquitousStore.open(
                at: device.directory.appending("Others.sqlite"), options: .init(contentName: "Others", exchangesAutomatically: false),
                container: "org.example.test", home: device.home, schema: personSchema)
            let plain = try DatabasePool(path: device.directory.appending("plain.sqlite").string)
            try await plain.write { db in try db.execute(sql: "CREATE TABLE person (id TEXT)") }
            let told = Mutex<[String]>([])
            let handlers = [
                people.onWillChange { transition in told.withLock { $0.append("people \(transition.added.file.lastComponent!)") } },
                places.onWillChange { transition in told.withLock { $0.append("places \(transition.added.file.lastComponent!)") } },
            ]
            try await people.insert("p")
            try await again.insert("q")
            try await places.execute("INSERT INTO place VALUES ('x')")
            try await people.settled()
            #expect(told.withLock { $0 } == ["people People.sqlite"])
            try await places.settled()
            #expect(told.withLock { $0 } == ["people People.sqlite", "places Places.sqlite"])
            try await again.settled()
            #expect(try await people.keys() == ["p"])
            #expect(try await again.keys() == ["q"])
            #expect(try await places.rows("SELECT id FROM place") == [["x"]])
            #expect(try await plain.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM person") } == 0)
            for handler in handlers { handler.cancel() }
        }
    }

    @Test("S-123: every descriptor of a store, its watchers and its locks is closed where another program is executed")
    func closeOnExec() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow { $0.advanced.exchangesAutomatically = true }
            let changes = store.notices
            for try await notice in changes.limited("the account's file") {
                if case .didChange = notice { break }
            }
            try await store.insert("a")
            var ours = 0
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
                guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)"),
                    target.hasPrefix(devices[0].directory.string) || target.hasPrefix("anon_inode:inotify"),
                    let facts = try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8),
                    let flags = facts.split(separator: "\n").first(where: { $0.hasPrefix("flags:") })?.split(separator: "\t").last
                else { continue }
                // It may have been closed in between, and its number given to a file of another test.
                guard (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == target else { continue }
                ours += 1
                // O_CLOEXEC, as fdinfo shows it: proc(5).
                #expect(Int(flags, radix: 8)! & 0o2_000_000 != 0, "\(target)")
            }
            #expect(ours > 3)
            try await store.close()
        }
    }

    @Test("S-140: a store uses a write-ahead log, which checkpoints keep bounded while it stays open")
    func boundedLog() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            #expect(try await store.read { db in try String.fetchOne(db, sql: "PRAGMA journal_mode") } == "wal")
            let text = String(repeating: "x", count: 4000)
            for round in 0..<40 {
                try await store.write { db in
                    for number in 0..<100 {
                        try db.execute(sql: "INSERT INTO person (id, first) VALUES (?, ?)", arguments: ["\(round)-\(number)", text])
                    }
                }
            }
            // Some 32 MB have been written, with the logs.
            let size = try FileManager.default.attributesOfItem(atPath: store.file.string + "-wal")[.size] as! Int
            #expect(size < 8 << 20)
        }
    }
}
