internal import Foundation
internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// What stays as it is while a store is open, whichever file it uses.
struct StoreContext: Sendable {
    let container: UbiquityContainer
    let options: UbiquitousStore.Options
    let schema: SyncedSchema
    let now: @Sendable () -> Date
    let notices = Broadcast<StoreNotice>()
    let progress = Broadcast(present: ImportProgress(), buffering: .bufferingNewest(1))
}

/// One SQLite file in use beneath a store, and what moves logs between it and the container.
final class StoreBase: Sendable {
    let file: StoreFile
    let sealer: Sealer
    let engine: StoreEngine
    let runner: StoreRunner?
    var pool: DatabasePool { file.pool }

    private init(file: StoreFile, sealer: Sealer, engine: StoreEngine, runner: StoreRunner?) {
        self.file = file
        self.sealer = sealer
        self.engine = engine
        self.runner = runner
    }

    deinit { runner?.cancel() }

    /// Opens a file, or makes it, and begins to exchange.
    static func open(
        _ path: FilePath, _ context: StoreContext, copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreBase {
        let (container, options, schema) = (context.container, context.options, context.schema)
        let newState = StoreState(
            account: container.account.description, container: container.identifier.description, content: options.contentName, peer: container.peer,
            epoch: 1, sequence: 0, predecessor: nil, clock: .least, attached: false, receipt: 0)
        let file = try await blocking {
            try StoreFile.open(
                path, schema: schema, newState: newState, plain: options.existingDatabase, attached: options.attachedDatabases,
                files: container.files, copying: copying)
        }
        let state = try await file.pool.read { db in try StoreState.read(db) }
        let sealer = Sealer(
            shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: context.now, coalesces: options.coalescing != nil,
            largeValueSize: options.largeValueSize, elections: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.election })
        let engine = StoreEngine(context, file: file, sealer: sealer, state: state)
        try await engine.start()
        let runner: StoreRunner? =
            if options.exchangesAutomatically {
                try await blocking { StoreRunner(engine: engine, container: container, storeDirectory: path.removingLastComponent()) }
            } else {
                nil
            }
        return StoreBase(file: file, sealer: sealer, engine: engine, runner: runner)
    }

    /// Seals what is noted; whether records are marked by that.
    func seal(_ db: Database) throws -> Bool {
        let isSealed = try sealer.seal(db) != nil
        Waypoint.saveSealed.pass()
        return try isSealed && RelatedTables.hasUnresolved(file.shapes, db)
    }

    /// Finds out what marked records show.
    ///
    /// The save is done, whatever comes of this; what is still marked is looked at again before anything goes out or comes in.
    func resolve() { _ = try? file.resolve(by: sealer) }

    /// Seals what GRDB's own ways of writing leave, in a transaction of its own.
    ///
    /// Where that fails, or the body has left a transaction open, the notes are sealed before anything goes out or comes in.
    func sealNoted(_ db: Database) {
        guard !db.isInsideTransaction, (try? sealer.hasNotes(db)) == true else { return }
        try? db.inTransaction(.immediate) {
            _ = try seal(db)
            return .commit
        }
    }

    /// The same for what marked records show, outside of the database's threads.
    func resolveSealed() {
        resolve()
        runner?.wake()
    }
}
