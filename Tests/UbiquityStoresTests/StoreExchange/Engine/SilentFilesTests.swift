import Dispatch
import Foundation
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting
import Waiting

@testable import StoreExchange
@testable import StoreRecords
@testable import UbiquityStores

/// A file system that does not answer, and who waits for it.
struct SilentFilesTests {
    /// Holds up every operation below a directory until it is opened, or for two minutes, so that a fault ends a test.
    private final class Gate: Sendable {
        private struct State {
            var answers = 0
            var hasWaitedInVain = false
        }

        private let state = Mutex(State())
        private let semaphore = DispatchSemaphore(value: 0)
        private let looked = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))

        /// The kernel's files behind this gate.
        func files(below directory: FilePath) -> HookedFileLayer {
            HookedFileLayer { (_, path, _) throws(Errno) in
                if path.starts(with: directory) { self.pass() }
            }
        }

        private func pass() {
            looked.continuation.yield()
            let isOpen = semaphore.wait(timeout: .now() + 120) == .success
            semaphore.signal()
            state.withLock { state in
                state.answers += 1
                state.hasWaitedInVain = state.hasWaitedInVain || !isOpen
            }
        }

        func open() { semaphore.signal() }

        /// Waits until somebody looks.
        func firstLook() async { for await _ in looked.stream { return } }

        /// Whether anybody has got an answer.
        var hasAnswered: Bool { state.withLock { $0.answers > 0 } }
        var hasWaitedInVain: Bool { state.withLock { $0.hasWaitedInVain } }
    }

    @Test("S-018: looking containers up holds up neither the main actor nor other tasks, however many wait for a file system that does not answer")
    func lookingUp() async throws {
        try await withDevices(1) { devices, root in
            let (gate, home) = (Gate(), devices[0].home)
            let files = gate.files(below: root)
            // More than there are threads for tasks.
            let lookUps = (0..<ProcessInfo.processInfo.activeProcessorCount + 2).map { number in
                Task { @MainActor in try await UbiquityContainer("org.example.c\(number)", home: home, files: files) }
            }
            try await within("a look at the container") { await gate.firstLook() }
            try await within("the main actor") { await Task { @MainActor in }.value }
            #expect(!gate.hasAnswered)
            gate.open()
            var paths: Set<FilePath> = []
            for lookUp in lookUps { paths.insert(try await lookUp.value.path) }
            #expect(paths.count == lookUps.count)
            #expect(!gate.hasWaitedInVain)
        }
    }

    @Test(
        "S-037: local tables can be read before the container is looked at, and once its content has been read a store opens without an answer from it"
    )
    func localTables() async throws {
        try await withDevices(1) { devices, root in
            let local = migrator("CREATE TABLE draft (id TEXT NOT NULL PRIMARY KEY)")
            func open(behind gate: Gate) async throws -> UbiquitousStore {
                var options = UbiquitousStore.Options(contentName: "People")
                options.attachedDatabases = [.local(at: devices[0].directory.appending("Local.sqlite"), migrator: local)]
                return try await UbiquitousStore.open(
                    at: devices[0].directory.appending("People.sqlite"), options: options, container: "org.example.test", home: devices[0].home,
                    schema: personSchema, now: { [clock = devices[0].clock] in clock.now }, files: gate.files(below: root))
            }
            let drafts = "SELECT id FROM local.draft"
            let alice = try AccountName("alice")
            let (first, second) = (Gate(), Gate())
            let store = try await open(behind: first)
            try await store.execute("INSERT INTO local.draft VALUES ('d')")
            #expect(try await store.rows(drafts) == [["d"]])
            #expect(await store.place == .fallback(alice))
            #expect(!first.hasAnswered)
            first.open()
            try await store.insert("a")
            try await store.settled()
            try await store.close()

            let again = try await open(behind: second)
            #expect(await again.place == .account(alice))
            try await again.insert("b")
            #expect(try await again.keys() == ["a", "b"])
            #expect(try await again.rows(drafts) == [["d"]])
            #expect(!second.hasAnswered)
            second.open()
            try await again.settled()
            #expect(try await again.status().unpublished == 0)
            try await again.close()
            #expect(!first.hasWaitedInVain && !second.hasWaitedInVain)
        }
    }
}
