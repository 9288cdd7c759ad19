internal import Foundation
internal import Synchronization
internal import SystemPackage
internal import UbiquityContainers

/// Tells a transport where files have just been published, without making the publisher wait.
///
/// One call runs at a time. Directories that are published meanwhile share the next one, so a transport that answers
/// slowly is not asked more often than it can answer.
final class TransportHint: Sendable {
    private struct State {
        var directories: Set<FilePath> = []
        var isTelling = false
        var waiters: [UUID: CheckedContinuation<Void, Never>] = [:]
    }

    /// What carries the container.
    let transport: any Transport
    private let state = Mutex(State())

    init(_ transport: any Transport) { self.transport = transport }

    /// Notes that files were published in a directory.
    func published(in directory: FilePath) {
        guard transport.kind != .none, transport.kind != .directory else { return }
        let isFirst = state.withLock { state in
            state.directories.insert(directory)
            defer { state.isTelling = true }
            return !state.isTelling
        }
        if isFirst { Task { await tell() } }
    }

    /// Returns when the transport has been told of everything, or after a limit.
    ///
    /// A program that ends before would leave its files to the transport's next look.
    func finished(within limit: Duration) async {
        let waiter = UUID()
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        await withCheckedContinuation { continuation in
            let waits = state.withLock { state in
                if state.isTelling { state.waiters[waiter] = continuation }
                return state.isTelling
            }
            guard waits else { return continuation.resume() }
            // Not before: a limit that is over before anybody waits ends no wait.
            timer = Task {
                guard (try? await Task.sleep(for: limit)) != nil else { return }
                state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume()
            }
        }
    }

    private func tell() async {
        while let directories = take() {
            for directory in directories { await transport.published(in: directory) }
        }
    }

    /// Returns the directories to tell of; nil if there are none, after everybody who waits has been told.
    private func take() -> Set<FilePath>? {
        let (directories, waiters) = state.withLock { state in
            defer {
                state.directories = []
                if !state.isTelling { state.waiters = [:] }
            }
            state.isTelling = !state.directories.isEmpty
            return (state.directories, state.isTelling ? [] : Array(state.waiters.values))
        }
        for waiter in waiters { waiter.resume() }
        return directories.isEmpty ? nil : directories
    }
}
