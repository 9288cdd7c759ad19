import CLinux
import Glibc
import Synchronization
import SystemPackage
import TreeWatching

/// Hears of changes that no coordinator made, on behalf of one presenter (C-63).
///
/// A presented directory is watched with everything below it; of any other item the directory that it lies in, and nothing below that. What
/// happened to the item itself is told from how things stand, not from the kind of event: programs replace files in many ways. So are the versions of a
/// file, which lie beside it; those that are there when the presenter is added are told then.
/// A descriptor without rights, open(2) with O_PATH, tells where an item went that is no longer at its path.
final class PresenterWatch: Sendable {
    let path: FilePath
    private let watcher: TreeWatcher
    private let isDirectory: Bool
    private let item: Mutex<WatchedItem>
    private let versions: Mutex<WatchedVersions>

    /// Begins to watch the item of a presenter.
    ///
    /// - Parameters:
    ///   - presenter: whose item.
    ///   - path: where it is.
    ///   - former: the watch of the same item where it was before; what happened between the two is not missed.
    ///   - client: hears of changes.
    /// - Throws: `TreeWatchingError` when its directory cannot be watched.
    init(_ presenter: PresenterID, at path: FilePath, after former: PresenterWatch?, client: CoordinationClient) throws {
        self.path = path
        item = Mutex(former.map { $0.item.withLock { $0.followed(to: path) } } ?? WatchedItem(path))
        versions = Mutex(former.map { $0.versions.withLock { $0.followed(to: path) } } ?? WatchedVersions(of: path))
        isDirectory = path.isDirectoryWithoutFollowing
        var options = TreeWatcher.Options()
        options.settling = .init(quiet: .milliseconds(100), maximum: .milliseconds(500))
        options.collapses = true
        options.attributes = true
        if !isDirectory { options.exclude = ["*/"] }
        options.diagnostics = { [weak client] error in
            client?.warnOnce("Presenters hear late of uncoordinated changes of \(path): \(error). Coordinated ones are not affected.")
        }
        watcher = try TreeWatcher(isDirectory ? path : path.removingLastComponent(), options: options)
        // A tap, for it hears of everything from now on, and has heard of it when `settled()` returns.
        watcher.tap { [weak self, weak client] batch in
            guard let self, let client else { return }
            report(batch, of: presenter, to: client)
        }
    }

    func cancel() {
        watcher.close()
    }

    /// Whether changes of an item may reach this watch.
    func concerns(_ item: FilePath) -> Bool {
        item.starts(with: path) || path.starts(with: item)
    }

    /// Returns once everything that happened before the call was reported.
    func settle() async {
        try? await watcher.settled()
    }

    private func report(_ batch: TreeChangeBatch, of presenter: PresenterID, to client: CoordinationClient) {
        var isItemTouched = false
        for message in versionMessages(batch) { client.submit(.noticed(presenter, message)) }
        for change in batch {
            switch change.kind {
            case .ready:
                // Until now nobody watched.
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
            } else if isDirectory, !client.isCoordinated(new), old.map({ !client.isCoordinated($0) }) ?? true {
                switch change.kind {
                case .created: client.submit(.noticed(presenter, .subitemDidAppear(new)))
                case .moved: client.submit(.noticed(presenter, .subitemDidMove(from: old ?? new, to: new)))
                default: client.submit(.noticed(presenter, .subitemDidChange(new)))
                }
            }
        }
        guard isItemTouched else { return }
        let news = item.withLock { $0.look() }
        guard let news, !client.isCoordinated(path) else { return }
        client.submit(.noticed(presenter, news))
    }

    /// What changes say of versions; coordinated ones too, for who was told already is not told again.
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

/// An item's path with a hold on what was last seen there.
private struct WatchedItem: Sendable {
    private let path: FilePath
    private var hold: Hold?
    private var stamp: ItemStamp

    private final class Hold: Sendable {
        let descriptor: CInt

        init?(_ path: FilePath) {
            // O_PATH, whose number the Glibc module lacks: a name for the item that needs no right to read it.
            descriptor = path.withPlatformString { open($0, 0o10_000_000 | O_NOFOLLOW | O_CLOEXEC) }
            if descriptor < 0 { return nil }
        }

        deinit { close(descriptor) }

        /// Where the item is now, by proc(5); nil when it is nowhere.
        var path: FilePath? {
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
                let count = readlink("/proc/self/fd/\(descriptor)", buffer.baseAddress!, buffer.count - 1)
                guard count > 0 else { return nil }
                buffer[count] = 0
                let path = FilePath(platformString: buffer.baseAddress!)
                var (held, there) = (Glibc.stat(), Glibc.stat())
                guard fstat(descriptor, &held) == 0, path.withPlatformString({ lstat($0, &there) }) == 0 else { return nil }
                return held.st_ino == there.st_ino && held.st_dev == there.st_dev ? path : nil
            }
        }
    }

    init(_ path: FilePath) {
        self.path = path
        hold = Hold(path)
        stamp = ItemStamp(path)
    }

    /// The same item, believed to be elsewhere.
    func followed(to path: FilePath) -> WatchedItem {
        var item = WatchedItem(path)
        item.hold = hold
        return item
    }

    /// Whether something has happened since the last look.
    var isOutdated: Bool { stamp != ItemStamp(path) || (stamp.isAbsent && hold != nil) }

    /// What has become of the item since the last look.
    ///
    /// - Returns: a message for its presenter; nil when it was not there before either.
    mutating func look() -> PresenterMessage? {
        let before = hold
        hold = Hold(path)
        stamp = ItemStamp(path)
        if hold != nil { return .didChange }
        guard let before else { return nil }
        guard let path = before.path else { return .didDisappear }
        // The watch at the new place goes on from this, for the item may have moved once more by then.
        hold = before
        return .didMove(path)
    }
}

/// What tells two states of an item apart; see lstat(2).
struct ItemStamp: Hashable, Sendable {
    private let numbers: [Int64]

    /// Whether there is nothing.
    var isAbsent: Bool { numbers.isEmpty }

    init(_ path: FilePath) {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else {
            numbers = []
            return
        }
        numbers = [
            Int64(bitPattern: UInt64(status.st_dev)), Int64(bitPattern: UInt64(status.st_ino)), Int64(status.st_size), Int64(status.st_mode),
            clinux_modified(&status), clinux_changed(&status),
        ]
    }
}
