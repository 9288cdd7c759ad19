internal import SystemPackage

/// The right to exchange for a store, which one process of a device has at a time; it ends with the process.
///
/// Two locks make a turnstile: whoever wants the right takes the turn first, keeps it while waiting for the right, and lets go of the turn with it. So those that
/// wait come one after the other, the holder sees that somebody waits, and whoever lets go in between two batches comes after those.
final class ExchangeLease {
    private let lock: StoreLock
    private let turn: FilePath

    private init(_ lock: StoreLock, turn: FilePath) { (self.lock, self.turn) = (lock, turn) }

    /// The lock of a store file, whose text names the process that has it.
    static func lock(of file: FilePath) -> FilePath { StoreLock.Name.exchange.file(of: file) }

    /// Takes the right.
    ///
    /// - Parameters:
    ///   - file: the store file.
    ///   - limit: how long to wait for other processes; it blocks the thread.
    ///   - isCancelled: asked meanwhile; true ends the wait.
    /// - Returns: the right, or nil where another process has it still.
    /// - Throws: `UbiquitousStoreError` where a lock's file cannot be made or opened.
    static func take(_ file: FilePath, within limit: Duration, unless isCancelled: () -> Bool) throws -> ExchangeLease? {
        let deadline = ContinuousClock.now + limit
        let turnFile = StoreLock.Name.turn.file(of: file)
        guard let turn = try StoreLock.take(turnFile, within: limit, unless: isCancelled) else { return nil }
        defer { withExtendedLifetime(turn) {} }
        return try StoreLock.take(lock(of: file), within: max(.zero, deadline - .now), unless: isCancelled).map { ExchangeLease($0, turn: turnFile) }
    }

    /// Whether another process waits for the right.
    var isAwaited: Bool { StoreLock.isTaken(turn) }
}

/// Says that an exchange ends between two batches, for another process waits; it goes on after that one.
struct GivesWay: Error {}
