package import Foundation
internal import Synchronization
package import UbiquityContainers

/// What is being transferred at this moment, for those who look at it.
package final class TransferBoard: Sendable {
    /// The direction of a transfer.
    package enum Direction: String, Sendable, Codable {
        case upload
        case download
    }

    /// One file on its way.
    package struct Entry: Sendable, Hashable, Codable {
        package var path: String
        package var direction: Direction
        /// The bytes that have been sent or have arrived.
        package var done: Int64
        package var total: Int64
        /// When it began.
        package var began: Date

        package init(path: String, direction: Direction, done: Int64, total: Int64, began: Date) {
            (self.path, self.direction, self.done, self.total, self.began) = (path, direction, done, total, began)
        }

        /// The bytes a second since it began.
        package func rate(now: Date) -> Double? {
            let time = now.timeIntervalSince(began)
            return done > 0 && time > 0 ? Double(done) / time : nil
        }

        /// The progress with the rate.
        package func progress(now: Date) -> TransferProgress { TransferProgress(done: done, total: total, rate: rate(now: now)) }
    }

    private struct State {
        var entries: [String: Entry] = [:]
        var generation = 0
        /// All bytes of files that have been transferred since the agent began.
        var sent: Int64 = 0, received: Int64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins a transfer, and returns what receives its progress.
    func begin(_ path: some CustomStringConvertible & Sendable, _ direction: Direction, _ total: Int64, now: Date) -> @Sendable (Int64) -> Void {
        let key = path.description
        state.withLock { $0.entries[key] = Entry(path: key, direction: direction, done: 0, total: total, began: now) }
        return { [weak self] done in
            self?.state.withLock { if $0.entries[key] != nil { $0.entries[key]!.done = max($0.entries[key]!.done, done) } }
        }
    }

    /// Ends a transfer.
    func end(_ path: some CustomStringConvertible & Sendable, isDone: Bool) {
        state.withLock { state in
            guard let entry = state.entries.removeValue(forKey: path.description), isDone else { return }
            if entry.direction == .upload { state.sent += entry.total } else { state.received += entry.total }
        }
    }

    /// The transfer of a file; nil if there is none.
    func entry(_ path: String) -> Entry? { state.withLock { $0.entries[path] } }

    /// The transfers, by path.
    package var entries: [Entry] { state.withLock { $0.entries.values.sorted { $0.path < $1.path } } }
    /// The bytes of whole files that have been sent and received.
    package var bytes: (sent: Int64, received: Int64) { state.withLock { ($0.sent, $0.received) } }
}
