import Foundation
import GRDB
import Glibc
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

/// A store file that another process writes to.
struct SharedFileTests {
    @Test("a store that has been opened before opens, is read, and exchanges nothing while another process holds the write lock")
    func opensBesideAWriter() async throws {
        try await withDevices(1) { devices, _ in
            let first = try await devices[0].open()
            try await first.execute("INSERT INTO person (id, first) VALUES ('p', 'A')")
            try await first.settled()
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(path: first.file.string, configuration: configuration)
            try await first.close()
            try await other.writeWithoutTransaction { db in try db.execute(sql: "BEGIN IMMEDIATE") }
            // Each of these would wait half a minute for the lock, and fail.
            let second = try await devices[0].open()
            #expect(try await second.rows().count == 1)
            try await second.settled()
            try await other.writeWithoutTransaction { db in try db.execute(sql: "COMMIT") }
            try await second.execute("UPDATE person SET first = 'B'")
            #expect(try await second.sealedLogs().count == 1)
            try await second.close()
        }
    }

    @Test("the file of the lock names who exchanges, and is written only when that is another process than before")
    func lockFile() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open()
            let lock = store.file.string + "-exchange"
            let long = "1234567890\n"
            try Data(long.utf8).write(to: URL(filePath: lock))
            try await store.settled()
            #expect(try String(contentsOfFile: lock, encoding: .utf8) == "\(ProcessInfo.processInfo.processIdentifier)\n")
            let past = Date(timeIntervalSince1970: 1_000_000_000)
            try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: lock)
            try await store.execute("INSERT INTO person (id) VALUES ('p')")
            try await store.settled()
            #expect(try FileManager.default.attributesOfItem(atPath: lock)[.modificationDate] as? Date == past)
            try await store.close()
        }
    }

    @Test("who publishes or takes in many logs lets another process of the store in between two batches, which does the rest")
    func givesWay() async throws {
        try await withDevices(2) { devices, _ in
            func open(_ files: PausingFileLayer) async throws -> UbiquitousStore {
                try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: .init(contentName: "People", exchangesAutomatically: false),
                    in: UbiquityContainer("org.example.test", home: devices[0].home, files: files), schema: personSchema)
            }
            let (ours, theirs) = (PausingFileLayer(), PausingFileLayer())
            let store = try await open(ours)
            let other = try await open(theirs)
            try await store.settled()
            try await other.settled()
            for id in 0..<100 { try await store.execute("INSERT INTO person (id) VALUES ('\(id)')") }
            let turn = FilePath(store.file.string + "-turn-exchange")
            let task = Mutex<Task<Void, any Error>?>(nil)
            // The other comes while the first log is published, and waits.
            ours.atFirstLog {
                task.withLock { $0 = Task { try await other.settled() } }
                // A lock tells nobody when it is taken, and a callback on the exchange's thread cannot await. If the other never comes, the counts below are others.
                var looks = 0
                while looks < 60_000, (try? FileLock.ifFree(turn)).flatMap({ $0 }) != nil {
                    looks += 1
                    usleep(1000)
                }
            }
            try await store.settled()
            try await task.withLock { $0 }?.value
            #expect(ours.logs == 64 && theirs.logs == 36)
            #expect(try await store.status().unpublished == 0)
        }
    }
}

/// The kernel's files, which counts the logs that it gives their names, and does something before the first.
private final class PausingFileLayer: KernelFileLayer {
    private struct State {
        var logs = 0
        var action: (@Sendable () -> Void)?
    }

    private let files = LinuxFileLayer()
    private let state = Mutex(State())

    var logs: Int { state.withLock { $0.logs } }

    func atFirstLog(_ action: @escaping @Sendable () -> Void) { state.withLock { $0.action = action } }

    func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        if to.extension == "ublog" {
            let action = state.withLock { state in
                defer { state.action = nil }
                state.logs += 1
                return state.action
            }
            action?()
        }
        try files.renameNew(from, to: to)
    }
}
