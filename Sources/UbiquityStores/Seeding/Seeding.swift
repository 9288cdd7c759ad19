internal import GRDB
internal import SystemPackage
internal import UbiquityContainers

/// How far a seeding has come, and what it came to.
public struct Seeding: Sendable, Hashable {
    /// How many records were inserted.
    public internal(set) var seeded = 0
    /// How many were passed over, for they are here already, or somebody deleted them.
    public internal(set) var skipped = 0
    /// How many the source has; nil where nobody can tell before its end.
    public internal(set) var total: Int?
    /// Whether there was nothing to do, or nothing more: the seed's token was here, by an earlier call or from another device.
    public internal(set) var wasComplete = false
}

extension UbiquitousStore {
    /// Fills the store from a database that comes with the app, once for all devices of the account.
    ///
    /// ```swift
    /// try await store.seed(from: SeedFile("/usr/share/birds/Birds.sqlite"), token: "birds-2026")
    /// ```
    ///
    /// Where the token is in the store, by an earlier call or from another device, it returns at once. Else each record that is neither here nor
    /// dead is inserted with the least stamp, so that it never beats an edit; then the token, which syncs. Records are taken in by the batch, each
    /// one transaction; after a crash or an error, the next call with the token and the same file goes on behind the last. See <doc:SeedingStores>.
    ///
    /// - Parameters:
    ///   - file: the database; it is only read.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: what it came to; after an interruption, with what had been done before.
    /// - Throws: `UbiquitousStoreError` where the file is no seed for this store, before anything is written, or a record cannot be inserted;
    ///   `CancellationError`, with which the batches before stay.
    @discardableResult
    public func seed(from file: SeedFile, token: String, progress: (@Sendable (Seeding) -> Void)? = nil) async throws -> Seeding {
        var result = Seeding(wasComplete: true)
        if try await !joinSeed(token) {
            let (shapes, migrations) = (engine.context.file.shapes, engine.context.file.migrations)
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
            try await blocking { [publisher = engine.context.publisher] in try publisher.syncWriteAheadLog() }
            Waypoint.seedSynced.pass()
            try await blocking { [files = engine.context.files] in try file.remove(files) }
        }
        return result
    }

    /// Fills the store with records that the app supplies, once for all devices of the account.
    ///
    /// They are asked for as they are taken in, so that memory stays flat. After a crash or an error the next call with the token is to supply them
    /// anew; those that are here by then are passed over, and counted so.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: what it came to.
    /// - Throws: `UbiquitousStoreError` where a record cannot be inserted, and the error of the sequence: what came before stays, without the
    ///   token; `CancellationError` likewise.
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

    /// The same with a sequence that is there, or makes its records as it is asked.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - token: the app's name for the seed; a new edition has a new one.
    ///   - progress: called after each batch.
    /// - Returns: what it came to.
    /// - Throws: as the other does.
    @discardableResult
    public func seed<Records: Sequence>(
        from records: Records, token: String, progress: (@Sendable (Seeding) -> Void)? = nil
    ) async throws -> Seeding where Records.Element == SeedRecord {
        try await seed(from: SeedSequence(base: records), token: token, progress: progress)
    }

    /// Whether a seed is complete, by this device or another that has been heard of.
    ///
    /// - Parameter token: the app's name for the seed.
    /// - Returns: whether its token is in the store.
    /// - Throws: GRDB's errors.
    public func isSeeded(_ token: String) async throws -> Bool { try await read { db in try PendingSeed.isComplete(token, db) } }

    /// Whether a seed is complete, once what is in the container has been taken in.
    private func joinSeed(_ token: String) async throws -> Bool {
        guard !token.isEmpty else {
            throw UbiquitousStoreError(.unsupported, "A seed's token is empty: name the seed and its edition, as birds-2026.")
        }
        if try await isSeeded(token) { return true }
        _ = await engine.exchangeInBackground()
        return try await isSeeded(token)
    }

    private func seed(
        _ token: String, source: String?, total: Int?, _ progress: (@Sendable (Seeding) -> Void)?, next: (Int) async throws -> SeedBatch
    ) async throws -> Seeding {
        let base = current
        let exchange = SeedExchange(context: base.engine.context)
        guard var pending = try await blocking({ try exchange.pending(token, source: source) }) else { return Seeding(wasComplete: true) }
        pending.seeding.total = total
        while true {
            try Task.checkCancellation()
            let batch = try await next(pending.position)
            guard isCurrent(base) else {
                throw UbiquitousStoreError(
                    .suspended, "The store has changed files while it was seeded; call again, if the seed is the present account's too.",
                    path: base.file.path)
            }
            guard let after = try await base.engine.seed(batch, after: pending) else {
                pending.seeding.wasComplete = true
                return pending.seeding
            }
            pending = after
            current.runner?.wake()
            progress?(pending.seeding)
            if batch.isLast { return pending.seeding }
        }
    }
}

/// A sequence as one that is awaited.
private struct SeedSequence<Base: Sequence>: AsyncSequence where Base.Element == SeedRecord {
    struct AsyncIterator: AsyncIteratorProtocol {
        var base: Base.Iterator
        mutating func next() async -> SeedRecord? { base.next() }
    }

    let base: Base
    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(base: base.makeIterator()) }
}
