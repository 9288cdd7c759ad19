internal import Foundation
internal import GRDB
internal import Logging
internal import StoreExchange
public import StoreFormat
public import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension UbiquitousStore {
    /// Opens a store in a container with a scope.
    @concurrent
    static func open(
        at path: FilePath, options: Options, in scope: StoreScope, home: DeviceHome, schema: SyncedSchema, now: @escaping @Sendable () -> Date,
        files: any FileLayer, logger: Logger
    ) async throws -> UbiquitousStore {
        let keys = try checked(scope, options, home)
        let root = PathFacts.absolute(FilePath(scope.root))
        let record = try keys.record(at: root)
        guard let peer = PeerIdentifier(record.peer) else { preconditionFailure("a record that was read names a peer") }
        let kind = try AccountName(DeviceKeys.readerName)
        let container = UbiquityContainer(
            scope: try ContainerIdentifier(scope.container), kind: kind, peer: peer, home: home, root: root, files: files)
        for file in options.writtenFiles(at: path) { try StorePlace.check(file, in: container) }
        var schema = schema
        schema.hasScope = true
        var context = StoreContext(options: options, schema: schema, now: now, files: files, logger: logger)
        context.scope = ScopeContext(keys.container, keys, ScopeDirectory(container.path, keys.container, files))
        let file = StoreFile.path(
            for: path, peer: PeerIdentifier(account: DeviceKeys.readerName, uuid: record.device), contentName: options.contentName)
        let base = try await open(file, in: container, context)
        home.note(KnownStore(path: path, content: options.content, container: container.identifier))
        return UbiquitousStore(base, context)
    }

    private static func checked(_ scope: StoreScope, _ options: Options, _ home: DeviceHome) throws(UbiquitousStoreError) -> DeviceKeys {
        guard let identifier = ScopeIdentifier(scope.container) else {
            throw UbiquitousStoreError(
                .unsupported,
                "The scope names the container \(scope.container.debugDescription), which is no identifier of 52 digits in base 32; name one that `ubcontrol public create` has printed."
            )
        }
        guard !scope.root.contains("://") else {
            throw UbiquitousStoreError(
                .unsupported, "The scope lies at \(scope.root.debugDescription), and this version reads directories only; name the path of one.")
        }
        guard options.existingDatabase == nil, !options.rebuildsFromUbiquitousContent else {
            throw UbiquitousStoreError(
                .unsupported,
                "existingDatabase and rebuildsFromUbiquitousContent do not apply to a store with a scope, whose records belong to many accounts; leave them out."
            )
        }
        return DeviceKeys(identifier, in: home)
    }

    /// The account whose records this store writes, in a container with a scope.
    ///
    /// It is nil while this device is not enrolled, so that the store only reads, and in a plain container. No file is read.
    public var account: AccountIdentifier? { context.scope?.rights.account }

    /// Whether the account may change any record.
    ///
    /// It follows the account and the policy in effect, which ``StoreNotice/didChangeRights`` announces. No file is read.
    public var canModify: Bool { context.scope?.rights.allowsAny(among: current.file.shapes) ?? !context.isReadOnly }

    /// Returns whether the account may update a record, which need not exist.
    ///
    /// No file is read.
    ///
    /// - Parameter record: the record.
    /// - Returns: true in a store without a scope that can be written to.
    public func canUpdate(_ record: ObjectID) -> Bool { context.scope?.rights.allows(record, among: current.file.shapes) ?? !context.isReadOnly }

    /// Returns whether the account may delete a record.
    ///
    /// No file is read.
    ///
    /// - Parameter record: the record.
    /// - Returns: true in a store without a scope that can be written to.
    public func canDelete(_ record: ObjectID) -> Bool { canUpdate(record) }

    /// Returns the logs of other accounts that have no effect, or changes without effect, because their author had no right
    /// to make them.
    ///
    /// - Returns: the logs, by peer; none in a plain container.
    /// - Throws: GRDB's errors.
    public func rejected() async throws -> [RejectedLog] {
        guard context.scope != nil else { return [] }
        return try await current.pool.read { db in try RejectedLog.list(db) }
    }
}
