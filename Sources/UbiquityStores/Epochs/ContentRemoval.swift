internal import GRDB
public import SystemPackage
public import UbiquityContainers

/// That somebody means to remove a store's content on all devices of the account.
///
/// ```swift
/// try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "Notes"))
/// ```
public struct RemovalConfirmation: Sendable, Hashable {
    /// The name of the content that is meant.
    public let contentName: String

    /// Every record of the content goes, on every device, those that are off now included.
    ///
    /// - Parameter contentName: the content's name, as the store was opened with.
    /// - Returns: the confirmation.
    public static func removeEverythingOnAllDevices(contentName: String) -> RemovalConfirmation { RemovalConfirmation(contentName: contentName) }
}

/// That a store's content has been removed, by this device or another, and the store is empty.
public struct ContentRemoval: Sendable, Hashable {
    /// The epoch that has begun.
    public var epoch: Int64
    /// What was set aside, which `ubcontrol kept` lists; nil where all had been sent.
    public var kept: KeptEntry?
    /// How many logs of this device nobody had read, and had gone from the container before they could be set aside.
    public var missing: Int

    package init(epoch: Int64, kept: KeptEntry?, missing: Int) {
        self.epoch = epoch
        self.kept = kept
        self.missing = missing
    }
}

extension UbiquitousStore {
    /// Removes the store's content on all devices of the account, and begins the next epoch.
    ///
    /// The epoch's mark is written first, durably: it decides, on this device at once, and on each other as soon as the mark is there. What this
    /// device had not sent is set aside, as is on each other device what had not reached this one; `ubcontrol kept` lists it. Then the store is
    /// empty, and the files of the content are removed, which mean nothing any more, but for those that another device has to set aside first: these go
    /// with a later exchange. Meanwhile nothing goes out or comes in. When it returns, all that is done, and the store is at once of use. After a crash on
    /// the way the next exchange completes the removal.
    ///
    /// - Parameter confirmation: names the content.
    /// - Returns: what was done on this device.
    /// - Throws: `UbiquitousStoreError`: `unsupported` where the confirmation names another content, `suspended` where the container is gone, and
    ///   nothing has been removed; else `fileSystem`, after which the next exchange goes on with it if the mark is written.
    @discardableResult
    public func removeUbiquitousContent(_ confirmation: RemovalConfirmation) async throws -> ContentRemoval {
        let name = engine.context.contentName
        guard confirmation.contentName == name else {
            throw UbiquitousStoreError(
                .unsupported, "The removal of “\(confirmation.contentName)” was confirmed, and this store's content is “\(name)”: nothing is removed."
            )
        }
        let removal = try await engine.removeContent()
        current.runner?.wake()
        return removal
    }

    /// Removes the store's content on all devices of the account that is signed in, and this device's file of it.
    ///
    /// It is ``removeUbiquitousContent(_:)`` for a store that is not open, and takes what opening takes. When it returns, the files of the content
    /// are gone, but for what another device has to set aside first; the store can be opened again, and is empty; the app's own tables, which never
    /// leave the device, have gone with the file. Where another process has the store open, or ``Options/existingDatabase`` is set, its file stays, empty but for these.
    ///
    /// - Parameters:
    ///   - path: where the app has its store.
    ///   - options: the content's name.
    ///   - confirmation: names the content.
    ///   - container: the container's identifier; nil for that of ``Options/containerIdentifier``, else the first that is declared.
    ///   - home: the user's own unless given.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: what was done on this device.
    /// - Throws: what opening throws, and ``removeUbiquitousContent(_:)``; `ContainerError` with `signedOut` where nobody is signed in. Nothing has been removed then, unless the error is `fileSystem`.
    @discardableResult
    public static func removeUbiquitousContentAndPersistentStore(
        at path: FilePath, options: Options, _ confirmation: RemovalConfirmation, container: String? = nil, home: DeviceHome? = nil,
        schema: SyncedSchema
    ) async throws -> ContentRemoval {
        var options = options
        options.exchangesAutomatically = false
        let container = try await UbiquityContainer(options.container(or: container), home: home)
        let store = try await open(at: path, options: options, in: container, schema: schema)
        let (file, sealer) = (store.file, store.current.sealer)
        do {
            // What waits in the fallback file has not been sent either.
            let files = StoreFiles(path: PathFacts.absolute(path), identifier: container.identifier, home: container.home, context: store.context)
            if try await files.exists(.fallback(container.account)) {
                let fallback = try await files.muted.open(.fallback(container.account))
                let join = StoreJoin(source: fallback, destination: store.current, conflictRetention: options.conflictRetention)
                try await blocking { try join.finish() }
                try fallback.pool.close()
            }
            let removal = try await store.removeUbiquitousContent(confirmation)
            // This device may not open the store again, and another may be off.
            await store.engine.removeEnded()
            try await store.close()
            // A new file would begin with the app's plain database again.
            if options.existingDatabase == nil {
                try await blocking {
                    _ = try StoreErasure(file: file, schema: schema).run { db in try Outbox.isEmpty(db) && !sealer.hasNotes(db) }
                }
            }
            return removal
        } catch {
            try? await store.close()
            throw error
        }
    }
}
