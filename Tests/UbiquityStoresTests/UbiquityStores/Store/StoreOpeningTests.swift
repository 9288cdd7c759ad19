import CLinux
import Foundation
import GRDB
import Logging
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What opening a store does, and what it tells.
struct StoreOpeningTests {
    /// The changes of file that an observer hears of, up to now.
    private static func transitions(_ notices: LimitedSequence<StoreNotices>.AsyncIterator, of store: UbiquitousStore) async throws
        -> [StoreTransition]
    {
        store.notices.broadcast.post(.didChangeInAnotherProcess(nil))
        var heard: [StoreTransition] = []
        while let notice = try await notices.next(), notice != .didChangeInAnotherProcess(nil) {
            if case .didChange(let transition) = notice { heard.append(transition) }
        }
        return heard
    }

    @Test("S-006, S-008: the app names one path, and each account's file there is written only while the account is in use")
    func onePath() async throws {
        try await withDevices(1) { devices, root in
            let store = try await devices[0].follow()
            try await store.insert("a")
            try await store.settled()
            let alices = store.file
            #expect(alices.starts(with: devices[0].directory.appending("CoreDataUbiquitySupport")) && !alices.starts(with: root))
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            let bobs = store.file
            #expect(bobs != alices && bobs.lastComponent == alices.lastComponent)
            func content() throws -> [Data?] { ["", "-wal"].map { FileManager.default.contents(atPath: alices.string + $0) } }
            let before = try content()
            try await store.insert("b")
            try await store.settled()
            #expect(try content() == before)
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            try await store.settled()
            #expect(store.file == alices)
            #expect(try await store.keys() == ["a"])
        }
    }

    @Test(
        "S-018, S-034: opening looks its container up by itself, waits for none, reads the content behind it and never on the main thread, and says once when it has"
    )
    func behind() async throws {
        try await withDevices(2) { devices, root in
            // A look on the main thread is seen where there is one.
            let seen = StallingFileLayer(below: root)
            seen.go()
            await onMainActor { _ = try? seen.kind(of: root) }
            #expect(seen.wasOnMainThread)
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            let files = StallingFileLayer(below: root)
            var options = UbiquitousStore.Options(contentName: "People")
            options.advanced.baselines = nil
            // It returns, though the file system does not answer.
            let store = try await onMainActor { [options] in
                let store = try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: options, container: "org.example.test", home: devices[0].home,
                    schema: personSchema, now: { [clock = devices[0].clock] in clock.now }, files: files)
                try await store.insert("a")
                return store
            }
            #expect(await store.place == .fallback(try AccountName("alice")))
            let notices = store.notices.limited().makeAsyncIterator()
            files.go()
            var kinds: [StoreTransition.Kind] = []
            while kinds.isEmpty, let notice = try await notices.next() {
                if case .didChange(let transition) = notice { kinds.append(transition.kind) }
            }
            try await onMainActor { try await store.settled() }
            #expect(try await store.keys() == ["a", "o"])
            #expect(files.looks > 0 && !files.wasOnMainThread)
            kinds += try await Self.transitions(notices, of: store).map(\.kind)
            #expect(kinds == [.initialImportCompleted])
            try await store.close()
        }
    }

    @Test("S-042: opening is one call that returns on any thread while the transport is stalled, and does none of its work on the main thread")
    func stalled() async throws {
        try await withDevices(1) { devices, root in
            let files = StallingFileLayer(below: root)
            let migrations = Mutex<[Bool]>([])
            var migrator = DatabaseMigrator()
            migrator.registerMigration("v1") { db in
                migrations.withLock { $0.append(MainQueue.isHere) }
                try db.execute(sql: "CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, first TEXT)")
            }
            let schema = SyncedSchema(migrator: migrator) { SyncedTable("person") }
            @Sendable func open(_ name: String) async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: devices[0].directory.appending("\(name).sqlite"), options: .init(contentName: name), container: "org.example.test",
                    home: devices[0].home, schema: schema, now: { [clock = devices[0].clock] in clock.now }, files: files)
            }
            let main = try await onMainActor { try await open("Main") }
            let here = try await open("Here")
            let thread = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<UbiquitousStore, any Error>) in
                Thread.detachNewThread {
                    Task {
                        do { continuation.resume(returning: try await open("Thread")) } catch { continuation.resume(throwing: error) }
                    }
                }
            }
            let alice = try AccountName("alice")
            for store in [main, here, thread] {
                try await onMainActor { try await store.insert("a") }
                #expect(try await onMainActor { try await store.keys() } == ["a"])
                #expect(await store.place == .fallback(alice))
            }
            // Only now does the transport answer.
            files.go()
            for store in [main, here, thread] {
                try await onMainActor { try await store.settled() }
                #expect(await store.place == .account(alice))
                #expect(try await store.keys() == ["a"])
                try await store.close()
            }
            #expect(files.looks > 0 && !files.wasOnMainThread)
            // For each a fallback file and the account's.
            #expect(migrations.withLock { $0 } == Array(repeating: false, count: 6))
        }
    }

    @Test("F-17, F-25, S-057: an opening tells of another account than at the last launch, to whoever comes later too, and of the same one nothing")
    func changedSince() async throws {
        try await withDevices(1) { devices, root in
            let (alice, bob) = (try AccountName("alice"), try AccountName("bob"))
            /// Opens, and returns the transitions that somebody hears who asks afterwards.
            func opened(_ change: (inout UbiquitousStore.Options) -> Void = { _ in }) async throws -> [StoreTransition] {
                let store = try await devices[0].follow(change)
                try await store.insert(UUID().uuidString)
                let notices = store.notices.limited().makeAsyncIterator()
                let heard = try await Self.transitions(notices, of: store)
                try await store.close()
                return heard
            }
            #expect(try await opened().isEmpty)
            let first = try await devices[0].follow()
            try await first.settled()
            let alices = first.file
            try await first.close()
            #expect(try await opened().isEmpty)
            // Another program signs out, while the app does not run.
            try devices[0].home.signOut()
            let signedOut = try await opened()
            #expect(signedOut.map(\.kind) == [.accountRemoved])
            #expect(signedOut.first?.removed == StoreLocation(place: .account(alice), file: alices))
            #expect(signedOut.first?.added.place == .local)
            #expect(try await opened().isEmpty)
            try devices[0].home.signIn(bob, containers: root)
            // What was saved while nobody was signed in is on its way: the store begins there, and nothing changes before the
            // answer.
            let never = AsyncStream.makeStream(of: Void.self)
            let unanswered = try await opened {
                $0.joiningPolicy = .ask { _ in
                    // Cancelled when the store closes.
                    for await _ in never.stream {}
                    return .merge
                }
            }
            #expect(unanswered.isEmpty)
            let second = try await devices[0].follow()
            try await second.settled()
            #expect(await second.place == .account(bob))
            try await second.close()
            try devices[0].home.signIn(alice, containers: root)
            #expect(try await opened().map(\.kind) == [.accountAdded])
        }
    }

    @Test("S-118: while its account is not signed in a store can be opened for reading, and a write fails with an error that says so")
    func readOnly() async throws {
        try await withDevices(1) { devices, root in
            let alice = try AccountName("alice")
            func open(_ schema: SyncedSchema = personSchema, of account: AccountName = alice) async throws -> UbiquitousStore {
                try await UbiquitousStore.openReadOnly(
                    at: devices[0].directory.appending("People.sqlite"), account: account, options: .init(contentName: "People"),
                    container: "org.example.test", home: devices[0].home, schema: schema)
            }
            await #expect { _ = try await open() } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.insert("a")
            try await store.settled()
            let file = store.file
            try devices[0].home.signOut()
            try await store.settled()
            try await store.close()
            try FileManager.default.moveItem(atPath: root.string, toPath: root.string + "-away")
            let before = FileManager.default.contents(atPath: file.string)
            let reader = try await open()
            #expect(try await reader.keys() == ["a"])
            #expect(try await reader.status().peer.account == "alice")
            for write in [
                { try await reader.insert("b") }, { try await reader.settled() }, { try await reader.publish() },
                { try await reader.rebuildFromUbiquitousContent() },
            ] {
                await #expect { try await write() } throws: { ($0 as? UbiquitousStoreError)?.code == .readOnly }
            }
            try await reader.close()
            #expect(FileManager.default.contents(atPath: file.string) == before)
            #expect(FileManager.default.contents(atPath: file.string + "-wal")?.isEmpty ?? true)
            // One that would have to be migrated is left as it is.
            let newer = SyncedSchema(migrator: migrator("CREATE TABLE other (id TEXT NOT NULL PRIMARY KEY)")) { SyncedTable("other") }
            await #expect(throws: UbiquitousStoreError.self) { _ = try await open(newer) }
            await #expect { _ = try await open(of: AccountName("bob")) } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
        }
    }

    @Test("Opening a store for reading once more ends no lock of who reads it already")
    func readTwice() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].follow()
            try await store.settled()
            try await store.insert("a")
            let file = store.file
            try await store.close()
            func open() async throws -> UbiquitousStore {
                try await UbiquitousStore.openReadOnly(
                    at: devices[0].directory.appending("People.sqlite"), account: AccountName("alice"), options: .init(contentName: "People"),
                    container: "org.example.test", home: devices[0].home, schema: personSchema)
            }
            let readers = [try await open(), try await open()]
            // A process drops all its locks on a file with any descriptor of it that it closes (fcntl(2)).
            #expect(throws: SQLite3Failure.self) { try sqlite3(file, "PRAGMA journal_mode = DELETE", patience: 0) }
            for reader in readers { #expect(try await reader.keys() == ["a"]) }
            for reader in readers { try await reader.close() }
            #expect(try sqlite3(file, "PRAGMA journal_mode = DELETE") == "delete\n")
        }
    }

    @Test("S-171: after a sign-out nothing of the account is in the local file, until it is asked for")
    func copied() async throws {
        try await withDevices(1) { devices, root in
            let alice = try AccountName("alice")
            let store = try await devices[0].follow()
            await #expect { try await store.copyRecords(of: alice) } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            try await store.settled()
            for key in ["a", "b"] { try await store.insert(key, first: "alice's") }
            try await store.settled()
            try devices[0].home.signOut()
            try await store.settled()
            #expect(try await store.keys() == [])
            try await store.insert("b", first: "mine")
            #expect(try await store.copyRecords(of: alice) == 1)
            #expect(try await store.rows("SELECT id, first FROM person ORDER BY id") == [["a", "alice's"], ["b", "mine"]])
            await #expect { try await store.copyRecords(of: AccountName("carol")) } throws: { ($0 as? UbiquitousStoreError)?.code == .unsupported }
            // It is the device's own: whoever comes next is given it, and alice's stays as it was.
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            try await store.settled()
            #expect(try await store.keys() == ["a", "b"])
            try devices[0].home.signIn(alice, containers: root)
            try await store.settled()
            #expect(try await store.rows("SELECT id, first FROM person ORDER BY id") == [["a", "alice's"], ["b", "alice's"]])
        }
    }

    @Test("S-122: the exchange with other devices runs at low priority where the app wants that, and saves do not", arguments: [true, false])
    func givingWay(isGiving: Bool) async throws {
        try await withDevices(2) { devices, root in
            let other = try await devices[1].open()
            try await other.insert("o")
            try await other.settled()
            let files = StallingFileLayer(below: root.appending("alice/org.example.test/CoreData"))
            files.go()
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.advanced.givesWay = isGiving
            let store = try await UbiquitousStore.open(
                at: devices[0].directory.appending("People.sqlite"), options: options, container: "org.example.test", home: devices[0].home,
                schema: personSchema, now: { [clock = devices[0].clock] in clock.now }, files: files)
            let usual = try await store.write { _ in clinux_nice() }
            try await store.settled()
            #expect(try await store.keys() == ["o"])
            // A queue's threads have the priority of what was asked of them, which may be a little higher or lower.
            let givesWay = files.niceness.map { $0 >= min(19, usual + 10) }
            #expect(!givesWay.isEmpty && givesWay.allSatisfy { $0 == isGiving }, "\(files.niceness), usually \(usual)")
            #expect(!isGiving || files.levels == [7])
            #expect(try await store.write { _ in clinux_nice() } < usual + 10)
            try await store.close()
        }
    }

    @Test("S-023, S-144: a store lives inside a file package, its write-ahead log too, and all that belongs to it goes where the package goes")
    func packaged() async throws {
        try await withDevices(2) { devices, _ in
            let package = devices[0].directory.appending("Trip.package")
            func open() async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: devices[0].directory.appending("Moved.package/Trip.sqlite"),
                    options: .init(contentName: "People", exchangesAutomatically: false), container: "org.example.test", home: devices[0].home,
                    schema: personSchema)
            }
            try FileManager.default.createDirectory(atPath: package.string, withIntermediateDirectories: true)
            let store = try await UbiquitousStore.open(
                at: package.appending("Trip.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                container: "org.example.test", home: devices[0].home, schema: personSchema)
            try await store.insert("a")
            try await store.settled()
            try await store.insert("unsent")
            #expect(store.file.starts(with: package))
            // What SQLite keeps beside the file lies in the package while it is open.
            let names = try FileManager.default.subpathsOfDirectory(atPath: devices[0].directory.string)
            let logs = names.filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }
            #expect(logs.count { $0.hasSuffix("store/Trip.sqlite-wal") } == 1 && logs.allSatisfy { $0.hasPrefix("Trip.package/") }, "\(logs)")
            try await store.close()
            let beside = try FileManager.default.contentsOfDirectory(atPath: devices[0].directory.string)
            #expect(Set(beside) == ["home", "Trip.package"])
            try FileManager.default.moveItem(atPath: package.string, toPath: devices[0].directory.appending("Moved.package").string)
            let moved = try await open()
            #expect(try await moved.keys() == ["a", "unsent"])
            let other = try await devices[1].open()
            try await settle(moved, other)
            #expect(try await other.keys() == ["a", "unsent"])
        }
    }
}

/// The kernel's files, which do not answer below a directory until they may.
private final class StallingFileLayer: FileLayer {
    private let directory: FilePath
    private let files = LinuxFileLayer()
    private let gate = DispatchSemaphore(value: 0)
    private let seen = Mutex((looks: 0, wasOnMainThread: false, niceness: Set<CInt>(), levels: Set<CInt>()))

    init(below directory: FilePath) { self.directory = directory }

    var looks: Int { seen.withLock { $0.looks } }
    var wasOnMainThread: Bool { seen.withLock { $0.wasOnMainThread } }
    /// The nice values, and the levels at the disk, of the threads that looked.
    var niceness: Set<CInt> { seen.withLock { $0.niceness } }
    var levels: Set<CInt> { seen.withLock { $0.levels } }

    /// Lets everybody go on.
    func go() { gate.signal() }

    private func wait(_ path: FilePath) -> LinuxFileLayer {
        guard path.starts(with: directory) else { return files }
        seen.withLock { seen in
            seen.looks += 1
            seen.wasOnMainThread = seen.wasOnMainThread || MainQueue.isHere
            seen.niceness.insert(clinux_nice())
            seen.levels.insert(clinux_io_level())
        }
        _ = gate.wait(timeout: .now() + 600)
        gate.signal()
        return files
    }

    func names(in directory: FilePath) throws(Errno) -> [String] { try wait(directory).names(in: directory) }
    func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] { try wait(file).read(file, limit: limit) }
    func size(of file: FilePath) throws(Errno) -> Int64 { try wait(file).size(of: file) }
    func kind(of path: FilePath) throws(Errno) -> FileKind? { try wait(path).kind(of: path) }
    func makeDirectory(_ path: FilePath) throws(Errno) { try wait(path).makeDirectory(path) }
    func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) { try wait(file).writeNew(file, bytes) }
    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) { try wait(to).renameNew(from, to: to) }
    func renameOver(_ from: FilePath, to: FilePath) throws(Errno) { try wait(to).renameOver(from, to: to) }
    func syncDirectory(_ directory: FilePath) throws(Errno) { try wait(directory).syncDirectory(directory) }
    func syncFile(_ file: FilePath) throws(Errno) { try wait(file).syncFile(file) }
    func remove(_ file: FilePath) throws(Errno) { try wait(file).remove(file) }
    func removeDirectory(_ directory: FilePath) throws(Errno) { try wait(directory).removeDirectory(directory) }
}
