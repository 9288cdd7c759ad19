internal import Foundation
public import SystemPackage
public import UbiquityContainers
public import UbiquityStores

/// A device in a directory: a home, its own containers root, and a clock.
///
/// ``SimulatedDevices`` contains several devices, and synchronises their roots; a ``FaultySynchroniser`` does so with
/// all allowed faults.
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
    /// The account that it first signed in to.
    public let account: String
    /// Its directory, which contains everything else.
    public let directory: FilePath
    /// Its home.
    public let home: DeviceHome
    /// Its containers root, which the synchroniser synchronises.
    public let root: FilePath
    /// Its wall clock.
    public let clock: ManualClock
    /// The faults of its changes of the container's files.
    public let faults: FileFaults
    private let seed: UInt64?

    /// Makes a device and signs it in.
    ///
    /// - Parameters:
    ///   - name: the name of its directory.
    ///   - directory: the parent of its directory.
    ///   - account: the account to sign in to.
    ///   - clock: the device's wall clock.
    ///   - seed: determines, together with the name, the identifiers of its peers, so that a run repeats exactly; nil
    ///     for new ones each time.
    /// - Throws: `ContainerError`, or Foundation's error when a directory cannot be created.
    public init(
        _ name: String, in directory: FilePath, account: String = "alice", clock: ManualClock = ManualClock(), seed: UInt64? = nil
    ) throws {
        self.name = name
        self.seed = seed
        faults = FileFaults(seed: seed.map { name.utf8.reduce($0) { $0 &* 31 &+ UInt64($1) } })
        self.account = account
        self.directory = directory.appending(name)
        self.clock = clock
        home = DeviceHome(self.directory.appending("home"))
        root = self.directory.appending("root")
        try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
        try home.signIn(AccountName(account), containers: root)
    }

    /// The default container.
    public static let defaultContainer = "org.example.simulated"

    /// Returns a path where an app on this device would keep a store: outside of containers.
    ///
    /// - Parameter name: the file's name, such as `Notes.sqlite`.
    /// - Returns: a path to open a store at; its directory need not exist.
    public func storePath(_ name: String) -> FilePath { directory.appending("app").appending(name) }

    /// Signs in to an account and replaces any other, with the device's containers root.
    ///
    /// - Parameter account: the account.
    /// - Throws: `ContainerError`; nothing has changed then.
    public func signIn(_ account: String) throws { try home.signIn(AccountName(account), containers: root) }

    /// Signs out; nothing in any container changes.
    ///
    /// - Throws: `ContainerError`.
    public func signOut() throws { try home.signOut() }

    /// Opens the device's container.
    ///
    /// - Parameter identifier: the container's identifier.
    /// - Returns: the container, created if it is new.
    /// - Throws: `ContainerError`.
    public func container(_ identifier: String = defaultContainer) async throws -> UbiquityContainer {
        try await UbiquityContainer(identifier, home: home, files: FaultyFileLayer(faults: faults))
    }

    /// Opens a store on this device, with its clock.
    ///
    /// - Parameters:
    ///   - contentName: the name of the content and of the store file.
    ///   - schema: the app's migrator and synced tables.
    ///   - exchangesAutomatically: whether the store exchanges automatically; if not, call `settled()`.
    ///   - conflictRetention: how long values that lost a conflict are kept, by this device's clock.
    ///   - baselines: when a baseline is written; nil for never.
    ///   - silenceLimit: how long a peer may leave logs unread before it is retired; nil for no limit.
    /// - Returns: the store.
    /// - Throws: `UbiquitousStoreError` or `ContainerError`.
    public func openStore(
        contentName: String = "Store", schema: SyncedSchema, exchangesAutomatically: Bool = false,
        conflictRetention: ConflictRetention = ConflictRetention(), baselines: BaselinePolicy? = BaselinePolicy(),
        silenceLimit: Duration? = nil
    ) async throws -> UbiquitousStore {
        var options = UbiquitousStore.Options(contentName: contentName, exchangesAutomatically: exchangesAutomatically)
        options.advanced.conflictRetention = conflictRetention
        options.advanced.baselines = baselines
        options.advanced.silenceLimit = silenceLimit
        return try await UbiquitousStore.open(
            at: storePath("\(contentName).sqlite"), options: options, in: container(), schema: schema,
            now: { [clock] in clock.now })
    }
}

extension SimulatedDevice {
    /// Closes a store as the end of its process would: data that SQLite has written stays, and nothing is cleaned up.
    ///
    /// - Parameter store: an idle store of this device; open it again afterwards.
    /// - Throws: Foundation's error when a file cannot be copied, or GRDB's.
    public func crash(_ store: UbiquitousStore) async throws {
        let copy = directory.appending("crash")
        try Self.copy(store.file, to: copy)
        try await store.close()
        try Self.replace(store.file, by: copy)
    }

    /// Makes a backup of a store's file.
    ///
    /// - Parameter store: an idle store of this device.
    /// - Throws: Foundation's error when a file cannot be copied.
    public func backUp(_ store: UbiquitousStore) throws { try Self.copy(store.file, to: directory.appending("backup")) }

    /// Replaces a store's file with the last backup.
    ///
    /// - Parameter file: a store's file; the store is closed.
    /// - Returns: whether there was a backup.
    /// - Throws: Foundation's error when a file cannot be copied.
    public func restore(_ file: FilePath) throws -> Bool {
        let copy = directory.appending("backup")
        guard FileManager.default.fileExists(atPath: copy.appending("main").string) else { return false }
        try Self.replace(file, by: copy)
        return true
    }

    /// Makes another device with a copy of everything on this one, like a cloned home; no store of this device may be
    /// open.
    ///
    /// - Parameters:
    ///   - name: the name of its directory.
    ///   - clock: its wall clock.
    /// - Returns: the other device.
    /// - Throws: Foundation's error when a file cannot be copied, or `ContainerError`.
    public func cloned(_ name: String, clock: ManualClock) throws -> SimulatedDevice {
        let other = directory.removingLastComponent().appending(name)
        try FileManager.default.copyItem(atPath: directory.string, toPath: other.string)
        let copy = try SimulatedDevice(name, in: directory.removingLastComponent(), account: account, clock: clock, seed: seed)
        // On a separate machine its containers would have an unchanged path.
        for known in try home.accounts(below: root) { try copy.home.signIn(known, containers: copy.root) }
        if let present = try home.account { try copy.home.signIn(present) } else { try copy.home.signOut() }
        return copy
    }

    private static let parts = [("", "main"), ("-wal", "wal")]

    private static func copy(_ file: FilePath, to directory: FilePath) throws {
        try? FileManager.default.removeItem(atPath: directory.string)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        for (suffix, name) in parts where FileManager.default.fileExists(atPath: file.string + suffix) {
            try FileManager.default.copyItem(atPath: file.string + suffix, toPath: directory.appending(name).string)
        }
    }

    private static func replace(_ file: FilePath, by directory: FilePath) throws {
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
        for (suffix, name) in parts where FileManager.default.fileExists(atPath: directory.appending(name).string) {
            try FileManager.default.copyItem(atPath: directory.appending(name).string, toPath: file.string + suffix)
        }
    }
}
