package import Foundation
package import GRDB
package import Logging
internal import StoreFormat
package import StoreRecords
internal import Synchronization
package import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// The settings that stay constant while a store is open, whichever file it uses.
package struct StoreContext: Sendable {
    package let options: StoreOptions
    package let schema: SyncedSchema
    package let now: @Sendable () -> Date
    package let files: any FileLayer
    package var logger = Logger.ubiquity
    /// The container with a scope that the store lies in; nil for a plain container.
    package var scope: ScopeContext?
    /// Whether the store writes and exchanges nothing.
    package var isReadOnly = false
    package var notices = Broadcast<StoreNotice>()
    /// Records for the store; what it shows of a file in use is the file's own.
    let metrics: MetricRecorder
    package let progress = Broadcast(present: ImportProgress(), buffering: .bufferingNewest(1))
    /// The undeclared tables that the log has named.
    let undeclared = UndeclaredTablesLog()

    package init(
        options: StoreOptions, schema: SyncedSchema, now: @escaping @Sendable () -> Date, files: any FileLayer, logger: Logger = Logger.ubiquity,
        isReadOnly: Bool = false, notices: Broadcast<StoreNotice> = Broadcast<StoreNotice>()
    ) {
        self.options = options
        self.schema = schema
        self.now = now
        self.files = files
        self.logger = logger
        self.logger[metadataKey: LogFact.content.key] = "\(options.content)"
        self.isReadOnly = isReadOnly
        self.notices = notices
        metrics = MetricRecorder([.content: options.content])
    }
}

extension StoreContext {
    /// Returns what a store knows of the public place that it reads; nil if it reads none.
    ///
    /// - Parameter reader: the store file.
    /// - Returns: the status, without why the place cannot be asked.
    /// - Throws: GRDB's errors.
    package func placeStatus(_ reader: any DatabaseReader) async throws -> PublicPlaceStatus? {
        guard let place = scope?.place else { return nil }
        let state = try await reader.read { db in try PlaceState.read(db) }
        var status = PublicPlaceStatus(
            freshAsOf: state?.fresh, expires: state?.expires, head: state?.head, read: state?.read, publisher: state?.publisher,
            awaited: place.needs.count, fault: place.fault)
        if let state { status.isStale = state.expires <= now() }
        return status
    }
}

/// One SQLite file in use by a store, with the parts that move logs between it and the container.
package final class StoreBase: Sendable {
    package let file: StoreFile
    package let sealer: Sealer
    package let runner: ExchangeRunner
    /// What starts the exchange, and whether it should run.
    private struct Running {
        var trigger: ExchangeTrigger?
        /// Nil until a caller has started or stopped the exchange.
        var isWanted: Bool?
        var isStarting = false
    }
    private let running = Mutex(Running())
    package var trigger: ExchangeTrigger? { running.withLock { $0.trigger } }
    /// Whether a caller has stopped the exchange.
    package var isHalted: Bool { running.withLock { $0.isWanted == false } }
    package var pool: StorePool { file.pool }

    private init(file: StoreFile, sealer: Sealer, runner: ExchangeRunner) {
        self.file = file
        self.sealer = sealer
        self.runner = runner
    }

    deinit {
        trigger?.cancel()
    }

    /// Opens or creates a file, without access to a container.
    ///
    /// - Parameters:
    ///   - path: the SQLite file.
    ///   - newState: the state of a new file; an existing file must have its account, container and content.
    ///   - container: the container of the content; nil if the file exchanges nothing.
    ///   - plain: the app's plain database, a copy of which a new file begins with.
    ///   - context: the settings of the store.
    ///   - copying: called with the progress of copying an existing database.
    /// - Returns: the file, with no exchange running yet.
    /// - Throws: `UbiquitousStoreError`, or an error of the app's own migrations.
    package static func open(
        _ path: FilePath, newState: StoreState, in container: UbiquityContainer?, plain: FilePath?, _ context: StoreContext,
        copying: (@Sendable (StoreMigration) -> Void)? = nil
    ) async throws -> StoreBase {
        let file = try await blocking {
            try StoreFile.open(
                path, schema: context.schema, newState: newState, plain: plain, attached: context.options.attachedDatabases,
                journalMode: context.options.advanced.journalMode, files: context.files, history: context.options.advanced.historyRetention,
                now: context.now(), scope: context.scope?.container, copying: copying)
        }
        return try await make(file, in: container, context)
    }

    /// Creates the parts that belong to an open file.
    package static func make(_ file: StoreFile, in container: UbiquityContainer?, _ context: StoreContext) async throws -> StoreBase {
        let (options, schema) = (context.options, context.schema)
        let (state, undeclared) = try await file.pool.read { db in (try StoreState.read(db), try UndeclaredTables.all(db)) }
        var sealer = Sealer(
            shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: context.now, coalesces: options.advanced.coalescing != nil,
            largeValueSize: options.advanced.largeValueSize, elections: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.election },
            choices: schema.tables.reduce(into: [:]) { $0[$1.name] = $1.choices })
        sealer.journal = ChangeJournal(retention: options.advanced.historyRetention)
        sealer.isScoped = context.scope != nil
        let exchange = ExchangeContext(context, in: container, file: file, sealer: sealer, state: state)
        context.undeclared.warn(of: undeclared, in: file.path, exchange.log)
        let base = StoreBase(
            file: file, sealer: sealer, runner: ExchangeRunner(exchange, state: state, givesWay: options.advanced.givesWay))
        // A migration or a changed declaration may have marked records.
        if !context.isReadOnly { try await blocking { base.resolve() } }
        return base
    }

    /// Starts the automatic exchange, unless it has been halted.
    package func begin() async {
        try? await runner.start()
        try? await run(unlessHalted: true)
    }

    /// Starts the automatic exchange.
    ///
    /// The start accesses the container's file system, which may be slow; a call of ``halt()`` during it takes effect.
    package func run(unlessHalted: Bool = false, onExchange: (@Sendable () async -> Void)? = nil) async throws {
        let (runner, directory) = (runner, file.path.removingLastComponent())
        let starts = running.withLock { running in
            if unlessHalted, running.isWanted == false { return false }
            running.isWanted = true
            guard running.trigger == nil, !running.isStarting else { return false }
            running.isStarting = true
            runner.context.stop.clear()
            return true
        }
        guard starts else { return }
        let trigger: ExchangeTrigger?
        var failure: (any Error)?
        do {
            trigger = try await blocking {
                ExchangeTrigger(runner: runner, container: runner.context.container, storeDirectory: directory, onExchange: onExchange)
            }
        } catch {
            (trigger, failure) = (nil, error)
        }
        running.withLock { running in
            running.isStarting = false
            if running.isWanted == true { running.trigger = trigger } else { trigger?.cancel() }
            if failure != nil { running.isWanted = false }
        }
        if let failure { throw failure }
    }

    /// Stops the automatic exchange until the next call of ``run(unlessHalted:onExchange:)``.
    package func halt() {
        running.withLock { running in
            running.isWanted = false
            running.trigger?.cancel()
            running.trigger = nil
        }
    }

    /// Halts, and returns when no exchange runs any more.
    package func stop() async {
        let trigger = trigger
        halt()
        await trigger?.stop()
        // A file that another connection has open cannot be removed or replaced.
        try? await blocking { [checkpoint = file.checkpoint] in checkpoint.wait() }
    }

    /// Runs an app's work on the writer's queue, and prevents its pragmas from making saves less durable.
    package func watching<Result>(_ body: () throws -> Result) rethrows -> Result {
        guard let durability = file.durability else { return try body() }
        return try durability.watching(body)
    }

    /// Syncs everything that is committed to the disk.
    package func syncWriteAheadLog() throws {
        try runner.context.publisher.syncWriteAheadLog()
    }

    /// Seals the captured changes of this opening; returns whether that has marked records.
    package func seal(_ db: Database) throws -> Bool {
        let isSealed = try sealer.seal(db, isOwn: true) != nil
        Waypoint.saveSealed.pass()
        return try isSealed && RelatedTables.hasUnresolved(file.shapes, db)
    }

    /// Seals what other programs have written; returns whether records are marked.
    ///
    /// An own write begins with it, so that its changes and theirs are not listed as one. The notes of a store without a
    /// place stay, however many there are, and are not read here.
    @discardableResult
    package func sealForeign(_ db: Database) throws -> Bool {
        guard try sealer.hasNotes(db), try StoreState.read(db).attached, try sealer.seal(db) != nil else { return false }
        return try RelatedTables.hasUnresolved(file.shapes, db)
    }

    /// Resolves the records that are marked.
    ///
    /// The save is committed even if this fails; records that stay marked are resolved before the next exchange.
    package func resolve() { _ = try? file.resolve(by: sealer) }

    /// Seals the changes that GRDB's own methods leave, in a transaction of its own.
    ///
    /// If that fails, or the body has left a transaction open, the changes are sealed before the next exchange.
    package func sealNoted(_ db: Database) {
        guard !db.isInsideTransaction, (try? sealer.hasNotes(db)) == true else { return }
        try? db.inTransaction(.immediate) {
            _ = try seal(db)
            return .commit
        }
    }

    /// Resolves the records that are marked, outside of the database's threads.
    ///
    /// An app's election runs on another thread than the caller's, which may be the main one: GRDB runs awaited work on
    /// the waiting thread.
    package func resolveSealed() {
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
        trigger?.wake()
    }
}
