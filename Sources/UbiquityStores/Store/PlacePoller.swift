internal import Foundation
internal import StoreExchange
internal import Synchronization

/// Asks a store's public place for news, at opening and from time to time, until it is cancelled.
final class PlacePoller: Sendable {
    let fetcher: PlaceFetcher
    private let state = Mutex(State())

    private struct State {
        var task: Task<Void, Never>?
        var fault: String?
    }

    init(_ fetcher: PlaceFetcher) { self.fetcher = fetcher }

    deinit { cancel() }

    /// Why the last question failed; nil if it did not.
    var fault: String? { state.withLock { $0.fault } ?? fetcher.place.fault }

    /// Asks now, and takes in what is new.
    ///
    /// - Throws: the errors of ``PlaceFetcher/poll()``.
    func poll() async throws {
        do {
            _ = try await fetcher.poll()
            state.withLock { $0.fault = nil }
        } catch {
            if !(error is CancellationError) { state.withLock { $0.fault = String(describing: error) } }
            throw error
        }
    }

    /// Asks at once, and again after each period.
    ///
    /// After a failure it asks again sooner, at first after half a minute.
    ///
    /// - Parameters:
    ///   - polling: the period.
    ///   - clock: the clock of the period.
    func start(_ polling: PlacePolling, clock: any Clock<Duration>) {
        let task = Task { [weak self] in
            var failures = 0
            while !Task.isCancelled {
                do {
                    try await self?.poll()
                    failures = 0
                } catch {
                    failures += 1
                }
                let pause = polling.pause(.random(in: 0...1))
                let retry = Duration.seconds(30) * (1 << min(failures - 1, 10))
                do { try await clock.sleep(for: failures == 0 ? pause : min(pause, retry)) } catch { return }
                if self == nil { return }
            }
        }
        state.withLock { state in
            state.task?.cancel()
            state.task = task
        }
    }

    func cancel() {
        state.withLock { state in
            state.task?.cancel()
            state.task = nil
        }
    }
}
