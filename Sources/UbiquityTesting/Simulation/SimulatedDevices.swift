internal import Foundation
public import SystemPackage
internal import UbiquityContainers
public import UbiquityStores

/// Several devices on one machine, and a synchroniser that carries files between their containers roots as Syncthing would.
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
/// Files are really copied: under a temporary name, then renamed. Deletions are carried; of a file that was changed on two devices apart from each other the
/// later change stays and the other becomes a conflict copy, named as Syncthing names it; an edit beats a deletion. What lies in a `.nosync` folder stays, and
/// so do symbolic links. An account's files go between the devices that have been signed in to it, and to no other. Where a device's ``SimulatedDevice/root``
/// itself is gone, nothing is carried from it or to it, as with a Syncthing folder whose marker is gone.
///
/// The order in which files arrive follows from the seed, and from the files' names: those that hold a new UUID differ from run to run.
public final class SimulatedDevices: Sendable {
    /// Where the devices' directories lie.
    public let directory: FilePath
    private let synchroniser: DeviceSynchroniser

    /// No devices yet, in a directory that stays.
    ///
    /// Tests call ``withSimulatedDevices(seed:isolation:_:)``.
    ///
    /// - Parameters:
    ///   - directory: where to make their directories; it is made where it is not there.
    ///   - seed: the order of what is carried follows from it.
    public init(in directory: FilePath, seed: UInt64 = 0) {
        self.directory = PathFacts.absolute(directory)
        synchroniser = DeviceSynchroniser(seed: seed)
    }

    /// Makes a device, signs it in, and connects it with the others.
    ///
    /// - Parameters:
    ///   - name: names its directory; one that is there, with all that it holds, is gone on with.
    ///   - account: the account to sign in to.
    ///   - clock: the device's wall clock.
    /// - Returns: the device, online.
    /// - Throws: `ContainerError`: `fileExists` where there is a device of that name, `invalidName` where it is none; or Foundation's error where a directory cannot be made.
    public func add(_ name: String, account: String = "alice", clock: ManualClock = ManualClock()) async throws -> SimulatedDevice {
        try await refuse(name)
        let device = try SimulatedDevice(name, in: directory, account: account, clock: clock)
        await synchroniser.add(device)
        return device
    }

    /// Connects another device, with a copy of everything that one has: a cloned home, or a disk that was restored elsewhere.
    ///
    /// - Parameters:
    ///   - device: one of these; no store of it is open.
    ///   - name: names the other's directory.
    /// - Returns: the other device, online, with a clock of its own that shows the same time.
    /// - Throws: `ContainerError`: `fileExists` where there is a device of that name, `invalidName` where it is none; or Foundation's error where a file cannot be copied.
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

    /// Takes a device offline: nothing is carried from it or to it, and its apps go on.
    ///
    /// - Parameter device: one of these. A file that is on its way arrives before this returns.
    public func pause(_ device: SimulatedDevice) async { await synchroniser.setPaused(true, device) }

    /// Takes a device online again; what has happened meanwhile, here and there, is carried by the next ``sync()``, or by ``run()``.
    ///
    /// - Parameter device: one of these.
    public func resume(_ device: SimulatedDevice) async { await synchroniser.setPaused(false, device) }

    /// Carries files between all devices that are online, in an order by the seed, until nothing is left.
    ///
    /// While apps go on writing it goes on too.
    ///
    /// - Returns: how many files were written or deleted.
    /// - Throws: `ContainerError` where a file cannot be read or written; `CancellationError`, after the files that were on their way.
    @discardableResult
    public func sync() async throws -> Int { try await synchroniser.carry() }

    /// Carries some files of all that are waiting, in an order by the seed, as a connection that breaks off would.
    ///
    /// - Parameter count: how many files are written or deleted at most; directories come and go with them, and do not count.
    /// - Returns: how many were; fewer where there are no more.
    /// - Throws: as ``sync()`` does.
    @discardableResult
    public func deliver(_ count: Int) async throws -> Int { try await synchroniser.carry(atMost: count) }

    /// Has stores exchange, and carries files, by turns, until there is nothing more to say.
    ///
    /// - Parameter stores: stores of devices that are online.
    /// - Throws: what `UbiquitousStore.settled()` throws, `suspended` where a container is gone; what ``sync()`` throws.
    public func settle(_ stores: UbiquitousStore...) async throws {
        while true {
            // `run()` may carry as well.
            let before = await synchroniser.moved
            for store in stores { try await store.settled() }
            try await sync()
            if await synchroniser.moved == before { return }
        }
    }

    /// Carries whatever changes, as it changes, until the task is cancelled; then it returns.
    ///
    /// - Throws: `ContainerError` where a file cannot be read or written, `TreeWatchingError` where a root cannot be watched.
    public func run() async throws { try await synchroniser.run() }

    /// Removes the devices with all that is on them.
    ///
    /// - Throws: `ContainerError` where something cannot be removed.
    public func remove() throws { try DeviceFiles.remove(directory) }
}

/// Runs a test with devices in a temporary directory, which is removed afterwards.
///
/// - Parameters:
///   - seed: the order of what is carried follows from it.
///   - isolation: whose isolation it keeps to.
///   - body: gets the devices, none yet. Stores that it leaves open lose their files.
/// - Returns: what the body returns.
/// - Throws: what the body throws; Foundation's error where the directory cannot be made.
public func withSimulatedDevices<Result>(
    seed: UInt64 = 0, isolation: isolated (any Actor)? = #isolation, _ body: (SimulatedDevices) async throws -> Result
) async throws -> Result {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-devices-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    let devices = SimulatedDevices(in: directory, seed: seed)
    defer { try? devices.remove() }
    return try await body(devices)
}
