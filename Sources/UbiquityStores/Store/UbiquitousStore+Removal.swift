internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
public import SystemPackage
public import UbiquityContainers

/// The confirmation that a store's content shall be removed on all devices of the account.
///
/// ```swift
/// try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: "Notes"))
/// ```
public struct RemovalConfirmation: Sendable, Hashable {
    /// The name of the content to remove.
    public let contentName: String

    /// Confirms that every record of the content goes, on every device, including those that are off now.
    ///
    /// - Parameter contentName: the content's name, with which the store was opened.
    /// - Returns: the confirmation.
    public static func removeEverythingOnAllDevices(contentName: String) -> RemovalConfirmation { RemovalConfirmation(contentName: contentName) }
}

extension UbiquitousStore {
    /// Removes the store's content on all devices of the account, and begins the next epoch.
    ///
    /// The mark of the epoch is written first, durably. It decides: on this device at once, on each other device once
    /// the mark arrives there. Saves that this device had not sent are set aside. Each other device sets aside the
    /// saves that had not reached this one. `ubcontrol kept` lists them. Then the store is empty, and the files of the
    /// content, which have no meaning any more, are removed. Files that another device must set aside first are removed
    /// by a later exchange. Meanwhile nothing goes out or comes in. When the method returns, all this is done, and the
    /// store can be used at once. After a crash in between, the next exchange completes the removal.
    ///
    /// - Parameter confirmation: names the content.
    /// - Returns: the result on this device.
    /// - Throws: `UbiquitousStoreError`: `unsupported` if the confirmation names another content, `suspended` if the
    ///   container is gone; nothing has been removed then. Otherwise `fileSystem`, after which the next exchange
    ///   continues the removal if the mark is written.
    @discardableResult
    public func removeUbiquitousContent(_ confirmation: RemovalConfirmation) async throws -> ContentRemoval {
        let name = runner.context.contentName
        guard confirmation.contentName == name else {
            throw UbiquitousStoreError(
                .unsupported, "The removal of “\(confirmation.contentName)” was confirmed, and this store's content is “\(name)”: nothing is removed."
            )
        }
        let removal = try await runner.removeContent()
        current.trigger?.wake()
        return removal
    }

    /// Returns the container from which the content is removed: the fixed one, or else the signed-in account's.
    private static func removalContainer(_ options: Options, _ name: String?, _ home: DeviceHome?) async throws -> UbiquityContainer {
        let (identifier, place) = try (options.identifier(or: name), options.home(or: home))
        if case .fixed(let container) = options.container { return container }
        return try await UbiquityContainer(identifier, home: place)
    }

    /// Removes the store's content on all devices of the signed-in account, and this device's file of it.
    ///
    /// With ``StoreOptions/Container/fixed(_:)`` it is the content of that container, whichever account is signed in.
    ///
    /// It is ``removeUbiquitousContent(_:)`` for a store that is not open, and takes the parameters of opening. When it
    /// returns, the files of the content are gone, except those that another device must set aside first. The store can
    /// be opened again, and is empty. The app's local tables, which never leave the device, are removed with the file.
    /// If another process has the store open, or ``StoreOptions/existingDatabase`` is set, the file stays, with nothing
    /// but the local tables.
    ///
    /// - Parameters:
    ///   - path: the path of the app's store.
    ///   - options: the options, with the content's name.
    ///   - confirmation: names the content.
    ///   - container: the container's identifier. Nil means ``StoreOptions/containerIdentifier``, or else the first
    ///     declared one.
    ///   - home: the device home. Nil means the user's own.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the result on this device.
    /// - Throws: the errors of opening and of ``removeUbiquitousContent(_:)``; `ContainerError` with `signedOut` if
    ///   nobody is signed in. Nothing has been removed then, unless the error is `fileSystem`.
    @discardableResult
    public static func removeUbiquitousContentAndPersistentStore(
        at path: FilePath, options: Options, _ confirmation: RemovalConfirmation, container: String? = nil, home: DeviceHome? = nil,
        schema: SyncedSchema
    ) async throws -> ContentRemoval {
        var options = options
        options.advanced.exchangesAutomatically = false
        let container = try await removalContainer(options, container, home)
        let store = try await open(at: path, options: options, in: container, schema: schema)
        let (file, sealer) = (store.file, store.current.sealer)
        do {
            // Saves in the fallback file have not been sent either.
            let files = StoreFiles(path: PathFacts.absolute(path), identifier: container.identifier, home: container.home, context: store.context)
            if try await files.exists(.fallback(container.account)) {
                let fallback = try await files.withoutObservers.open(.fallback(container.account))
                let join = StoreJoin(source: fallback, destination: store.current, conflictRetention: options.advanced.conflictRetention)
                try await blocking { try join.finish() }
                try fallback.pool.close()
            }
            let removal = try await store.removeUbiquitousContent(confirmation)
            // This device may never open the store again, and another may be off.
            await store.runner.removeEnded()
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
