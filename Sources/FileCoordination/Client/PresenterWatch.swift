import CLinux
import Glibc
import Synchronization
import SystemPackage
import TreeWatching

/// Reports changes that no coordinator made to one presenter.
///
/// A presented directory is watched with everything below it. For any other item, only the directory that contains it
/// is watched. The state of the item decides what happened to it, not the kind of event, because programs replace files
/// in many ways. Versions of a file, which lie beside it, are treated alike. Versions that exist when the presenter is
/// added are reported then. A descriptor without rights, open(2) with O_PATH, tells where an item went that is no
/// longer at its path. That is reported after the item has been away for a moment.
final class PresenterWatch: Sendable {
    let presented: PresentedItem
    private let presenter: PresenterID
    private weak let client: CoordinationClient?
    private let watcher: TreeWatcher
    private let isDirectory: Bool
    private let isCancelled = Atomic(false)
    /// When everything was watched, in nanoseconds since 1970; 0 until then.
    private let readyAt = Atomic<Int64>(0)
    private let item: Mutex<WatchedItem>
    private let versions: Mutex<WatchedVersions>

    var path: FilePath { presented.path }

    /// Makes a watch of the item of a presenter, which reports nothing before ``begin()``.
    ///
    /// - Parameters:
    ///   - presenter: whose item.
    ///   - presented: the item.
    ///   - former: the watch of the same item where it was before; what happened between the two is not missed.
    ///   - client: hears of changes.
    /// - Throws: `TreeWatchingError` when its directory cannot be watched.
    init(_ presenter: PresenterID, of presented: PresentedItem, after former: PresenterWatch?, client: CoordinationClient) throws {
        self.presented = presented
        let path = presented.path
        self.presenter = presenter
        self.client = client
        item = Mutex(former.map { $0.item.withLock { $0.followed(to: path) } } ?? WatchedItem(path))
        versions = Mutex(former.map { $0.versions.withLock { $0.followed(to: path) } } ?? WatchedVersions(of: path))
        isDirectory = path.isDirectoryWithoutFollowing
        var options = TreeWatcher.Options()
        options.settling = .init(quiet: .milliseconds(100), maximum: .milliseconds(500))
        options.collapses = true
        options.attributes = true
        options.awaitsRoot = true
        options.sharing = .join
        if !isDirectory { options.exclude = ["*/"] }
        options.diagnostics = { [weak client] error in
            client?.watches.warnOnce(.late, "Presenters hear late of uncoordinated changes of \(path): \(error). Coordinated ones are not affected.")
        }
        watcher = try TreeWatcher(isDirectory ? path : path.removingLastComponent(), options: options)
    }

    /// Reports changes from now on, and first those since the presenter's last knowledge of the item.
    func begin() {
        // A tap, for it hears of everything from now on, and has heard of it when `settled()` returns.
        watcher.tap { [weak self, weak client] batch in
            guard let self, let client else { return }
            report(batch, to: client)
        }
        guard let client, isDirectory, item.withLock({ $0.leftAt != nil }) else { return }
        Task.detached(executorPreference: client.watches.aside) { [weak self] in await self?.checkEntries() }
    }

    func cancel() {
        isCancelled.store(true, ordering: .relaxed)
        watcher.close()
    }

    /// Whether changes of an item may reach this watch.
    func concerns(_ item: FilePath) -> Bool {
        item.starts(with: path) || path.starts(with: item)
    }

    /// Whether something is reported as a subitem.
    func covers(_ subitem: FilePath) -> Bool { isDirectory && subitem != path && subitem.starts(with: path) }

    /// Returns once everything that happened before the call was reported.
    func settle() async {
        try? await watcher.settled()
    }

    private func report(_ batch: TreeChangeBatch, to client: CoordinationClient) {
        var isItemTouched = false
        for message in versionMessages(batch) { client.submit(.noticed(presenter, message)) }
        for change in batch {
            switch change.kind {
            case .ready:
                // Until now nobody watched.
                readyAt.store(Self.now(), ordering: .relaxed)
                isItemTouched = item.withLock { $0.isOutdated }
                continue
            case .overflow, .rescanned: continue
            case .rootLost, .rootBack:
                isItemTouched = true
                continue
            case .created, .modified, .removed, .moved, .attributes: break
            }
            let (new, old) = (change.path, change.from)
            if new == path || (!isDirectory && old == path) {
                isItemTouched = true
            } else if isDirectory {
                switch change.kind {
                case .created: client.notice(.subitemDidAppear(new), by: presenter)
                case .moved: client.notice(.subitemDidMove(from: old ?? new, to: new), by: presenter)
                default: client.notice(.subitemDidChange(new), by: presenter)
                }
            }
        }
        if isItemTouched { touch() }
    }

    // MARK: The item

    /// Whether the item is missed, and has yet to be told as gone or moved.
    var missesItem: Bool { item.withLock { $0.openAbsence != nil } }

    /// The time for which an item must be missing before that is reported.
    private static let patience = Duration.milliseconds(100)

    /// Looks at the item where something has happened since it was last looked at.
    func check() {
        let (absence, isOutdated) = item.withLock { ($0.openAbsence, $0.isOutdated) }
        // A look during a write got no answer.
        if let absence { resolveLater(absence) } else if isOutdated { touch() }
    }

    /// Takes what a coordinated write has left for what the presenter knows.
    func rebase(after write: WatchedItem.Write) {
        if let absence = item.withLock({ $0.rebase(after: write) }) { resolveLater(absence) }
    }

    /// Tells of something that has happened to the item; not during a coordinated write, whose end will be told.
    private func touch() {
        guard let client, isToTell(client) else { return }
        switch item.withLock({ $0.look() }) {
        case .nothing: break
        case .change: client.submit(.noticed(presenter, .didChange))
        case .absence(let absence): resolveLater(absence)
        }
    }

    /// Tells of a change in a directory after its move and before its new place was watched.
    private func checkEntries() async {
        await settle()
        let (left, ready) = (item.withLock { $0.leftAt }, readyAt.load(ordering: .relaxed))
        guard let client, let left, left <= ready, isToTell(client) else { return }
        let isChanged = EntryTimes.hasChange(below: path, in: left...ready)
        item.withLock { $0.takeEntries() }
        if isChanged { client.submit(.noticed(presenter, .didChange)) }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private func resolveLater(_ absence: UInt64) {
        _ = Deadlines(clock: ContinuousClock()).call(after: Self.patience) { [weak self] in
            guard let self, let client, isToTell(client), let news = item.withLock({ $0.resolve(absence) }) else { return }
            client.submit(.noticed(presenter, news))
        }
    }

    private func isToTell(_ client: CoordinationClient) -> Bool {
        !isCancelled.load(ordering: .relaxed) && !client.isExplained(presenter, at: path)
    }

    /// Returns the messages about versions for changes, coordinated ones included.
    ///
    /// The presenter hears of each one once.
    private func versionMessages(_ batch: TreeChangeBatch) -> [PresenterMessage] {
        batch.flatMap { change -> [PresenterMessage] in
            switch change.kind {
            case .ready, .rescanned, .rootBack: return isDirectory ? [] : versions.withLock { $0.look() }
            case .overflow, .rootLost: return []
            case .created, .modified, .removed, .moved, .attributes:
                let paths = [change.from, change.path].compactMap { $0 }
                guard !isDirectory else {
                    let isNew = change.kind == .created || change.kind == .moved
                    return paths.compactMap { WatchedVersions.subitemMessage($0, isNew: isNew) }
                }
                return versions.withLock { versions in paths.flatMap { versions.look(at: $0) } }
            }
        }
    }
}
