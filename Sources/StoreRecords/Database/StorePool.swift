internal import Foundation
package import GRDB
internal import Synchronization

/// The connections of a store's file: GRDB's pool, or its queue, which may be closed while somebody reads.
///
/// GRDB asks SQLite about a connection before it finds out that the connection is closed, and SQLite then ends the
/// process: a read that begins while a pool closes, and any read of a closed queue. So no read begins here once the
/// connections close, and they close when the reads in progress have ended.
package final class StorePool: DatabaseWriter {
    private let base: any DatabaseWriter
    private let isClosed = Mutex(false)
    /// The reads in progress; none enters once the connections close.
    private let reads = DispatchGroup()

    init(_ base: any DatabaseWriter) { self.base = base }

    /// Whether reads have connections of their own.
    package var isConcurrent: Bool { base is DatabasePool }

    // MARK: The gate

    private func enter() throws {
        try isClosed.withLock { isClosed in
            if isClosed { throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "Connection is closed") }
            reads.enter()
        }
    }

    private func leave() { reads.leave() }

    /// Closes the connections, when the reads in progress have ended.
    ///
    /// No read begins any more.
    ///
    /// - Throws: GRDB's error if statements are still running; the connections stay open then.
    package func close() throws {
        isClosed.withLock { $0 = true }
        reads.wait()
        do {
            try base.close()
        } catch {
            isClosed.withLock { $0 = false }
            throw error
        }
    }

    // MARK: DatabaseReader

    package var configuration: Configuration { base.configuration }
    package var path: String { base.path }

    package func interrupt() { base.interrupt() }

    package func read<Result>(_ value: (Database) throws -> Result) throws -> Result {
        try enter()
        defer { leave() }
        return try base.read(value)
    }

    package func read<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try enter()
        // Its task may have to wait for the thread that closes, so the read ends on its own queue.
        let end = ReadEnd(self)
        defer { end() }
        return try await base.read { db in
            defer { end() }
            return try value(db)
        }
    }

    /// The end of a read, at the first call.
    private final class ReadEnd: Sendable {
        private let pool: StorePool
        private let isOver = Atomic(false)

        init(_ pool: StorePool) { self.pool = pool }

        func callAsFunction() {
            if !isOver.exchange(true, ordering: .acquiringAndReleasing) { pool.leave() }
        }
    }

    package func asyncRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) {
        do { try enter() } catch { return value(.failure(error)) }
        base.asyncRead { result in
            defer { self.leave() }
            value(result)
        }
    }

    package func unsafeRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try base.unsafeRead(value) }

    package func unsafeRead<Result: Sendable>(_ value: @Sendable (Database) throws -> Result) async throws -> Result {
        try await base.unsafeRead(value)
    }

    package func asyncUnsafeRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { base.asyncUnsafeRead(value) }

    package func unsafeReentrantRead<Result>(_ value: (Database) throws -> Result) throws -> Result { try base.unsafeReentrantRead(value) }

    package func spawnConcurrentRead(_ value: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) { base.spawnConcurrentRead(value) }

    package func _add<Reducer: ValueReducer>(
        observation: ValueObservation<Reducer>, scheduling scheduler: some ValueObservationScheduler,
        onChange: @escaping @Sendable (Reducer.Value) -> Void
    ) -> AnyDatabaseCancellable {
        base._add(observation: observation, scheduling: scheduler, onChange: onChange)
    }

    // MARK: DatabaseWriter

    package func writeWithoutTransaction<Result>(_ updates: (Database) throws -> Result) rethrows -> Result {
        try base.writeWithoutTransaction(updates)
    }

    package func writeWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await base.writeWithoutTransaction(updates)
    }

    package func barrierWriteWithoutTransaction<Result>(_ updates: (Database) throws -> Result) throws -> Result {
        try base.barrierWriteWithoutTransaction(updates)
    }

    package func barrierWriteWithoutTransaction<Result: Sendable>(_ updates: @Sendable (Database) throws -> Result) async throws -> Result {
        try await base.barrierWriteWithoutTransaction(updates)
    }

    package func asyncBarrierWriteWithoutTransaction(_ updates: @escaping @Sendable (Swift.Result<Database, any Error>) -> Void) {
        base.asyncBarrierWriteWithoutTransaction(updates)
    }

    package func asyncWriteWithoutTransaction(_ updates: @escaping @Sendable (Database) -> Void) { base.asyncWriteWithoutTransaction(updates) }

    package func unsafeReentrantWrite<Result>(_ updates: (Database) throws -> Result) rethrows -> Result { try base.unsafeReentrantWrite(updates) }
}
