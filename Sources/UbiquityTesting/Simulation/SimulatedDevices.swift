internal import Foundation
public import SystemPackage
internal import UbiquityContainers
public import UbiquityStores

/// Several devices on one machine, and a synchroniser that transfers files between their containers roots as Syncthing
/// would.
///
/// ```swift
/// try await withSimulatedDevices(seed: 7) { devices in
///     let mac = try await devices.add("mac"), phone = try await devices.add("phone")
///     let store = try await UbiquitousStore.open(at: mac.storePath("Notes.sqlite"), options: options, home: mac.home, schema: schema)
///     try await store.write { … }
///     try await store.publish()
///     await devices.pause(phone)
///     try await devices.sync()                    // until nothing is left to carry
///     try mac.deleteContainer("org.example.notes")
///     await devices.resume(phone)
///     try await devices.sync()                    // the phone's is emptied too
/// }
/// ```
///
/// The synchroniser really copies files: under a temporary name, followed by a rename. It transfers deletions. If a
/// file was changed on two devices independently, the later change stays and the other becomes a conflict copy, named
/// as Syncthing names it; an edit wins over a deletion. Files in a `.nosync` folder stay on their device, and so do
/// symbolic links. An account's files go only between the devices that have been signed in to it. If a device's
/// ``SimulatedDevice/root`` itself is gone, no file goes from it or to it, as with a Syncthing folder without its
/// marker.
///
/// The seed and the files' names determine the order of arrival: names that contain a new UUID differ from run to run.
public final class SimulatedDevices: Sendable {
    /// The directory of the devices' directories.
    public let directory: FilePath
    private let synchroniser: DeviceSynchroniser

    /// Makes an empty set of devices in a directory that stays.
    ///
    /// Tests call ``withSimulatedDevices(seed:isolation:_:)``.
    ///
    /// - Parameters:
    ///   - directory: the parent of their directories; it is created if it does not exist.
    ///   - seed: determines the order of transfers.
    public init(in directory: FilePath, seed: UInt64 = 0) {
        self.directory = PathFacts.absolute(directory)
        synchroniser = DeviceSynchroniser(seed: seed)
    }

    /// Makes a device, signs it in, and connects it with the others.
    ///
    /// - Parameters:
    ///   - name: the name of its directory; an existing directory is used with its contents.
    ///   - account: the account to sign in to.
    ///   - clock: the device's wall clock.
    /// - Returns: the device, online.
    /// - Throws: `ContainerError`: `fileExists` when a device of that name exists, `invalidName` when the name is
    ///   invalid; or Foundation's error when a directory cannot be created.
    public func add(_ name: String, account: String = "alice", clock: ManualClock = ManualClock()) async throws -> SimulatedDevice {
        try await refuse(name)
        let device = try SimulatedDevice(name, in: directory, account: account, clock: clock)
        await synchroniser.add(device)
        return device
    }

    /// Connects another device with a copy of everything on one device, like a cloned home, or a disk restored
    /// elsewhere.
    ///
    /// - Parameters:
    ///   - device: one of these devices; no store of it is open.
    ///   - name: the name of the new device's directory.
    /// - Returns: the new device, online, with its own clock that shows an equal time.
    /// - Throws: `ContainerError`: `fileExists` when a device of that name exists, `invalidName` when the name is
    ///   invalid; or Foundation's error when a file cannot be copied.
    public func clone(_ device: SimulatedDevice, as name: String) async throws -> SimulatedDevice {
        try await refuse(name)
        let other = try device.cloned(name, clock: ManualClock(device.clock.now))
        await synchroniser.add(other)
        return other
    }

    private func refuse(_ name: String) async throws {
        if let fault = PathComponentRule.fault(in: name) {
            throw ContainerError(.invalidName, "The device name \(name.debugDescription) \(fault); choose one like mac.")
        }
        guard await synchroniser.has(name) else { return }
        throw ContainerError(.fileExists, "There is a device “\(name)” already; choose another name.", path: directory.appending(name))
    }

    /// Takes a device offline: no file goes from it or to it, and its apps continue.
    ///
    /// - Parameter device: one of these devices. A running transfer is finished before this returns.
    public func pause(_ device: SimulatedDevice) async { await synchroniser.setPaused(true, device) }

    /// Takes a device online again; the next ``sync()``, or ``run()``, transfers all changes from the time offline.
    ///
    /// - Parameter device: one of these devices.
    public func resume(_ device: SimulatedDevice) async { await synchroniser.setPaused(false, device) }

    /// Transfers files between all online devices, in an order by the seed, until nothing is left.
    ///
    /// While apps keep writing, it keeps transferring.
    ///
    /// - Returns: the number of files written or deleted.
    /// - Throws: `ContainerError` when a file cannot be read or written; `CancellationError`, after the running
    ///   transfers.
    @discardableResult
    public func sync() async throws -> Int { try await synchroniser.carry() }

    /// Transfers some of the waiting files, in an order by the seed, like a connection that breaks off.
    ///
    /// - Parameter count: the greatest number of files to write or delete; directories are created and deleted with
    ///   them, and do not count.
    /// - Returns: the number of files; smaller if there are no more.
    /// - Throws: as ``sync()`` does.
    @discardableResult
    public func deliver(_ count: Int) async throws -> Int { try await synchroniser.carry(atMost: count) }

    /// Alternates between exchanges of stores and transfers of files, until no changes are left.
    ///
    /// - Parameter stores: stores of devices that are online.
    /// - Throws: the errors of `UbiquitousStore.settled()`, `suspended` when a container is gone; the errors of
    ///   ``sync()``.
    public func settle(_ stores: UbiquitousStore...) async throws {
        while true {
            // A concurrent `run()` may transfer files too.
            let before = await synchroniser.moved
            for store in stores { try await store.settled() }
            try await sync()
            if await synchroniser.moved == before { return }
        }
    }

    /// Transfers files whenever they change, until the task is cancelled; then it returns.
    ///
    /// - Throws: `ContainerError` when a file cannot be read or written, `TreeWatchingError` when a root cannot be
    ///   watched.
    public func run() async throws { try await synchroniser.run() }

    /// Removes the devices with all their files.
    ///
    /// - Throws: `ContainerError` when an entry cannot be removed.
    public func remove() throws { try DeviceFiles.remove(directory) }
}

/// Runs a test with devices in a temporary directory, which is removed afterwards.
///
/// - Parameters:
///   - seed: determines the order of transfers.
///   - isolation: the isolation of the caller, which the body keeps.
///   - body: receives an empty set of devices. Stores that it leaves open lose their files.
/// - Returns: the result of the body.
/// - Throws: the error of the body; Foundation's error when the directory cannot be created.
public func withSimulatedDevices<Result>(
    seed: UInt64 = 0, isolation: isolated (any Actor)? = #isolation, _ body: (SimulatedDevices) async throws -> Result
) async throws -> Result {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-devices-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    let devices = SimulatedDevices(in: directory, seed: seed)
    defer { try? devices.remove() }
    return try await body(devices)
}
