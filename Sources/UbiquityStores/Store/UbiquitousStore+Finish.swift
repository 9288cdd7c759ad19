internal import Foundation
internal import Logging
internal import StoreExchange
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

extension UbiquitousStore {
    /// Publishes what has been saved, and closes the store: the one call at the end of a short-lived program.
    ///
    /// If the saves are in the fallback file or in the local one, and the signed-in account's content can be read now, the
    /// content is read, and the saves are joined into the account's file and published. Otherwise they stay where they
    /// are, and the next opening publishes them. If nothing waits to be published, nothing is read or written. Nothing
    /// is imported for its own sake: ``settled()`` does that.
    ///
    /// ```swift
    /// try await store.write { db in try Note(title: "Milk").insert(db) }
    /// if let reason = try await store.finish().reason { print("saved on this device only: \(reason)") }
    /// ```
    ///
    /// The store also closes if the task is cancelled, or the limit is over. If a file system does not respond even then,
    /// the store closes in the background.
    ///
    /// - Parameter limit: how long to wait for the publication, as for a file system that does not respond.
    /// - Returns: whether everything is published, and otherwise why it is not. A failure to publish is no error, because
    ///   no save is lost.
    /// - Throws: GRDB's error if statements are still running.
    public func finish(within limit: Duration = .seconds(60)) async throws -> StoreFinish {
        try await finish(within: limit, clock: ContinuousClock())
    }

    /// Publishes and closes, with the limit on the given clock.
    package func finish(within limit: Duration, clock: any Clock<Duration>) async throws -> StoreFinish {
        var finish = await limited(limit, clock) { await self.publishRest() }
        if finish == nil { finish = await untried() }
        // It is not cancelled with this task.
        let closing = Task { try await close() }
        let closed = await Task { await limited(.seconds(10), ContinuousClock()) { await closing.result } }.value
        if closed == nil { context.logger.warning("\(file): the store closes in the background, because the work in progress has not ended") }
        try closed?.get()
        return finish!
    }

    /// Returns the result if publishing has not ended.
    private func untried() async -> StoreFinish {
        let saved = current
        guard (try? await hasUnpublished(saved)) != false || current !== saved else { return .published }
        if Task.isCancelled { return .kept(.cancelled) }
        return await .kept(keeper?.isAsking == true ? .unanswered : .timedOut)
    }

    /// Returns whether a file holds a save that is not in the container.
    private func hasUnpublished(_ base: StoreBase) async throws -> Bool {
        if context.isReadOnly { return false }
        // GRDB refuses to read in a cancelled task.
        return try await Task { try await StoreJoin.isNeeded(from: base) }.value
    }

    /// Publishes everything, from the file in which it belongs.
    private func publishRest() async -> StoreFinish {
        let saved = current
        do {
            // A file that the store has left in the meantime is empty, and its saves are in the other one.
            guard try await hasUnpublished(saved) || current !== saved else { return .published }
            let exchange = await exchanging.context
            if try await blocking({ exchange.silence }) != nil { return .kept(.suspended(.silent)) }
            try await keeper?.settle()
            var staysApart = false
            if current !== saved { staysApart = (try? await hasUnpublished(saved)) == true }
            if try await hasUnpublished(current) {
                try await publish()
                if try await hasUnpublished(current) { return await .kept(obstacle()) }
            }
            return staysApart ? .kept(.signedOut) : .published
        } catch {
            return await .kept(obstacle(error))
        }
    }

    /// Returns what prevents the publication.
    private func obstacle(_ error: (any Error)? = nil) async -> StoreFinish.Reason {
        let place = await keeper?.place
        if place == .local, (try? keeper?.files.home.account) == nil { return .signedOut }
        let status = try? await status()
        if status?.isPaused == true { return .paused }
        if let reason = status?.suspended, error == nil || (error as? UbiquitousStoreError)?.code == .suspended { return .suspended(reason) }
        if let error { return .failed("\(error)") }
        if case .fallback = place { return .contentUnread }
        return .failed(status?.failure ?? "the store has no place in its container yet; the next opening continues")
    }
}

/// Runs work until it ends, the limit is over, or the calling task is cancelled.
///
/// The work is cancelled then, and not awaited: a file system may not respond.
///
/// - Returns: the result of the work; nil if it has not ended.
private func limited<Result: Sendable>(
    _ limit: Duration, _ clock: any Clock<Duration>, _ work: @escaping @Sendable () async -> Result
) async -> Result? {
    let (results, continuation) = AsyncStream.makeStream(of: Result.self, bufferingPolicy: .bufferingOldest(1))
    let working = Task {
        continuation.yield(await work())
        continuation.finish()
    }
    let timer = Task {
        if (try? await clock.sleep(for: limit)) != nil { continuation.finish() }
    }
    defer {
        working.cancel()
        timer.cancel()
    }
    for await result in results { return result }
    return nil
}
