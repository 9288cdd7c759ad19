public import GRDB
internal import StoreExchange
internal import UbiquityContainers

/// A store works wherever GRDB takes a `DatabaseWriter` or `DatabaseReader`, as in `observation.start(in: store)`.
///
/// Reads, observations and their scheduling are those of its `DatabasePool`, or with ``JournalMode/delete`` those of
/// its `DatabaseQueue`. GRDB's own methods seal their changes after the body, in a transaction of its own, as with
/// writes of another program: if the process is killed between the two transactions, the next start seals the changes.
/// ``UbiquitousStore/write(_:)`` seals in the transaction that writes.
///
/// Observations go on when the store changes its file, and then fetch again. A transaction observer and a
/// `DatabaseRegionObservation` belong to a connection, and end with its file.
///
/// Do not call `erase()` on a store, and do not run a migrator on it: it has more tables and triggers than the app's.
extension UbiquitousStore: DatabaseWriter {
    /// The configuration of its connections.
    public var configuration: Configuration { current.pool.configuration }

    /// The path of the SQLite file in use.
    public var path: String { current.pool.path }

    /// Ends the exchange and closes the file, without waiting for a running exchange, which ends with one of GRDB's
    /// errors.
    ///
    /// - Throws: GRDB's error if statements are still running.
    public func close() throws {
        keeper?.cancel()
        poller?.cancel()
        current.trigger?.cancel()
        current.runner.context.endRecording()
        notices.broadcast.close()
        importProgress.broadcast.close()
        try current.pool.close()
    }

    /// Interrupts running statements.
    public func interrupt() { current.pool.interrupt() }

    // MARK: Reading

    /// Reads from a snapshot.
    public func read<Result>(_ value: (Database) throws -> Result) throws -> Result { try current.pool.read(value) }

    /// Reads from a snapshot, asynchronously.
    public func asyncRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { current.pool.asyncRead(value) }

    /// Reads without a transaction.
    public func unsafeRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try current.pool.unsafeRead(value) }

    /// Reads without a transaction.
    public func unsafeRead<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await current.pool.unsafeRead(value)
    }

    /// Reads without a transaction, asynchronously.
    public func asyncUnsafeRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { current.pool.asyncUnsafeRead(value) }

    /// Reads without a transaction, also inside another read.
    public func unsafeReentrantRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try current.pool.unsafeReentrantRead(value) }

    /// Reads the state that the writer has just committed.
    public func spawnConcurrentRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) {
        current.pool.spawnConcurrentRead(value)
    }

    /// Starts an observation, which goes on when the store changes its file.
    public func _add<Reducer: ValueReducer>(
        observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler,
        onChange: @escaping @Sendable (Reducer.Value) -> Void
    ) -> AnyDatabaseCancellable {
        observations.add(observation, scheduling: scheduler, in: { current.pool }, onChange: onChange)
    }

    // MARK: Writing

    /// Writes, and then seals the changes.
    public func writeWithoutTransaction<Result>(_ updates: (Database) throws -> Result) rethrows -> Result {
        try onCurrent { base in
            defer { base.resolveSealed() }
            return try base.pool.writeWithoutTransaction { db in try sealing(base, db, updates) }
        }
    }

    /// Writes, and then seals the changes.
    public func writeWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await resolving { base in try await base.pool.writeWithoutTransaction { db in try sealing(base, db, updates) } }
    }

    /// Writes while no read runs, and then seals the changes.
    public func barrierWriteWithoutTransaction<Result>(_ updates: (Database) throws -> Result) throws -> Result {
        try onCurrent { base in
            defer { base.resolveSealed() }
            return try base.pool.barrierWriteWithoutTransaction { db in try sealing(base, db, updates) }
        }
    }

    /// Writes while no read runs, and then seals the changes.
    public func barrierWriteWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await resolving { base in try await base.pool.barrierWriteWithoutTransaction { db in try sealing(base, db, updates) } }
    }

    /// Writes asynchronously while no read runs, and then seals the changes.
    public func asyncBarrierWriteWithoutTransaction(_ updates: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) {
        let base = current
        base.pool.asyncBarrierWriteWithoutTransaction { result in
            guard self.isCurrent(base) else { return self.asyncBarrierWriteWithoutTransaction(updates) }
            base.watching { updates(result) }
            if case .success(let db) = result { base.sealNoted(db) }
        }
    }

    /// Writes asynchronously, and then seals the changes.
    public func asyncWriteWithoutTransaction(_ updates: @escaping @Sendable (Database) -> Void) {
        let base = current
        base.pool.asyncWriteWithoutTransaction { db in
            guard self.isCurrent(base) else { return self.asyncWriteWithoutTransaction(updates) }
            base.watching { updates(db) }
            base.sealNoted(db)
        }
    }

    /// Writes, also inside another write, and then seals the changes.
    public func unsafeReentrantWrite<Result>(_ updates: (Database) throws -> Result) rethrows -> Result {
        try onCurrent { base in try base.pool.unsafeReentrantWrite { db in try sealing(base, db, updates) } }
    }

    /// Writes on the writer's queue of a file, and seals; returns nil if the file is no longer in use.
    private func sealing<Result>(_ base: StoreBase, _ db: Database, _ updates: (Database) throws -> Result) rethrows -> Result? {
        guard isCurrent(base) else { return nil }
        defer { base.sealNoted(db) }
        return try base.watching { try updates(db) }
    }

    /// Resolves the marked records after a body, whether it throws or not.
    private func resolving<Result: Sendable>(_ body: (StoreBase) async throws -> Result?) async throws -> Result {
        try await onCurrent { base in
            let outcome: Swift.Result<Result?, any Error>
            do {
                outcome = .success(try await body(base))
            } catch {
                outcome = .failure(error)
            }
            try? await blocking { base.resolveSealed() }
            return try outcome.get()
        }
    }
}
