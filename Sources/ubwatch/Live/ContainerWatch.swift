import CLinux
import Foundation
internal import StoreInspection
import SyncthingStatus
import SystemPackage
import TreeWatching
import UbiquityContainers
import UbiquityStores

/// Watches a container, this device's stores of it and its account, and reads the facts again after a change.
///
/// It writes, coordinates and downloads nothing. A container that goes is waited for.
actor ContainerWatch {
    /// A report of the watch.
    enum Event: Sendable {
        case facts(WatchFacts)
        /// They cannot be read, in words.
        case failed(String)
        case changes([ContainerChange])
    }

    nonisolated let path: FilePath
    private let reader: WatchReader
    private let home: DeviceHome?
    private let tell: @Sendable (Event) -> Void
    private var teller: ChangeTeller
    private var facts: WatchFacts?
    /// Whether the container has not been there yet.
    private var isAwaited = false
    /// The directories of this device's stores that are watched.
    private var support: Set<FilePath> = []

    /// One poke stands for all that come until it is answered.
    private let pokes: AsyncStream<Void>
    private let poker: AsyncStream<Void>.Continuation
    private let trees: AsyncStream<FilePath>
    private let planter: AsyncStream<FilePath>.Continuation
    /// Ends once the container is watched, or is known to be away, or cannot be watched.
    private let beginning = AsyncStream.makeStream(of: Void.self)

    /// - Parameters:
    ///   - path: the container's directory.
    ///   - home: the device home; nil where there is none.
    ///   - options: what is read.
    ///   - tell: is told what happens, in order.
    init(_ path: FilePath, home: DeviceHome?, options: WatchReader.Options, tell: @escaping @Sendable (Event) -> Void) {
        reader = WatchReader(path, home: home, options: options)
        self.path = reader.path
        self.home = home
        self.tell = tell
        teller = ChangeTeller(container: reader.path.string)
        (pokes, poker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        (trees, planter) = AsyncStream.makeStream()
    }

    /// Reads everything again.
    nonisolated func refresh() { poker.yield() }

    /// Watches until the task is cancelled.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await self.followContainer() }
            group.addTask { await self.followStores() }
            group.addTask { await self.followHome() }
            group.addTask { await self.followTransport() }
            group.addTask { await self.read() }
        }
    }

    // MARK: Facts

    /// The shortest pause between two readings, and how long one waits for more to come before it reads.
    private static let shortest = Duration.milliseconds(250)
    private static let gathering = Duration.milliseconds(50)
    private static let longest = Duration.seconds(10)

    /// Reads when poked; the longer reading takes and the longer changes go on, the longer are the pauses.
    private func read() async {
        await waitForBeginning()
        poker.yield()
        var pause = Self.shortest
        var last = ContinuousClock.now
        for await _ in pokes {
            pause = ContinuousClock.now - last > .seconds(5) ? Self.shortest : min(pause * 2, .seconds(2))
            guard (try? await Task.sleep(for: Self.gathering)) != nil else { return }
            let start = ContinuousClock.now
            await readOnce()
            last = .now
            // A fifth of one core at most.
            guard (try? await Task.sleep(for: min(max(pause, (last - start) * 4), Self.longest))) != nil else { return }
        }
    }

    /// Returns once the container is watched, so that all that happens after the first facts is told.
    ///
    /// It does not wait for a file system that does not answer; the first reading reports that.
    private func waitForBeginning() async {
        await withTaskGroup { group in
            group.addTask { [beginning] in for await _ in beginning.stream {} }
            group.addTask { [path] in
                while !Task.isCancelled {
                    if case .silent = await DirectoryProbe.ask(path) { return }
                    try? await Task.sleep(for: .seconds(1))
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    private func readOnce() async {
        do {
            let new = try await reader.facts()
            teller.names = new.names
            teller.own = Set([new.device.peer].compactMap { $0 } + new.localStores.flatMap(\.files).map(\.summary.peer))
            let changes = FactsTeller(teller: teller).tell(from: facts, to: new)
            // Nothing but the time is another.
            var timeless = new
            if let facts {
                timeless.time = facts.time
                timeless.transport = timeless.transport?.keepingSpace(of: facts.transport)
                timeless.keepSpace(of: facts)
            }
            let isNew = timeless != facts
            facts = new
            if !changes.isEmpty { tell(.changes(changes)) }
            if isNew { tell(.facts(new)) }
            for store in new.localStores { plant(store) }
        } catch is CancellationError {
        } catch {
            facts = nil
            tell(.failed("\(error)"))
        }
    }

    // MARK: The container

    private func followContainer() async {
        defer { beginning.continuation.finish() }
        var options = TreeWatcher.Options()
        options.collapses = true
        // A reader that is not in time gets what differs.
        options.readerLimit = 16_384
        options.historyLimit = 0
        options.diagnostics = { [tell] error in tell(.failed(error.message)) }
        options.awaitsRoot = true
        options.sharing = .open
        do {
            let watcher = try TreeWatcher(path, options: options)
            defer { watcher.close() }
            for await batch in watcher.changes { note(batch) }
        } catch {
            tell(.failed(error.message))
        }
    }

    private func note(_ batch: TreeChangeBatch) {
        beginning.continuation.finish()
        poker.yield()
        let changes = batch.compactMap { change in
            if change.kind == .rootLost(.absent) { isAwaited = true }
            // A container that was not there at first has not come back.
            if change.kind == .rootBack, isAwaited {
                isAwaited = false
                return ContainerChange?.none
            }
            return teller.tell(change)
        }
        if !changes.isEmpty { tell(.changes(changes.map(sized))) }
    }

    /// Adds the size of a file that is a transfer.
    private func sized(_ change: ContainerChange) -> ContainerChange {
        guard change.direction != nil, let name = change.path, let facts = try? FileFacts(of: path.pushing(FilePath(name))), facts.kind == .file
        else {
            return change
        }
        var change = change
        change.bytes = facts.size
        return change
    }

    // MARK: This device

    /// Begins to watch where a store's files lie.
    private func plant(_ store: LocalStore) {
        for file in store.files {
            // …/CoreDataUbiquitySupport/<peer>/<content>/<what it is for>/<file>
            var directory = FilePath(file.summary.file)
            for _ in 0..<4 { directory.removeLastComponent() }
            guard !directory.isEmpty, support.insert(directory).inserted else { continue }
            planter.yield(directory)
        }
    }

    private func followStores() async {
        await withTaskGroup { group in
            for await directory in trees { group.addTask { await self.followStore(directory) } }
        }
    }

    private func followStore(_ directory: FilePath) async {
        var options = TreeWatcher.Options()
        // Files that readers leave behind, this program among them, are no change.
        options.exclude = ["*-shm", "*-open", "*-exchange", "*-use"]
        options.historyLimit = 0
        options.diagnostics = { _ in }
        guard let watcher = try? TreeWatcher(directory, options: options) else { return }
        defer { watcher.close() }
        for await batch in watcher.changes where batch.contains(where: Self.isTelling) { poker.yield() }
    }

    /// Returns whether a change counts.
    ///
    /// A write-ahead log comes and goes with its readers; only writes to it count.
    private static func isTelling(_ change: TreeChange) -> Bool {
        change.kind == .modified || !(change.path.lastComponent?.string.hasSuffix("-wal") ?? false)
    }

    /// Sign-ins, and stores that apps open for the first time.
    private func followHome() async {
        guard let home else { return }
        var options = TreeWatcher.Options()
        options.exclude = ["containers/", "kept/", "quarantine/"]
        options.awaitsRoot = true
        options.historyLimit = 0
        options.diagnostics = { _ in }
        guard let watcher = try? TreeWatcher(home.path, options: options) else { return }
        defer { watcher.close() }
        for await _ in watcher.changes { poker.yield() }
    }

    /// What a transport knows changes without a change in the container.
    private func followTransport() async {
        // The container's own watch sees what happens in a directory.
        guard let transport = try? reader.transport.get(), [.syncthing, .cloud].contains(transport.kind) else { return }
        for await _ in transport.changes() { poker.yield() }
    }
}
