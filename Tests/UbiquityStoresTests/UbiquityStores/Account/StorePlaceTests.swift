import Foundation
import GRDB
import Logging
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Where an app may put its store.
struct StorePlaceTests {
    private func open(_ device: TestDevice, at path: FilePath) async throws -> UbiquitousStore {
        try await .open(
            at: path, options: .init(contentName: "People", exchangesAutomatically: false), in: device.container(), schema: personSchema)
    }

    @Test("S-005: a store in a container's .nosync folder syncs like any other, and only who has that account's container finds it")
    func excludedFolder() async throws {
        try await withDevices(2) { devices, root in
            let container = try await devices[0].container()
            let path = container.path.appending("Private.nosync/Data/People.sqlite")
            let (first, second) = (try await open(devices[0], at: path), try await devices[1].open())
            try await first.execute("INSERT INTO person (id, first) VALUES ('a', 'Ann')")
            try await second.execute("INSERT INTO person (id, first) VALUES ('b', 'Bob')")
            try await settle(first, second)
            for store in [first, second] { #expect(try await store.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"]]) }
            #expect(first.file.starts(with: path.removingLastComponent()))
            try await first.close()
            try devices[0].home.signIn(AccountName("bob"), containers: root)
            #expect(try await devices[0].container().path != container.path)
            await #expect { try await open(devices[0], at: path) } throws: { isRefused($0, path) }
            try devices[0].home.signIn(AccountName("alice"), containers: root)
            let again = try await open(devices[0], at: path)
            #expect(try await again.rows("SELECT id FROM person ORDER BY id") == [["a"], ["b"]])
            try await again.close()
            try await second.close()
        }
    }

    @Test(
        "S-005: a store where a container is synchronised is refused, by whatever path, and nothing is made there",
        arguments: ["", "Documents", "link"])
    func synchronisedFolder(name: String) async throws {
        try await withDevices(1) { devices, _ in
            let container = try await devices[0].container()
            let link = devices[0].directory.appending("link")
            try FileManager.default.createSymbolicLink(atPath: link.string, withDestinationPath: container.path.string)
            let directory = name == "link" ? link : container.path.pushing(FilePath(name))
            let path = directory.appending("People.sqlite")
            let before = try FileManager.default.subpathsOfDirectory(atPath: container.path.string)
            await #expect { try await open(devices[0], at: path) } throws: { isRefused($0, path) }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: container.path.string) == before)
        }
    }

    /// Keeps what is logged.
    private final class Lines: LogHandler {
        let lines = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        var logLevel: Logger.Level {
            get { .trace }
            set {}
        }
        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level) \(event.message)") } }
    }

    @Test("S-147: a store on a network file system is warned of, with the reason; on a disk of this machine nothing is said")
    func network() {
        for (type, name) in [(UInt32(0x6969), "NFS"), (0xFF53_4D42, "CIFS"), (0xEF53, nil as String?)] {
            let log = Lines()
            var asked: [FilePath] = []
            StorePlace.warn(
                of: "/home/ann/App/Notes.sqlite",
                fileSystem: { path in
                    asked.append(path)
                    return path == "/home" ? FileSystemFacts(type: type, size: 1, available: 1) : nil
                }, logger: Logger(label: "") { _ in log })
            #expect(asked == ["/home/ann/App", "/home/ann", "/home"])
            let lines = log.lines.withLock { $0 }
            #expect(lines.count == (name == nil ? 0 : 1))
            if let name { #expect(lines.first?.hasPrefix("warning /home/ann/App/Notes.sqlite lies on a network file system (\(name))") == true) }
        }
    }

    @Test("S-147: opening warns of a store, and of a written file beside it, on a network file system, and opens it; elsewhere it says nothing")
    func openingOnNetwork() async throws {
        try await withDevices(1) { devices, _ in
            let device = devices[0]
            let far = device.directory.appending("Far")
            try FileManager.default.createDirectory(atPath: far.string, withIntermediateDirectories: true)
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.attachedDatabases = [
                .local(at: far.appending("Local.sqlite"), migrator: migrator("CREATE TABLE window (id INTEGER PRIMARY KEY)"))
            ]
            let container = try await device.container()
            /// Opens a store, twice where it can be: for one container, and so that it follows the account.
            func warnings(at path: FilePath, farType: UInt32) async throws -> [String] {
                let log = Lines()
                let logger = Logger(label: "") { _ in log }
                let fileSystem: @Sendable (FilePath) -> FileSystemFacts? = { path in
                    FileSystemFacts(type: path.starts(with: far) ? farType : 0xEF53, size: 1, available: 1)
                }
                for follows in [false, true] {
                    let store =
                        follows
                        ? try await UbiquitousStore.open(
                            at: path, options: options, container: "org.example.test", home: device.home, schema: personSchema, now: { Date() },
                            logger: logger, fileSystem: fileSystem)
                        : try await UbiquitousStore.open(
                            at: path, options: options, in: container, schema: personSchema, now: { Date() }, logger: logger, fileSystem: fileSystem)
                    try await store.execute("INSERT INTO person (id) VALUES (?)", [UUID().uuidString])
                    try await store.close()
                }
                return log.lines.withLock { $0.filter { $0.hasPrefix("warning") } }
            }
            let (near, remote) = (device.directory.appending("Near.sqlite"), far.appending("Far.sqlite"))
            func text(_ path: FilePath) -> String {
                "warning \(path) lies on a network file system (NFS), where SQLite can lose or damage data; put the store on a disk of this machine."
                    + " The container may stay where it is."
            }
            let local = far.appending("Local.sqlite")
            #expect(try await warnings(at: remote, farType: 0x6969) == [text(remote), text(local), text(remote), text(local)])
            #expect(try await warnings(at: near, farType: 0x6969) == [text(local), text(local)])
            #expect(try await warnings(at: remote, farType: 0xEF53) == [])
        }
    }

    @Test("S-005: a store in another account's container is refused wherever that lies, one among containers and a written table file beside it too")
    func otherPlaces() async throws {
        try await withDevices(1) { devices, root in
            let device = devices[0]
            let alices = try await device.container()
            let other = device.directory.appending("other")
            try FileManager.default.createDirectory(atPath: other.string, withIntermediateDirectories: true)
            try device.home.signIn(AccountName("bob"), containers: other)
            for name in ["Private.nosync/People.sqlite", "Documents/People.sqlite"] {
                let path = alices.path.pushing(FilePath(name))
                await #expect { try await open(device, at: path) } throws: { isRefused($0, path) }
            }
            for path in [other.appending("People.sqlite"), other.appending("bob/People.sqlite"), other.appending("bob/Deep/Er/People.sqlite")] {
                await #expect { try await open(device, at: path) } throws: { isRefused($0, path) }
            }
            let path = try await device.container().documents.appending("Local.sqlite")
            var options = UbiquitousStore.Options(contentName: "People", exchangesAutomatically: false)
            options.attachedDatabases = [.local(at: path, migrator: migrator("CREATE TABLE window (id INTEGER PRIMARY KEY)"))]
            await #expect {
                try await UbiquitousStore.open(
                    at: device.directory.appending("People.sqlite"), options: options, in: device.container(), schema: personSchema)
            } throws: { isRefused($0, path) }
        }
    }

    private func isRefused(_ error: any Error, _ path: FilePath) -> Bool {
        let error = error as? UbiquitousStoreError
        return error?.code == .unsupported && error?.path == path
    }
}
