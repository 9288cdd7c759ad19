import Glibc
import Synchronization
public import SystemPackage

/// Watches a directory tree and gives an ordered stream of its changes, of which none is lost.
///
/// ```swift
/// let watcher = try TreeWatcher("/home/ann/Documents")
/// for await batch in watcher.changes {
///     for change in batch { print(change.kind, change.path) }
/// }
/// ```
///
/// All watchers of a process share one inotify instance and one thread. Watching begins at once;
/// ``TreeChange/Kind/ready`` reports that every directory is watched. The watcher waits for a root that vanishes. It
/// does not see writes through mmap(2), which raise no event, or changes that other machines make to a network file
/// system (inotify(7)).
public final class TreeWatcher: Sendable {
    /// The watched directory's absolute path.
    public let root: FilePath
    let hub: TreeHub
    let identifier: UInt64
    private let readerLimit: Int

    private static let lastIdentifier = Atomic<UInt64>(0)

    /// Begins to watch a directory.
    /// - Parameters:
    ///   - root: The directory; a relative path is relative to the working directory. A symbolic link here is followed
    ///     unless the options say otherwise. Links below it are not followed.
    ///   - options: What to report, and how.
    /// - Throws: ``TreeWatchingError`` if there is no directory at `root` or it cannot be read, unless
    ///   ``Options/awaitsRoot`` allows that, and if no inotify instance is left. A root that vanishes after this check
    ///   is reported as ``TreeChange/Kind/rootLost(_:)``.
    public init(_ root: FilePath, options: Options = .init()) throws(TreeWatchingError) {
        // First, so that a refusal leaves no helper program behind.
        try options.validate()
        let root = try Self.absolute(root)
        switch options.source {
        case .kernel:
            let mount = MountTable.mount(of: root.bytes).flatMap { $0.isProvided ? $0 : nil }
            // Whoever provides the file system may not answer. The hub's thread looks for the root then, and waits.
            if mount == nil || !options.awaitsRoot { try Self.check(root, options) }
            hub = try TreeHub.kernel(for: mount)
        case .inotifytools(let helper):
            try Self.check(root, options)
            hub = try TreeHub(source: HelperSource(helper: helper), outlivesWatchers: false)
        case .custom(let source):
            hub = try TreeHub(source: source, outlivesWatchers: false)
        }
        self.root = root
        readerLimit = options.readerLimit
        identifier = Self.lastIdentifier.add(1, ordering: .relaxed).newValue
        let bytes = root.bytes
        let metrics = options.metrics ?? MetricRecorder()
        hub.post { [identifier] loop in loop.open(TreeView(identifier: identifier, root: bytes, options: options, metrics: metrics)) }
    }

    deinit { close() }

    /// Ends watching.
    ///
    /// Every iteration of ``changes`` ends, and taps are called no more after the watching thread has handled the call.
    /// A second call does nothing.
    public func close() { hub.post { [identifier] loop in loop.remove(identifier) } }

    // MARK: Readers

    /// The tree's changes; each iteration is a subscription of its own.
    public var changes: TreeChanges { TreeChanges(watcher: self) }

    /// Calls back on the watching thread, without a thread hop: the fastest way to hear of a change.
    ///
    /// The first call reports the present state of the tree, like the first element of ``changes``. While the callback
    /// runs, nothing else is read: it must be short and must not wait. If a callback waits longer than the kernel's
    /// queue has room for events, the tree is scanned again, and no change is lost.
    /// - Parameter body: Called with each batch.
    /// - Returns: The tap. The callback continues until the tap is cancelled or the watcher closed, even if the tap is
    ///   dropped.
    @discardableResult
    public func tap(_ body: @escaping @Sendable (TreeChangeBatch) -> Void) -> TreeTap {
        let reader = TapReader(body)
        hub.post { [identifier] loop in loop.view(identifier)?.add(reader) }
        return TreeTap { [hub, identifier] in hub.post { loop in loop.view(identifier)?.removeReader(reader) } }
    }

    func subscribe() -> Subscription {
        let subscription = Subscription(limit: readerLimit)
        let isPosted = hub.post { [identifier] loop in
            if let view = loop.view(identifier) { view.add(subscription) } else { subscription.finish() }
        }
        if !isPosted { subscription.finish() }
        return subscription
    }

    func unsubscribe(_ subscription: Subscription) {
        hub.post { [identifier] loop in loop.view(identifier)?.removeReader(subscription) }
    }

    // MARK: Questions

    /// Returns when every earlier change has been delivered: to taps, and into the buffers of ``changes``.
    ///
    /// It waits until the tree is watched, and delivers changes that settling or collapsing holds back. While the root
    /// is lost it does not wait.
    /// - Throws: ``TreeWatchingError`` with code `closed` or `cancelled`.
    public func settled() async throws(TreeWatchingError) {
        try await ask { view, answer in
            view.addBarrier { error in answer(error.map { .failure($0) } ?? .success(())) }
        }
    }

    /// The changes after a tick, as far as they are remembered (``Options/historyLimit``).
    /// - Parameter tick: A tick that this watcher gave.
    /// - Returns: The batches with greater ticks, in order.
    /// - Throws: ``TreeWatchingError`` with code `forgotten` if some of them are no longer remembered. ``entries()``
    ///   returns the present state then.
    public func changes(since tick: UInt64) async throws(TreeWatchingError) -> [TreeChangeBatch] {
        try await ask { [root] view, answer in
            if let batches = view.changes(since: tick) {
                answer(.success(batches))
            } else {
                answer(
                    .failure(
                        .init(
                            .forgotten, "the changes of \(root) since tick \(tick) are not remembered; read entries() and go on from its tick",
                            path: root)))
            }
        }
    }

    /// Returns every known entry below the root, parents first, as ``TreeChange/Kind/created`` with the present tick.
    /// - Returns: The entries.
    /// - Throws: ``TreeWatchingError`` with code `closed` or `cancelled`.
    public func entries() async throws(TreeWatchingError) -> TreeChangeBatch {
        try await ask { view, answer in answer(.success(view.entries())) }
    }

    /// Why the root is not at its path, by all that was raised before the call; nil while it is there.
    ///
    /// - Throws: ``TreeWatchingError`` with code `closed` or `cancelled`.
    package func rootLoss() async throws(TreeWatchingError) -> TreeChange.RootLoss? {
        try await settled()
        return try await ask { view, answer in answer(.success(view.rootLoss)) }
    }

    /// Asks on the watching thread.
    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (TreeView, @escaping @Sendable (Result<Answer, TreeWatchingError>) -> Void) -> Void
    ) async throws(TreeWatchingError) -> Answer {
        let once = OneAnswer<Answer>()
        let closed = TreeWatchingError(.closed, "the watcher of \(root) is closed", path: root)
        let isPosted = hub.post { [identifier] loop in
            guard let view = loop.view(identifier) else { return once.give(.failure(closed)) }
            question(view) { once.give($0) }
        }
        if !isPosted { once.give(.failure(closed)) }
        return try await once.value(cancelled: .init(.cancelled, "waiting for the watcher of \(root) was cancelled", path: root)).get()
    }

    // MARK: The root

    private static func absolute(_ path: FilePath) throws(TreeWatchingError) -> FilePath {
        if path.isEmpty { throw .init(.notFound, "cannot watch an empty path; give a directory") }
        if path.isAbsolute { return path.lexicallyNormalized() }
        guard let directory = getcwd(nil, 0) else {
            throw .init(.system, "cannot watch \(path): the working directory is gone", cause: Errno(rawValue: errno), path: path)
        }
        defer { free(directory) }
        return FilePath(platformString: directory).pushing(path).lexicallyNormalized()
    }

    /// The errors of a missing or inaccessible root that can end by themselves.
    private static let awaitable: Set<Errno> = [
        .noSuchFileOrDirectory, .notDirectory, .tooManySymbolicLinkLevels, .permissionDenied,
    ]

    private static func check(_ root: FilePath, _ options: Options) throws(TreeWatchingError) {
        let result = root.withPlatformString { path -> Result<Void, Errno> in
            do throws(Errno) {
                let fd = try LongPath.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (options.followsRoot ? 0 : O_NOFOLLOW))
                Glibc.close(fd)
                return .success(())
            } catch {
                return .failure(error)
            }
        }
        guard case .failure(let errno) = result else { return }
        if options.awaitsRoot, Self.awaitable.contains(errno) { return }
        throw .root(root, errno)
    }
}

extension FilePath {
    /// The path's bytes.
    var bytes: [UInt8] { withPlatformString { Array(UnsafeRawBufferPointer(start: $0, count: strlen($0))) } }
}

/// An answer that comes once, from another thread or by cancellation.
final class OneAnswer<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, TreeWatchingError>?
        var continuation: CheckedContinuation<Result<Value, TreeWatchingError>, Never>?
    }

    private let state = Mutex(State())

    func give(_ result: Result<Value, TreeWatchingError>) {
        let continuation = state.withLock { state -> CheckedContinuation<Result<Value, TreeWatchingError>, Never>? in
            if state.result != nil { return nil }
            state.result = result
            return state.continuation.take()
        }
        continuation?.resume(returning: result)
    }

    func value(cancelled: TreeWatchingError) async -> Result<Value, TreeWatchingError> {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.continuation = continuation }
                    return state.result
                }
                if let result { continuation.resume(returning: result) }
            }
        } onCancel: {
            give(.failure(cancelled))
        }
    }
}
