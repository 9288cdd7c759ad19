internal import Foundation
internal import GRDB
internal import Logging
internal import Synchronization
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

/// What stays as it is while a store is open, whichever file it uses.
struct StoreContext: Sendable {
    let options: UbiquitousStore.Options
    let schema: SyncedSchema
    let now: @Sendable () -> Date
    let files: any FileLayer
    var logger = Logger.ubiquity
    /// Whether nothing is to be written or exchanged.
    var isReadOnly = false
    var notices = Broadcast<StoreNotice>()
    let progress = Broadcast(present: ImportProgress(), buffering: .bufferingNewest(1))
    /// Is called at each moment of the keeper's work; nil outside of tests.
    var moments: (@Sendable (KeeperMoment) async -> Void)?
}

/// One SQLite file in use beneath a store, and what moves logs between it and the container.
final class StoreBase: Sendable {
    let file: StoreFile
    let sealer: Sealer
    let engine: ExchangeRunner
    /// What runs the engine, and whether anything is to.
    private struct Running {
        var runner: StoreRunner?
        /// Nil until somebody has said.
        var isWanted: Bool?
        var isStarting = false
    }
    private let running = Mutex(Running())
    var runner: StoreRunner? { running.withLock { $0.runner } }
    /// Whether it was told to exchange no longer.
    var isHalted: Bool { running.withLock { $0.isWanted == false } }
    var pool: any DatabaseWriter { file.pool }

    private init(file: StoreFile, sealer: Sealer, engine: ExchangeRunner) {
        self.file = file
        self.sealer = sealer
        self.engine = engine
    }

    deinit { runner?.cancel() }

    /// Opens a file, or makes it; nothing of a container is looked at.
    ///
    /// - Parameters:
    ///   - path: the SQLite file.
    ///   - newState: what a file that is new begins with, and what one that is there must belong to.
    ///   - container: the content's; nil where nothing goes out or in.
    ///   - plain: the app's plain database, with which a file that is new begins.
    ///   - context: the rest.
    ///   - copying: told how far the copy of an existing database has come.
    /// - Returns: the file; nothing runs yet.
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations.
    static func open(
        _ path: FilePath, newState: StoreState, in container: UbiquityContainer?, plain: FilePath?, _ context: StoreContext,
        copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreBase {
        let file = try await blocking {
            try StoreFile.open(
                path, schema: context.schema, newState: newState, plain: plain, attached: context.options.attachedDatabases,
                journalMode: context.options.journalMode, files: context.files, copying: copying)
        }
        return try await make(file, in: container, context)
    }

    /// What goes with an open file.
    static func make(_ file: StoreFile, in container: UbiquityContainer?, _ context: StoreContext) async throws -> StoreBase {
        let (options, schema) = (context.options, context.schema)
        let state = try await file.pool.read { db in try StoreState.read(db) }
        let sealer = Sealer(
            shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: context.now, coalesces: options.coalescing != nil,
            largeValueSize: options.largeValueSize, elections: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.election },
            choices: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.choices })
        let exchange = ExchangeContext(context, in: container, file: file, sealer: sealer, state: state)
        let base = StoreBase(
            file: file, sealer: sealer, engine: ExchangeRunner(exchange, state: state, givesWay: options.givesWay))
        // A migration, or another declaration, may have marked records.
        if !context.isReadOnly { try await blocking { base.resolve() } }
        return base
    }

    /// Exchanges by itself from now on, unless it has been halted before.
    func begin() async {
        try? await engine.start()
        try? await run(unlessHalted: true)
    }

    /// Exchanges by itself from now on.
    ///
    /// It looks at the container's file system, which may be a slow one; ``halt()`` meanwhile is heeded.
    func run(unlessHalted: Bool = false, onExchange: (@Sendable () async -> Void)? = nil) async throws {
        let (engine, directory) = (engine, file.path.removingLastComponent())
        let starts = running.withLock { running in
            if unlessHalted, running.isWanted == false { return false }
            running.isWanted = true
            guard running.runner == nil, !running.isStarting else { return false }
            running.isStarting = true
            engine.context.stop.clear()
            return true
        }
        guard starts else { return }
        let runner: StoreRunner?
        var failure: (any Error)?
        do {
            runner = try await blocking {
                StoreRunner(engine: engine, container: engine.context.container, storeDirectory: directory, onExchange: onExchange)
            }
        } catch {
            (runner, failure) = (nil, error)
        }
        running.withLock { running in
            running.isStarting = false
            if running.isWanted == true { running.runner = runner } else { runner?.cancel() }
            if failure != nil { running.isWanted = false }
        }
        if let failure { throw failure }
    }

    /// Exchanges no longer by itself, until it is run again.
    func halt() {
        running.withLock { running in
            running.isWanted = false
            running.runner?.cancel()
            running.runner = nil
        }
    }

    /// Halts, and returns when nothing runs any more.
    func stop() async {
        let runner = runner
        halt()
        await runner?.stop()
    }

    /// Does what an app wants done on the writer's queue, of which no pragma makes saves less durable.
    func watching<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let durability = file.durability else { return try body() }
        return try durability.watching(body)
    }

    /// Makes what is committed durable.
    func syncWriteAheadLog() throws {
        try engine.context.publisher.syncWriteAheadLog()
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

    /// Finds out what marked records show, outside of the database's threads.
    ///
    /// An app's election runs on another thread than the caller's, which may be the main one: GRDB does what is waited for on the thread that waits.
    func resolveSealed() {
        if sealer.elections.isEmpty {
            resolve()
        } else {
            let done = DispatchSemaphore(value: 0)
            DispatchQueue.global().async { [self] in
                resolve()
                done.signal()
            }
            done.wait()
        }
        runner?.wake()
    }
}
