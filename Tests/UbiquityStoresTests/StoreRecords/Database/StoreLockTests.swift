import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// The lock of one process on something of a store.
struct StoreLockTests {
    @Test("a lock is had once, names its process, and is free when it is let go")
    func once() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("Notes.sqlite-open")
            var first = try StoreLock.take(file, within: .zero, unless: { false })
            #expect(first != nil && StoreLock.isTaken(file))
            #expect(StoreLock.holder(of: file) == " (process \(getpid()))")
            let second = try StoreLock.take(file, within: .zero, unless: { false })
            #expect(second == nil)
            first = nil
            // A process that another test starts has a copy of the descriptor until it executes its program.
            try await until("the lock is free") { !StoreLock.isTaken(file) }
            let third = try StoreLock.take(file, within: .seconds(600), unless: { false })
            #expect(third != nil)
        }
    }

    @Test("a wait for a lock ends where it is told to, long before its limit")
    func stopped() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("Notes.sqlite-open")
            let first = try StoreLock.take(file, within: .zero, unless: { false })
            var asked = 0
            let second = try StoreLock.take(file, within: .seconds(3600)) {
                asked += 1
                return asked > 3
            }
            #expect(second == nil && asked == 4)
            withExtendedLifetime(first) {}
        }
    }

    @Test("a lock whose file cannot be made is an error that names it, and counts as free")
    func impossible() async throws {
        try await withTemporaryDirectory { directory in
            let file = directory.appending("absent").appending("Notes.sqlite-open")
            let error = #expect(throws: UbiquitousStoreError.self) { try StoreLock.take(file, within: .zero, unless: { false }) }
            #expect(error?.code == .fileSystem && error?.path == file)
            #expect(!StoreLock.isTaken(file) && StoreLock.holder(of: file) == "")
        }
    }

    @Test("the locks of a store lie beside it, and are known by their names")
    func names() {
        let store = FilePath("/data/Notes.sqlite")
        #expect(
            StoreLock.Name.allCases.map { $0.file(of: store).string }
                == ["-open", "-exchange", "-turn-exchange", "-use"].map { "/data/Notes.sqlite\($0)" })
        func isLock(_ path: String) -> Bool { Array(path.utf8).withUnsafeBytes(StoreLock.isLock) }
        for name in StoreLock.Name.allCases { #expect(isLock(name.file(of: store).string)) }
        for other in ["/data/Notes.sqlite", "/data/Notes.sqlite-wal", "/data/open"] { #expect(!isLock(other)) }
    }

    @Test("the holder of an exchange sees that another waits, and the one after the next waits for the turn")
    func lease() async throws {
        try await withTemporaryDirectory { directory in
            let store = directory.appending("Notes.sqlite")
            var lease = try ExchangeLease.take(store, within: .zero, unless: { false })
            // A process that another test starts has a copy of the turn's descriptor until it executes its program.
            try await until("nobody waits") { lease?.isAwaited == false }
            let turn = try StoreLock.take(StoreLock.Name.turn.file(of: store), within: .seconds(600), unless: { false })
            #expect(lease?.isAwaited == true)
            let second = try ExchangeLease.take(store, within: .zero, unless: { false })
            #expect(second == nil)
            withExtendedLifetime(turn) {}
            lease = nil
        }
    }

    @Test("the table that an app's triggers ask says 1 for an import, 2 for a policy that puts a value back, else 0")
    func modes() {
        let statements = [Capture.Mode.noting, .importing, .puttingBack].map(Capture.statement)
        #expect(statements == (0...2).map { "UPDATE ubiquity_import SET active = \($0)" })
    }
}
