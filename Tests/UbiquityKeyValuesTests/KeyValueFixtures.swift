import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores
import UbiquityTesting

@testable import UbiquityKeyValues

/// A device with key-value stores: a home that is signed in, a time of day, and a clock for delays that stands still.
struct KeyValueDevice: Sendable {
    static let container = "org.example.test"

    let home: DeviceHome
    let root: FilePath
    let now = ManualClock()
    let delays = StillClock()

    init(_ name: String, in directory: FilePath, root: FilePath) throws {
        home = DeviceHome(directory.appending(name))
        self.root = root
        try signIn("alice")
    }

    /// The directory of the key-value stores.
    var directory: FilePath { home.path.appending("keyvalues") }

    func signIn(_ account: String) throws { try home.signIn(AccountName(account), containers: root) }

    func options(automatically: Bool = false) -> KeyValueOptions {
        var options = KeyValueOptions(container: Self.container, home: home)
        options.exchangesAutomatically = automatically
        options.clock = delays
        options.now = { [now] in now.now }
        return options
    }

    /// Opens a store, which exchanges only in `synchronize()` unless told otherwise.
    func open(automatically: Bool = false) async throws -> UbiquitousKeyValueStore {
        try await UbiquitousKeyValueStore.open(options(automatically: automatically))
    }
}

/// Runs a body with devices that share a containers root, and removes everything.
func withKeyValueDevices(_ count: Int, _ body: ([KeyValueDevice]) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let root = FilePath(path).appending("root")
    try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
    try await body(try (0..<count).map { try KeyValueDevice("device\($0)", in: FilePath(path), root: root) })
}

/// Synchronises stores by turns until what each has set has reached the others.
func settle(_ stores: UbiquitousKeyValueStore...) async throws {
    for _ in 0..<2 {
        for store in stores { try await store.synchronize() }
    }
}

extension UbiquitousKeyValueStore {
    /// The number of saves that have not been published yet.
    var unpublished: Int { get async throws { try await keeper.store?.status().unpublished ?? 0 } }
}

/// Returns the numbered key that follows a prefix, in an order that is that of the numbers.
func key(_ prefix: String, _ number: Int) -> String { prefix + String(10_000 + number).dropFirst() }
