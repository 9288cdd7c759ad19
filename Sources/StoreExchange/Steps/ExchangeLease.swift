internal import StoreRecords
package import SystemPackage

/// The right to exchange for a store, which one process of a device holds at a time; it ends with the process.
///
/// Two locks make a turnstile. A process takes the turn first, keeps it while it waits for the right, and releases it
/// when it has the right. So processes wait in order, the holder sees that another one waits, and a holder that
/// releases the right between two batches queues behind the waiting ones.
package final class ExchangeLease {
    private let lock: StoreLock
    private let turn: FilePath

    private init(_ lock: StoreLock, turn: FilePath) { (self.lock, self.turn) = (lock, turn) }

    /// Returns the lock of a store file, whose text names the process that holds it.
    package static func lock(of file: FilePath) -> FilePath { StoreLock.Name.exchange.file(of: file) }

    /// Takes the right.
    ///
    /// - Parameters:
    ///   - file: the store file.
    ///   - limit: how long to wait for other processes; the wait blocks the thread.
    ///   - isCancelled: called during the wait; true ends it.
    /// - Returns: the right, or nil if another process still holds it.
    /// - Throws: `UbiquitousStoreError` if a lock's file cannot be created or opened.
    package static func take(_ file: FilePath, within limit: Duration, unless isCancelled: () -> Bool) throws -> ExchangeLease? {
        let deadline = ContinuousClock.now + limit
        let turnFile = StoreLock.Name.turn.file(of: file)
        guard let turn = try StoreLock.take(turnFile, within: limit, unless: isCancelled) else { return nil }
        defer { withExtendedLifetime(turn) {} }
        return try StoreLock.take(lock(of: file), within: max(.zero, deadline - .now), unless: isCancelled).map { ExchangeLease($0, turn: turnFile) }
    }

    /// Whether another process waits for the right.
    var isAwaited: Bool { StoreLock.isTaken(turn) }
}

/// Ends an exchange between two batches, because another process waits; the exchange goes on after that process.
struct GivesWay: Error {}
