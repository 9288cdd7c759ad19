internal import Dispatch
internal import Foundation
public import UbiquityContainers

/// Small values by key, which all devices of an account share: Cocoa's `NSUbiquitousKeyValueStore`.
///
/// There is one for each account and container. Reads and sets are immediate and never wait: they work on memory. Sets
/// are saved to a file of this device a moment later, many in one transaction, and exchanged with the account's other
/// devices. Of two values for one key the later one wins, and a removal counts as a value.
///
/// ```swift
/// let store = try await UbiquitousKeyValueStore.open(container: "org.example.notes")
/// try store.set("dark", forKey: "theme")
/// for await change in store.changes {
///     if change.keys.contains("theme") { show(store.string(forKey: "theme") ?? "light") }
/// }
/// ```
///
/// While nobody is signed in, the store keeps its values on this device; the account that signs in receives them. It
/// is meant for settings: ``KeyValueLimits`` says how much it holds. <doc:UbiquityKeyValues> describes what a program can
/// rely on.
public final class UbiquitousKeyValueStore: Sendable {
    /// The changes that others have made: each observer has its own sequence, from the moment it begins to iterate.
    public var changes: KeyValueChanges { KeyValueChanges(broadcast: shared.changes) }

    let shared = SharedKeyValues()
    let keeper: KeyValueKeeper

    private init(_ options: KeyValueOptions, opensLater: Bool) {
        keeper = KeyValueKeeper(options, shared, opensLater: opensLater)
        // Not by the keeper: an observer may wait for it, or for the main queue, whose thread may wait for it.
        let poster = DispatchQueue(label: "ubiquity.keyvalues.changes")
        shared.changes.relay { [weak self] change in
            poster.async { [weak self] in
                guard let self else { return }
                NotificationCenter.default.post(
                    name: Self.didChangeExternally, object: self,
                    userInfo: [Self.changeReasonKey: change.reason.rawValue, Self.changedKeysKey: change.keys])
            }
        }
    }

    /// Makes a store that works at once, with the given options.
    package convenience init(_ options: KeyValueOptions) {
        self.init(options, opensLater: true)
        keeper.openLater()
    }

    /// Makes a store that works at once, while its file is opened in the background.
    ///
    /// Until the file is open, reads return only what has been set in this process; then the values of the file are
    /// announced as a change with the reason ``KeyValueChange/Reason/initialSync``, and a value that was set meanwhile
    /// wins. If the file cannot be opened, the store tries again with growing pauses, ``failure`` gives the reason, and
    /// ``save()`` throws it.
    ///
    /// - Parameters:
    ///   - container: the container's identifier, such as `org.example.notes`; nil for the first declared one.
    ///   - home: the device home; nil for the user's own.
    ///   - delay: how long sets are collected for one save, from ten milliseconds to a minute.
    public convenience init(container: String? = nil, home: DeviceHome? = nil, delay: Duration = .milliseconds(200)) {
        var options = KeyValueOptions(container: container, home: home)
        options.delay = delay
        self.init(options)
    }

    /// Opens a store, and returns when its values can be read.
    ///
    /// It reads no file of the container, so it does not wait for a file system or another device.
    ///
    /// - Parameters:
    ///   - container: the container's identifier, such as `org.example.notes`; nil for the first declared one.
    ///   - home: the device home; nil for the user's own.
    ///   - delay: how long sets are collected for one save, from ten milliseconds to a minute.
    /// - Returns: the store.
    /// - Throws: `UbiquitousStoreError` if the file, in `keyvalues` of the home, cannot be opened; `ContainerError` if no
    ///   container is named or declared, or the home cannot be read.
    public static func open(
        container: String? = nil, home: DeviceHome? = nil, delay: Duration = .milliseconds(200)
    ) async throws -> UbiquitousKeyValueStore {
        var options = KeyValueOptions(container: container, home: home)
        options.delay = delay
        return try await open(options)
    }

    /// Opens a store with the given options.
    package static func open(_ options: KeyValueOptions) async throws -> UbiquitousKeyValueStore {
        let store = UbiquitousKeyValueStore(options, opensLater: false)
        try await store.keeper.open()
        return store
    }

    deinit { Task { [keeper] in await keeper.finish() } }

    /// Why the last attempt to open, save or read the file failed; nil if it did not.
    ///
    /// Nothing that was set is lost: the store tries again.
    public var failure: (any Error)? { shared.failure }

    /// Saves everything that has been set, without waiting for the delay.
    ///
    /// What has been set before the call is on this device's disk when it returns, and survives the end of the process.
    /// A cancelled task does not end the save.
    ///
    /// - Throws: `UbiquitousStoreError` or GRDB's errors, or why the file cannot be opened. What was set stays in memory,
    ///   and the store tries again. ``KeyValueError`` with `waitsForAccount` if some of it was set for an account that has signed out
    ///   meanwhile: that part stays in memory until the account returns, and everything else is saved.
    public func save() async throws { try await keeper.save() }

    /// Saves everything that has been set, exchanges with the other devices, and reads what has come from them.
    ///
    /// There is no need to call it: the store does all of this by itself. While nobody is signed in, it only saves.
    ///
    /// - Throws: the errors of ``save()``; `UbiquitousStoreError` with `suspended` or `paused` if there is nothing to
    ///   exchange with now, and everything is saved then.
    public func synchronize() async throws { try await keeper.synchronize() }

    /// Saves everything that has been set, and closes the file; sets throw from then on.
    ///
    /// A store that is released without this call does the same in the background.
    ///
    /// - Throws: the errors of ``save()``, and the store stays open and keeps what was set; with `waitsForAccount` it is closed, and names
    ///   a key whose value is lost. GRDB's error of closing.
    public func close() async throws { try await keeper.close() }
}
