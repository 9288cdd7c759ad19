internal import Foundation
internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
public import SystemPackage
public import UbiquityContainers

extension UbiquitousStore {
    /// Opens an account's file on this device for reading only, whether or not the account is signed in.
    ///
    /// Nothing is written, sealed, migrated or exchanged, no container is accessed, and the store stays with that file.
    /// It attaches only the ``StoreOptions/attachedDatabases`` that are read-only.
    ///
    /// - Parameters:
    ///   - path: the path that the app gives its store.
    ///   - account: an account that has been signed in on this device.
    ///   - options: the content's name.
    ///   - container: the container's identifier. Nil means ``StoreOptions/containerIdentifier``, or else the first
    ///     declared one.
    ///   - home: the device home; nil for the user's own.
    ///   - schema: the app's migrator and synced tables.
    /// - Returns: the store. Writes and exchanges throw `UbiquitousStoreError` with `readOnly`, or GRDB's
    ///   `SQLITE_READONLY`.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the account has no file, or the file must be migrated
    ///   first, by opening it while the account is signed in; `ContainerError` if the device home cannot be read.
    public static func openReadOnly(
        at path: FilePath, account: AccountName, options: Options, container: String? = nil, home: DeviceHome? = nil, schema: SyncedSchema
    ) async throws -> UbiquitousStore {
        let path = try checked(path, options)
        let home = try options.home(or: home) ?? DeviceHome.standard()
        let identifier = try UbiquityContainer.identifier(options.identifier(or: container), in: home)
        var context = StoreContext(options: options, schema: schema, now: { Date() }, files: LinuxFileLayer())
        context.isReadOnly = true
        let files = StoreFiles(path: path, identifier: identifier, home: home, context: context)
        guard try await files.exists(.account(account)), let file = try files.file(of: .account(account)) else {
            throw UbiquitousStoreError(
                .unsupported, "There is no file of \(account) at \(path): the account's content has not been read on this device.", path: path)
        }
        let peer = try home.peer(of: account, in: identifier)
        let expected = StoreState(
            account: account.description, container: identifier.description, content: options.content, peer: peer, epoch: 1, sequence: 0,
            predecessor: nil, clock: .least, attached: false, receipt: 0)
        return try await UbiquitousStore(StoreBase.openReadOnly(file, expected: expected, context), context)
    }
}

extension StoreBase {
    /// Opens an existing file, and writes nothing.
    static func openReadOnly(_ path: FilePath, expected: StoreState, _ context: StoreContext) async throws -> StoreBase {
        let file = try await blocking {
            try StoreFile.openReadOnly(
                path, schema: context.schema, expected: expected, attached: context.options.attachedDatabases.filter { !$0.isWritten })
        }
        return try await make(file, in: nil, context)
    }
}
