internal import StoreInspection
import Synchronization
import SystemPackage
import TreeWatching
import UbiquityContainers
import UbiquityStores

/// Waits until a container reaches a goal.
///
/// Changes of its files and of this device's stores wake it; it never polls.
struct Waiter {
    let goal: WaitGoal
    let reader: WatchReader
    /// How long nothing may have changed, for ``WaitGoal/quiet``.
    let pause: Duration
    /// When waiting ends at the latest; nil for never.
    let deadline: ContinuousClock.Instant?
    /// Whether reasons tell peers by their identifiers, not by the names of their devices.
    var showsIdentifiers = false

    /// The result of the wait.
    enum Outcome: Sendable, Equatable {
        case reached
        /// The deadline passed, for these reasons.
        case timedOut([String])
        case gone(String)
        case hopeless(String)
    }

    /// Waits.
    ///
    /// - Returns: how it ended.
    /// - Throws: `TreeWatchingError` where the container cannot be watched, and what ``WatchReader/facts()`` throws.
    func run() async throws -> Outcome {
        let (wakes, alarm) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        // Reading the facts reports a container that is gone, or is not a container.
        let facts = try await reader.facts()
        guard facts.presence != .gone else { return .gone("The container is gone: \(facts.path)") }
        guard let container = try watcher() else { return .gone("The container is gone: \(reader.path)") }
        var watchers = [container]
        defer { for watcher in watchers { watcher.close() } }
        let lastChange = LastChange()
        container.tap { _ in
            lastChange.note()
            alarm.yield()
        }
        let timer = deadline.map { Self.timer(at: $0, alarm) }
        defer { timer?.cancel() }
        // Looks happen only after the watch exists, so that no change falls between the two.
        try? await container.settled()
        guard goal != .quiet else { return try await waitForQuiet(wakes, alarm, lastChange) }
        var watched: Set<Place> = []
        _ = await watch(places(of: facts), &watched, &watchers, alarm)
        var iterator = wakes.makeAsyncIterator()
        while true {
            let begun = ContinuousClock.now
            let facts = try await reader.facts()
            // Changes up to the last moment count, so the deadline is checked after the files.
            switch facts.verdict(on: goal) {
            case .reached: return .reached
            case .gone(let words): return .gone(words)
            case .hopeless(let words): return .hopeless(words)
            case .awaiting(let reasons):
                guard let deadline, begun >= deadline else { break }
                return .timedOut(showsIdentifiers ? reasons : reasons.map(facts.names.naming))
            }
            // A store that has come since may lie where nobody has watched: then it is looked at behind the watch.
            if await watch(places(of: facts), &watched, &watchers, alarm) { continue }
            // During many changes, the pause leaves most of the time to the programs that make them.
            let rest = ContinuousClock.now + max(.milliseconds(20), begun.duration(to: .now) * 3)
            try await Task.sleep(until: deadline.map { min($0, rest) } ?? rest, clock: .continuous)
            guard await iterator.next(isolation: nil) != nil else { throw CancellationError() }
        }
    }

    /// Watches the container; nil where it has gone since it was looked at.
    private func watcher() throws(TreeWatchingError) -> TreeWatcher? {
        do {
            return try TreeWatcher(reader.path)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    private func waitForQuiet(_ wakes: AsyncStream<Void>, _ alarm: AsyncStream<Void>.Continuation, _ lastChange: LastChange) async throws -> Outcome {
        var iterator = wakes.makeAsyncIterator()
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        lastChange.note()
        while true {
            guard DirectoryIdentity(of: reader.path) != nil else { return .gone("The container is gone: \(reader.path)") }
            let end = lastChange.instant + pause
            if ContinuousClock.now >= end { return .reached }
            if let deadline, ContinuousClock.now >= deadline { return .timedOut(["something has changed in \(reader.path) less than \(pause) ago"]) }
            timer?.cancel()
            timer = Self.timer(at: end, alarm)
            guard await iterator.next(isolation: nil) != nil else { throw CancellationError() }
        }
    }

    /// A directory that is watched for the sake of stores.
    private struct Place: Hashable {
        var directory: FilePath
        /// The patterns of irrelevant entries.
        var excluded: [String]
    }

    /// Returns the directories of the stores' files, and the relevant parts of the device home.
    ///
    /// The home shows the signed-in account, the known stores, and the suspensions.
    private func places(of facts: WatchFacts) -> Set<Place> {
        var places: Set<Place> = []
        for file in facts.localStores.flatMap(\.files).map({ FilePath($0.summary.file) }) {
            let support = file.components.firstIndex { $0.string == "CoreDataUbiquitySupport" }
            // Beside a file that lies anywhere, only what belongs to it.
            let place = support.map { FilePath(root: file.root, file.components[...$0]) } ?? file.removingLastComponent()
            places.insert(Place(directory: place, excluded: support == nil ? ["/*/"] : []))
        }
        for path in facts.localStores.filter({ $0.isGone && $0.isNamed }).map({ FilePath($0.path) }) {
            let support = path.removingLastComponent().appending("CoreDataUbiquitySupport")
            places.insert(Place(directory: support, excluded: []))
        }
        if let home = reader.home { places.insert(Place(directory: home.path, excluded: ["/[!s]*/", "/s[!ut]*/"])) }
        return places
    }

    /// Watches places that are not watched yet.
    ///
    /// - Parameters:
    ///   - places: where something may happen.
    ///   - watched: the places that are watched already; gets these.
    ///   - watchers: gets who watches them.
    ///   - alarm: is told of each change.
    /// - Returns: whether there was a new one.
    private func watch(
        _ places: Set<Place>, _ watched: inout Set<Place>, _ watchers: inout [TreeWatcher], _ alarm: AsyncStream<Void>.Continuation
    ) async -> Bool {
        let new = places.subtracting(watched)
        watched.formUnion(new)
        let begun = new.compactMap { place -> TreeWatcher? in
            var options = TreeWatcher.Options()
            options.exclude = place.excluded
            options.awaitsRoot = true
            guard let watcher = try? TreeWatcher(place.directory, options: options) else { return nil }
            watcher.tap { _ in alarm.yield() }
            return watcher
        }
        watchers += begun
        for watcher in begun { try? await watcher.settled() }
        return !new.isEmpty
    }

    private static func timer(at instant: ContinuousClock.Instant, _ alarm: AsyncStream<Void>.Continuation) -> Task<Void, Never> {
        Task {
            guard (try? await Task.sleep(until: instant, clock: .continuous)) != nil else { return }
            alarm.yield()
        }
    }
}

/// When something changed last.
private final class LastChange: Sendable {
    private let stored = Mutex(ContinuousClock.now)

    var instant: ContinuousClock.Instant { stored.withLock { $0 } }

    func note() { stored.withLock { $0 = .now } }
}
