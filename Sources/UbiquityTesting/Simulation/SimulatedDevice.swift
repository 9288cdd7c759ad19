internal import Foundation
public import SystemPackage
public import UbiquityContainers
public import UbiquityStores

/// A device in a directory: a home, a containers root of its own, a clock.
///
/// A ``FaultySynchroniser`` moves files between the roots of several.
///
/// ```swift
/// let desk = try SimulatedDevice("desk", in: directory, account: "alice")
/// let phone = try SimulatedDevice("phone", in: directory, account: "alice")
/// var synchroniser = FaultySynchroniser(desk, phone, seed: 1)
/// let store = try await desk.openStore(contentName: "Notes", schema: schema)
/// try await store.write { … }
/// try await store.settled()
/// try synchroniser.deliverAll()
/// ```
public struct SimulatedDevice: Sendable {
    /// The device's name.
    public let name: String
    /// Its directory, which holds everything of it.
    public let directory: FilePath
    /// Its home.
    public let home: DeviceHome
    /// Its copy of what the synchroniser keeps.
    public let root: FilePath
    /// Its wall clock.
    public let clock: ManualClock

    /// Makes a device and signs it in.
    ///
    /// - Parameters:
    ///   - name: names its directory.
    ///   - directory: where to make that.
    ///   - account: the account to sign in to.
    ///   - clock: the device's wall clock.
    /// - Throws: `ContainerError`, or Foundation's error where a directory cannot be made.
    public init(_ name: String, in directory: FilePath, account: String = "alice", clock: ManualClock = ManualClock()) throws {
        self.name = name
        self.directory = directory.appending(name)
        self.clock = clock
        home = DeviceHome(self.directory.appending("home"))
        root = self.directory.appending("root")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        try home.signIn(AccountName(account), containers: root)
    }

    /// The device's container.
    ///
    /// - Parameter identifier: the container's.
    /// - Returns: the container, made if it is new.
    /// - Throws: `ContainerError`.
    public func container(_ identifier: String = "org.example.simulated") async throws -> UbiquityContainer {
        try await UbiquityContainer(identifier, home: home)
    }

    /// Opens a store on this device, by its clock.
    ///
    /// - Parameters:
    ///   - contentName: the content's name, and the store file's.
    ///   - schema: the app's migrator and synced tables.
    ///   - exchangesAutomatically: whether changes come and go by themselves; without it, call `settled()`.
    /// - Returns: the store.
    /// - Throws: `UbiquitousStoreError` or `ContainerError`.
    public func openStore(contentName: String = "Store", schema: SyncedSchema, exchangesAutomatically: Bool = false) async throws -> UbiquitousStore {
        try await UbiquitousStore.open(
            at: directory.appending("app").appending("\(contentName).sqlite"),
            options: .init(contentName: contentName, exchangesAutomatically: exchangesAutomatically), in: container(), schema: schema,
            now: { [clock] in clock.now })
    }
}
