internal import FileCoordination
internal import Foundation
internal import Glibc
internal import Logging
internal import Synchronization
internal import SystemPackage
internal import TreeWatching

/// Watches a container for events that affect it as a whole.
///
/// A process has one monitor for each container, as long as a listener exists.
actor ContainerMonitor {
    nonisolated let events = Broadcast<ContainerEvent>()
    private let container: UbiquityContainer
    private let own: PathPrefix
    private var detector: WipeDetector
    private(set) var watcher: TreeWatcher?
    private var witness: DeletionWitness?
    private var tasks: [Task<Void, Never>] = []
    private var following: Following?
    private var settling: Task<Void, Never>?

    /// The longest wait for a quiet moment.
    private static let longest = Duration.seconds(60)
    private var settlesBy: ContinuousClock.Instant?
    private(set) var isLooking = false
    private var looks = 0
    private var disturbances = 0
    /// Whether the guard has suspended stores since the last report.
    private var hasSuspended = false
    /// The number of looks that wait for an explanation.
    private static let patience = 20
    private var patience = ContainerMonitor.patience

    /// The time without changes before a report.
    static let quiet = Duration.milliseconds(300)

    /// The reading of the watcher's changes.
    private struct Following {
        let task: Task<Void, Never>
        /// The tick of the last change that was noted.
        var noted: UInt64 = 0
    }

    /// The monitors in use, by container.
    private static let monitors = Mutex<[FilePath: Weak]>([:])

    private struct Weak: Sendable {
        weak let monitor: ContainerMonitor?
    }

    /// The container's monitor.
    ///
    /// - Parameter container: the container.
    /// - Returns: a running one, which ends when nobody holds it.
    /// - Throws: `ContainerError` where the container cannot be watched.
    static func shared(for container: UbiquityContainer) throws(ContainerError) -> ContainerMonitor {
        if let monitor = monitors.withLock({ $0[container.path]?.monitor }) { return monitor }
        let new = try ContainerMonitor(container)
        let (monitor, isNew) = monitors.withLock { monitors in
            if let other = monitors[container.path]?.monitor { return (other, false) }
            monitors = monitors.filter { $0.value.monitor != nil }
            monitors[container.path] = Weak(monitor: new)
            return (new, true)
        }
        if isNew { new.begin() }
        return monitor
    }

    /// Makes one that does not run yet.
    ///
    /// - Parameter container: the container.
    /// - Throws: `ContainerError` where `config.json` cannot be read.
    init(_ container: UbiquityContainer) throws(ContainerError) {
        self.container = container
        own = PathPrefix(container.path)
        // A container that is not whole at the beginning is told of like one that is so later.
        var whole = ContainerSighting(of: container)
        (whole.attachment, whole.isSignedIn) = (.attached, true)
        detector = WipeDetector(whole, limit: try container.home.configuration.massDeletion ?? MassDeletionLimit())
    }

    deinit {
        watcher?.close()
        if let witness { FileCoordinator.removeFilePresenter(witness) }
        for task in tasks + [following?.task, settling].compactMap({ $0 }) { task.cancel() }
        events.close()
    }

    nonisolated func begin() { Task { await start() } }

    /// Returns when the container is watched.
    ///
    /// - Throws: `ContainerError` where it cannot be.
    func ready() async throws {
        start()
        guard let watcher, !isUnreadable else {
            throw ContainerError(
                .fileSystem, "\(container.path) cannot be watched; see fs.inotify.max_user_watches, and whether it can be read.", path: container.path
            )
        }
        try? await watcher.settled()
    }

    private var isUnreadable: Bool { container.path.withPlatformString { access($0, R_OK | X_OK) } != 0 && errno == EACCES }

    private func start() {
        guard witness == nil else { return }
        let witness = DeletionWitness(of: container) { [weak self] path in await self?.announce(path) }
        FileCoordinator.addFilePresenter(witness)
        self.witness = witness
        if let changes = try? container.home.identityChanges {
            tasks.append(
                Task { [weak self] in
                    for await _ in changes { await self?.disturb() }
                })
        }
        if let suspensions = container.suspensions {
            tasks.append(
                Task { [weak self] in
                    for await _ in suspensions { await self?.noteSuspensions() }
                })
        }
        watch()
        // It may have gone before it was watched.
        disturb()
    }

    // MARK: Watching

    /// Watches the container, which is waited for where it is not there.
    ///
    /// The watcher is kept while the container is gone: it alone knows whether the container was moved or deleted.
    private func watch() {
        guard watcher == nil else { return }
        var options = TreeWatcher.Options()
        options.followsRoot = false
        options.awaitsRoot = true
        options.sharing = .open
        guard let new = try? TreeWatcher(container.path, options: options) else { return }
        following?.task.cancel()
        watcher = new
        let changes = new.changes
        following = Following(
            task: Task { [weak self] in
                for await batch in changes { await self?.note(batch) }
                if !Task.isCancelled { await self?.endWatching(new) }
            })
    }

    /// A watcher has failed: another is made at the next look.
    private func endWatching(_ ended: TreeWatcher) {
        guard watcher === ended else { return }
        watcher = nil
        disturb()
    }

    private func note(_ batch: TreeChangeBatch) {
        // What a look has caught up with comes once more.
        let before = following?.noted ?? 0
        following?.noted = max(before, batch.last?.tick ?? 0)
        for change in batch {
            switch change.kind {
            case .attributes, .modified: continue
            // The files of stores come and go all the time: no path is made for them, nor of what is told of nobody.
            case .created, .moved, .removed: if change.tick > before { note(change) }
            case .rootLost(let loss):
                guard change.tick > before else { continue }
                detector.lost(loss)
                disturb()
            case .ready, .overflow, .rescanned, .rootBack: disturb()
            }
        }
    }

    /// Notes everything that has happened, though the task that reads the watcher's changes may be behind.
    private func catchUp() async {
        guard let watcher else { return }
        do {
            try await watcher.settled()
            for batch in try await watcher.changes(since: following?.noted ?? 0) { note(batch) }
        } catch {
            if error.code == .forgotten { disturb() }
        }
    }

    /// An entry has come, gone or moved.
    private func note(_ change: TreeChange) {
        let place = change.withPathBytes(place(of:)), source = change.withSourceBytes(place(of:))
        switch (change.kind, place, source) {
        case (.created, .item, _): detector.appeared(change.path)
        case (.removed, .item, _): if !change.isDirectory { vanish(change.path) }
        case (.moved, .item, .item): detector.moved(change.from!, to: change.path)
        case (.moved, _, .item): if !change.isDirectory { vanish(change.from!) }
        case (.moved, .item, _): detector.appeared(change.path)
        default: break
        }
        if place.shows || source?.shows == true { disturb() }
    }

    private func vanish(_ path: FilePath) {
        guard !isEvicted(path), detector.vanished(path) else { return }
        // At once: what comes next may be the rest of the container.
        suspend(removed: 0, of: detector.settled.items)
    }

    /// Whether an item, or a package around it, has a placeholder, which is here before the item goes.
    private func isEvicted(_ path: FilePath) -> Bool {
        var place = path
        while place != container.path, place.starts(with: container.path) {
            if Placeholder(at: Placeholder.path(of: place)) != nil { return true }
            place.removeLastComponent()
        }
        return false
    }

    /// The meaning of a path for the container.
    private enum Place {
        case item
        /// The container, a directory above it, a mark, a store's directory, an epoch's mark, or a synchroniser's
        /// directory.
        case landmark
        /// Deep in a store, where files come and go all the time, or not in the container.
        case nothing

        /// Whether a change there can show in a sighting.
        var shows: Bool { self != .nothing }
    }

    private func place(of path: UnsafeRawBufferPointer) -> Place {
        guard let rest = own.rest(of: path) else { return own.isBelow(path) ? .landmark : .nothing }
        let names = String(decoding: rest, as: UTF8.self).utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }
        switch names.first {
        case nil, UbiquityContainer.markDirectoryName?: return .landmark
        case UbiquityContainer.storesName?:
            // Below a peer's directory nothing shows, and it is where most happens.
            return names.count > 2 && names.dropFirst(2).contains { PeerIdentifier($0) != nil } ? .nothing : .landmark
        default: return names.contains { ForeignNames.matches(String($0)) } ? .landmark : .item
        }
    }

    private func announce(_ path: FilePath) {
        // A sign-out is told to presenters as a deletion, and deletes nothing.
        guard (try? container.home.account) == container.account else { return }
        detector.announce(path)
        disturb()
    }

    // MARK: Telling

    /// Something has happened: looks when nothing more has for a while.
    private func disturb() {
        disturbances &+= 1
        let latest = settlesBy ?? .now + Self.longest
        settlesBy = latest
        settling?.cancel()
        settling = Task { [weak self, pause = min(Self.quiet, max(.zero, ContinuousClock.now.duration(to: latest)))] in
            guard (try? await Task.sleep(for: pause)) != nil, !Task.isCancelled else { return }
            await self?.settle()
        }
    }

    /// Looks without waiting for quiet, behind all that has happened before the call.
    func lookNow() async {
        try? await watcher?.settled()
        settling?.cancel()
        let before = looks
        while looks == before {
            await settle()
            await Task.yield()
        }
    }

    func settle() async {
        // One look at a time; what happens while it lasts is looked at once more.
        guard !isLooking else { return disturb() }
        isLooking = true
        let seen = disturbances
        let sighting = try? await blocking { [container] in ContainerSighting(of: container) }
        // A look may see that something is gone before that is noted, so that nothing explains it. What is noted here is a
        // disturbance, after which the look is repeated.
        if let sighting, detector.misses(sighting) { await catchUp() }
        var isExplained = true
        if sighting?.isGone == true, detector.wasThere, let watcher {
            // The loss accounts for all delivered events. A move whose caller was held up half way may still be
            // undelivered.
            let loss = try? await watcher.rootLoss()
            if let loss { detector.lost(loss) }
            isExplained = loss != nil
        }
        isLooking = false
        guard let sighting else { return }
        if seen != disturbances, let settlesBy, settlesBy > .now { return disturb() }
        if !isExplained, patience > 0 {
            patience -= 1
            return disturb()
        }
        patience = Self.patience
        settlesBy = nil
        looks += 1
        let before = detector.settled.items
        let verdict = detector.settle(sighting)
        if verdict.isGuarded { suspend(removed: max(1, before - sighting.items), of: before) }
        // Only what was done on the way: an older suspension waits for somebody's word.
        if verdict.isLifted, hasSuspended { try? container.resume() }
        hasSuspended = false
        watch()
        guard let kind = verdict.kind else { return }
        let event = ContainerEvent(kind: kind, date: Date(), held: sighting.held, isSuspended: container.isSuspended)
        Logger.ubiquity.info(
            "\(container.path): \(kind.description)\(event.isSuspended ? "; stores in it are suspended" : "")",
            metadata: .facts([.event: kind.word, .container: container.path.string]))
        events.post { present in
            // A late listener hears of an event that still applies.
            present = kind == .restored ? [] : [event]
            return event
        }
    }

    /// Late listeners need not hear of deletions that somebody has said were meant.
    private func noteSuspensions() {
        guard !container.isSuspended else { return }
        events.post { present in
            if case .massDeletion = present.first?.kind { present = [] }
            return nil
        }
    }

    private func suspend(removed: Int, of items: Int) {
        if removed == 0 {
            guard !container.isSuspended else { return }
            hasSuspended = true
        }
        let suspension = ContainerSuspension(since: Date(), removed: removed, of: items)
        try? HomeFiles(home: container.home).suspend(container.identifier, container.account, suspension)
    }
}

/// Hears of coordinated deletions anywhere in the container.
///
/// It ignores all other changes, because stores write all the time.
private final class DeletionWitness: CoordinationWitness {
    let presentedItemURL: URL?
    private let announce: @Sendable (FilePath) async -> Void

    init(of container: UbiquityContainer, _ announce: @escaping @Sendable (FilePath) async -> Void) {
        presentedItemURL = URL(filePath: container.path.string, directoryHint: .isDirectory)
        self.announce = announce
    }

    func accommodatePresentedItemDeletion() async throws {
        // A sign-out is told like this, and deletes nothing.
        guard FilePresenterMessage.current?.purposeIdentifier != DeviceHome.signOutPurpose else { return }
        if let url = presentedItemURL { await announce(FilePath(url.path)) }
    }

    func accommodatePresentedSubitemDeletion(at url: URL) async throws { await announce(FilePath(url.path)) }

    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async { await announce(FilePath(oldURL.path)) }
}

/// The events that affect a container as a whole.
///
/// An iteration begins with the present state where the container is not whole, and ends with its task.
public struct ContainerEvents: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = ContainerEvent

    let monitor: ContainerMonitor

    /// Returns when the container is watched, and whatever befalls it from now on will be told.
    package func ready() async throws { try await monitor.ready() }

    /// Starts an observation.
    ///
    /// - Returns: the iterator.
    public func makeAsyncIterator() -> Iterator { Iterator(monitor: monitor, base: monitor.events.subscribe().makeAsyncIterator()) }

    /// Iterates over the events.
    public struct Iterator: AsyncIteratorProtocol {
        /// Watches the home while the iterator exists.
        let monitor: ContainerMonitor
        var base: AsyncStream<ContainerEvent>.Iterator

        /// The next event.
        ///
        /// - Parameter actor: whose isolation it keeps to.
        /// - Returns: nil at the end.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ContainerEvent? { await base.next(isolation: actor) }

        /// Returns the next event.
        public mutating func next() async -> ContainerEvent? { await base.next() }
    }
}

extension UbiquityContainer {
    /// The events that affect the container as a whole: wipes by any program, their end, and another account.
    ///
    /// During an iteration, the container is watched and the guard against mass deletion is on: uncoordinated deletions
    /// beyond ``MassDeletionLimit`` suspend stores in the container, at once and in all processes of this device, until
    /// ``resume()``.
    ///
    /// - Throws: `ContainerError` where the device home cannot be read.
    public var events: ContainerEvents {
        get throws(ContainerError) { ContainerEvents(monitor: try ContainerMonitor.shared(for: self)) }
    }
}
