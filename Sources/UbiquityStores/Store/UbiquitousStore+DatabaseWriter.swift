public import GRDB
internal import UbiquityContainers

/// A store goes wherever GRDB takes a `DatabaseWriter` or `DatabaseReader`, as in `observation.start(in: store)`.
///
/// Reads, observations and their scheduling are those of its `DatabasePool`. What GRDB's own methods write is sealed behind the body, in a
/// transaction of its own, as a write by another program is: a process that is killed between the two seals it at its next start. ``UbiquitousStore/write(_:)`` seals
/// in the transaction that writes.
///
/// Do not `erase()` a store, and run no migrator on it: its tables and triggers are more than the app's.
extension UbiquitousStore: DatabaseWriter {
    /// The configuration of its connections.
    public var configuration: Configuration { pool.configuration }

    /// The path of the SQLite file in use.
    public var path: String { pool.path }

    /// Ends the exchange and closes the file, without waiting for an exchange under way: that ends with an error of GRDB's.
    ///
    /// - Throws: GRDB's error where statements are still running.
    public func close() throws {
        runner?.cancel()
        notices.broadcast.close()
        importProgress.broadcast.close()
        try pool.close()
    }

    /// Interrupts statements that are running.
    public func interrupt() { pool.interrupt() }

    // MARK: Reading

    /// Reads from a snapshot.
    public func read<Result>(_ value: (Database) throws -> Result) throws -> Result { try pool.read(value) }

    /// Reads from a snapshot, later.
    public func asyncRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { pool.asyncRead(value) }

    /// Reads without a transaction.
    public func unsafeRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try pool.unsafeRead(value) }

    /// Reads without a transaction.
    public func unsafeRead<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await pool.unsafeRead(value)
    }

    /// Reads without a transaction, later.
    public func asyncUnsafeRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { pool.asyncUnsafeRead(value) }

    /// Reads without a transaction, also within another read.
    public func unsafeReentrantRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try pool.unsafeReentrantRead(value) }

    /// Reads what the writer has just committed.
    public func spawnConcurrentRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { pool.spawnConcurrentRead(value) }

    /// Starts an observation.
    public func _add<Reducer: ValueReducer>(
        observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler,
        onChange: @escaping @Sendable (Reducer.Value) -> Void
    ) -> AnyDatabaseCancellable {
        pool._add(observation: observation, scheduling: scheduler, onChange: onChange)
    }

    // MARK: Writing

    /// Finds out what is shown once a body has written, whether it throws or not.
    private func resolving<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
        let outcome: Swift.Result<Result, any Error>
        do {
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        try? await blocking { self.resolveSealed() }
        return try outcome.get()
    }

    /// Writes, and seals what was written behind it.
    public func writeWithoutTransaction<Result>(_ updates: (Database) throws -> Result) rethrows -> Result {
        defer { resolveSealed() }
        return try pool.writeWithoutTransaction { db in
            defer { sealNoted(db) }
            return try updates(db)
        }
    }

    /// Writes, and seals what was written behind it.
    public func writeWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await resolving {
            try await pool.writeWithoutTransaction { db in
                defer { sealNoted(db) }
                return try updates(db)
            }
        }
    }

    /// Writes while nobody reads, and seals what was written behind it.
    public func barrierWriteWithoutTransaction<Result>(_ updates: (Database) throws -> Result) throws -> Result {
        defer { resolveSealed() }
        return try pool.barrierWriteWithoutTransaction { db in
            defer { sealNoted(db) }
            return try updates(db)
        }
    }

    /// Writes while nobody reads, and seals what was written behind it.
    public func barrierWriteWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await resolving {
            try await pool.barrierWriteWithoutTransaction { db in
                defer { sealNoted(db) }
                return try updates(db)
            }
        }
    }

    /// Writes while nobody reads, later, and seals what was written behind it.
    public func asyncBarrierWriteWithoutTransaction(_ updates: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) {
        pool.asyncBarrierWriteWithoutTransaction { result in
            updates(result)
            if case .success(let db) = result { self.sealNoted(db) }
        }
    }

    /// Writes, later, and seals what was written behind it.
    public func asyncWriteWithoutTransaction(_ updates: @escaping @Sendable (Database) -> Void) {
        pool.asyncWriteWithoutTransaction { db in
            updates(db)
            self.sealNoted(db)
        }
    }

    /// Writes, also within another write, and seals what was written behind it.
    public func unsafeReentrantWrite<Result>(_ updates: (Database) throws -> Result) rethrows -> Result {
        try pool.unsafeReentrantWrite { db in
            defer { sealNoted(db) }
            return try updates(db)
        }
    }
}
