internal import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// The right to exchange for a store, which one process of a device has at a time; it ends with the process.
///
/// Two locks make a turnstile: whoever wants the right takes the turn first, keeps it while waiting for the right, and lets go of the turn with it. So those that
/// wait come one after the other, the holder sees that somebody waits, and whoever lets go in between two batches comes after those.
package final class ExchangeLease {
    private let lock: FileLock
    private let turn: FilePath

    private init(_ lock: FileLock, turn: FilePath) { (self.lock, self.turn) = (lock, turn) }

    /// The lock of a store file, whose text names the process that has it.
    package static func lock(of file: FilePath) -> FilePath { FilePath(file.string + "-exchange") }

    /// Takes the right.
    ///
    /// - Parameters:
    ///   - file: the store file.
    ///   - limit: how long to wait for other processes; it blocks the thread.
    ///   - isCancelled: asked meanwhile; true ends the wait.
    /// - Returns: the right, or nil where another process has it still.
    /// - Throws: `UbiquitousStoreError` where a lock's file cannot be made or opened.
    package static func take(_ file: FilePath, within limit: Duration, unless isCancelled: () -> Bool) throws -> ExchangeLease? {
        let deadline = ContinuousClock.now + limit
        let turnFile = FilePath(file.string + "-turn-exchange")
        guard let turn = try StoreLock.take(turnFile, within: limit, unless: isCancelled) else { return nil }
        defer { withExtendedLifetime(turn) {} }
        return try StoreLock.take(lock(of: file), within: max(.zero, deadline - .now), unless: isCancelled).map { ExchangeLease($0, turn: turnFile) }
    }

    /// Whether another process waits for the right.
    var isAwaited: Bool {
        do { return try FileLock.ifFree(turn) == nil } catch { return false }
    }
}

/// Says that an exchange ends between two batches, for another process waits; it goes on after that one.
struct GivesWay: Error {}
