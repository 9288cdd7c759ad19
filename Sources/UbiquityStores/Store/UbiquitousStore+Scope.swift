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
    ///
    /// `source` is what a public place is read from; nil for what its address names.
    @concurrent
    static func open(
        at path: FilePath, options: Options, in scope: StoreScope, home: DeviceHome, schema: SyncedSchema, now: @escaping @Sendable () -> Date,
        files: any FileLayer, logger: Logger, clock: any Clock<Duration>, source given: (any PlaceSource)? = nil
    ) async throws -> UbiquitousStore {
        let keys = try checked(scope, options, home)
        let source = try scope.isPlace ? given ?? PlaceSources.source(scope.root) : nil
        let root = try scope.directory(for: keys)
        if scope.isPlace { try ScopeRegistration(home: home, root: root, files: files).makeDirectories(of: keys.container) }
        let record = try keys.record(at: root)
        guard let peer = PeerIdentifier(record.peer) else { preconditionFailure("a record that was read names a peer") }
        let kind = try AccountName(DeviceKeys.readerName)
        let container = UbiquityContainer(
            scope: try ContainerIdentifier(scope.container), kind: kind, peer: peer, home: home, root: root, files: files)
        for file in options.writtenFiles(at: path) { try StorePlace.check(file, in: container) }
        var schema = schema
        schema.hasScope = true
        var context = StoreContext(options: options, schema: schema, now: now, files: files, logger: logger)
        let file = StoreFile.path(
            for: path, peer: PeerIdentifier(account: DeviceKeys.readerName, uuid: record.device), contentName: options.contentName)
        let place = source.map { _ in PlaceContext(mirror: FilePath(file.string + "-place")) }
        context.scope = ScopeContext(keys.container, keys, ScopeDirectory(container.path, keys.container, files), place: place)
        let base = try await open(file, in: container, context)
        home.note(KnownStore(path: path, content: options.content, container: container.identifier))
        guard let source, let place else { return UbiquitousStore(base, context) }
        let fetcher = PlaceFetcher(source: source, place: place, container: keys.container) { [runner = base.runner] in try await runner.readPlace() }
        let poller = PlacePoller(fetcher)
        if options.advanced.exchangesAutomatically, let polling = options.advanced.polling { poller.start(polling, clock: clock) }
        return UbiquitousStore(base, context, poller: poller)
    }

    private static func checked(_ scope: StoreScope, _ options: Options, _ home: DeviceHome) throws(UbiquitousStoreError) -> DeviceKeys {
        guard let identifier = ScopeIdentifier(scope.container) else {
            throw UbiquitousStoreError(
                .unsupported,
                "The scope names the container \(scope.container.debugDescription), which is no identifier of 52 digits in base 32; name one that `ubcontrol public create` has printed."
            )
        }
        guard scope.contributions == nil || scope.isPlace else {
            throw UbiquitousStoreError(
                .unsupported,
                "The scope lies in the directory \(scope.root.debugDescription), which also gets this device's files; contributingTo applies to the address of a public place."
            )
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

    /// Asks the store's public place for news now, as the store does from time to time.
    ///
    /// - Throws: `PlaceSourceError`; the errors of the exchange; `CancellationError`.
    package func pollPlace() async throws { try await poller?.poll() }

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
