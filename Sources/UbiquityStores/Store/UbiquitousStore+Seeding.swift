internal import GRDB
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension UbiquitousStore {
    /// Fills the store from a database that comes with the app, once for all devices of the account.
    ///
    /// ```swift
    /// try await store.seed(from: SeedFile("/usr/share/birds/Birds.sqlite"), token: "birds-2026")
    /// ```
    ///
    /// If the token is in the store, set by an earlier call or another device, the call returns at once. Otherwise each
    /// record that is neither present nor dead is inserted with the least stamp, so that it never wins over an edit.
    /// The token, which syncs, is set last. Each batch of records is one transaction. After a crash or an error, the
    /// next call with the token and the same file continues after the last batch. See <doc:SeedingStores>.
    ///
    /// - Parameters:
    ///   - file: the database, which is only read.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: the result; after an interruption, it includes the earlier batches.
    /// - Throws: `UbiquitousStoreError` if the file does not fit this store, before anything is written, or if a record
    ///   cannot be inserted; `CancellationError`, after which the finished batches stay.
    @discardableResult
    public func seed(from file: SeedFile, token: String, progress: (@Sendable (Seeding) -> Void)? = nil) async throws -> Seeding {
        var result = Seeding(wasComplete: true)
        if try await !joinSeed(token) {
            let (shapes, migrations) = (runner.context.file.shapes, runner.context.file.migrations)
            let columns = try await read { db in
                try Dictionary(uniqueKeysWithValues: shapes.map { ($0.name, try Set(db.columns(in: $0.name).map(\.name))) })
            }
            var reader = try await blocking { try SeedReader(file, shapes: shapes, columns: columns, migrations: migrations) }
            let total = reader.total
            result = try await seed(token, source: reader.identity, total: total, progress) { position in
                let (batch, next) = try await blocking { [reader] in
                    var next = reader
                    return (try next.batch(at: position), next)
                }
                reader = next
                return batch
            }
            try await blocking { [reader] in try reader.close() }
        }
        if file.isRemovedAfterwards {
            try await blocking { [publisher = runner.context.publisher] in try publisher.syncWriteAheadLog() }
            Waypoint.seedSynced.pass()
            try await blocking { [files = runner.context.files] in try file.remove(files) }
        }
        return result
    }

    /// Fills the store with records that the app supplies, once for all devices of the account.
    ///
    /// The store requests records as it inserts them, so that the use of memory is constant. After a crash or an error
    /// the next call with the token must supply all records again; those that exist by then are skipped, and counted as
    /// skipped.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: the result.
    /// - Throws: `UbiquitousStoreError` if a record cannot be inserted, the error of the sequence, or
    ///   `CancellationError`. The finished batches stay, without the token.
    @discardableResult
    public func seed<Records: AsyncSequence>(
        from records: Records, token: String, progress: (@Sendable (Seeding) -> Void)? = nil
    ) async throws -> Seeding where Records.Element == SeedRecord {
        guard try await !joinSeed(token) else { return Seeding(wasComplete: true) }
        var iterator = records.makeAsyncIterator()
        return try await seed(token, source: nil, total: nil, progress) { _ in
            var batch = SeedBatch()
            while !batch.isFull {
                guard let record = try await iterator.next() else {
                    batch.isLast = true
                    break
                }
                batch.append(record)
            }
            return batch
        }
    }

    /// Fills the store with records of a synchronous sequence, once for all devices of the account.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: the result.
    /// - Throws: the errors of the method for asynchronous sequences.
    @discardableResult
    public func seed<Records: Sequence>(
        from records: Records, token: String, progress: (@Sendable (Seeding) -> Void)? = nil
    ) async throws -> Seeding where Records.Element == SeedRecord {
        try await seed(from: SeedSequence(base: records), token: token, progress: progress)
    }

    /// Returns whether a seed is complete, by this device or by another whose logs have been joined.
    ///
    /// - Parameter token: the app's name for the seed.
    /// - Returns: whether its token is in the store.
    /// - Throws: GRDB's errors.
    public func isSeeded(_ token: String) async throws -> Bool { try await read { db in try PendingSeed.isComplete(token, db) } }

    /// Returns whether a seed is complete, after joining what is in the container.
    private func joinSeed(_ token: String) async throws -> Bool {
        guard !token.isEmpty else {
            throw UbiquitousStoreError(.unsupported, "A seed's token is empty: name the seed and its edition, such as birds-2026.")
        }
        if try await isSeeded(token) { return true }
        _ = await runner.exchangeInBackground()
        return try await isSeeded(token)
    }

    private func seed(
        _ token: String, source: String?, total: Int?, _ progress: (@Sendable (Seeding) -> Void)?, next: (Int) async throws -> SeedBatch
    ) async throws -> Seeding {
        let base = current
        let exchange = SeedExchange(context: base.runner.context)
        guard var pending = try await blocking({ try exchange.pending(token, source: source) }) else { return Seeding(wasComplete: true) }
        pending.seeding.total = total
        while true {
            try Task.checkCancellation()
            let batch = try await next(pending.position)
            guard isCurrent(base) else {
                throw UbiquitousStoreError(
                    .suspended, "The store has changed files while it was seeded; call again if the present account needs the seed too.",
                    path: base.file.path)
            }
            guard let after = try await base.runner.seed(batch, after: pending) else {
                pending.seeding.wasComplete = true
                return pending.seeding
            }
            pending = after
            current.trigger?.wake()
            progress?(pending.seeding)
            if batch.isLast { return pending.seeding }
        }
    }
}

/// An asynchronous sequence of the elements of a synchronous one.
private struct SeedSequence<Base: Sequence>: AsyncSequence where Base.Element == SeedRecord {
    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.Iterator
        mutating func next() async -> SeedRecord? { base.next() }
    }

    let base: Base
    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeIterator()) }
}
