public import Foundation
import Logging
import Synchronization
import TreeWatching
package import UbiquityContainers

/// Finds the items of containers that match a predicate, and keeps reporting changes; Cocoa's class over `MetadataQuery`.
///
/// ```swift
/// let query = NSMetadataQuery()
/// query.searchScopes = [NSMetadataQueryUbiquitousDocumentsScope]
/// query.predicate = try NSPredicate(metadataFormat: "%K LIKE '*.txt'", NSMetadataItemFSNameKey)
/// query.start()
/// ```
///
/// The results change only together with a notification, on ``operationQueue``. A change of the predicate, the scopes, the order or the
/// containers restarts a running query. When the account changes, its items leave the results; a query that runs at a sign-in restarts
/// with the containers of the account.
///
/// The predicate is evaluated on any thread, and must not use the query.
public final class NSMetadataQuery: NSObject, @unchecked Sendable {
    // Both guard themselves: all state is in the mutex, and the lock of the base query is only taken inside it.
    private let state = Mutex(State())

    private struct State {
        var search = MetadataSearch()
        var queue: OperationQueue?
        var shown = ShownResults()
        var phase = Phase.new
        /// The number of the current run; news of an earlier one are dropped.
        var run: UInt64 = 0
        var task: Task<Void, Never>?
        var base: MetadataQuery?
        /// Whether a thread posts announcements.
        var isPosting = false
    }

    private enum Phase: Sendable {
        /// Before the first start.
        case new
        /// From a start to a stop.
        case started
        /// After a stop.
        case stopped
    }

    /// Makes a query without starting it.
    public override init() { super.init() }

    deinit { state.withLock { $0.task }?.cancel() }

    // MARK: What to find

    /// The items to find; a query needs it.
    ///
    /// It is a predicate for ``NSMetadataItem`` objects: `NSPredicate(block:)` or `NSPredicate(metadataFormat:)`.
    public var predicate: NSPredicate? {
        get { search.predicate }
        set { restart(MetadataSearchChange { $0.predicate = newValue }) }
    }

    /// The parts of the containers to search: ``NSMetadataQueryUbiquitousDocumentsScope``, ``NSMetadataQueryUbiquitousDataScope``, and
    /// URLs or paths of directories in the containers; by default the documents.
    ///
    /// An empty array stands for both constants.
    public var searchScopes: [Any] {
        get { search.scopes }
        set { restart(MetadataSearchChange { $0.scopes = newValue }) }
    }

    /// The order of the results; the path decides between equal items.
    public var sortDescriptors: [MetadataSortDescriptor] {
        get { search.order }
        set { restart(MetadataSearchChange { $0.order = newValue }) }
    }

    /// The containers to search; nil for all that this app has declared.
    ///
    /// Cocoa takes them from the app's entitlements.
    public var containerIdentifiers: [String]? {
        get { search.containerIdentifiers }
        set { restart(MetadataSearchChange { $0.containerIdentifiers = newValue }) }
    }

    /// The time in seconds during which changes are collected into one update; by default a second.
    public var notificationBatchingInterval: TimeInterval {
        get { search.interval }
        set {
            state.withLock { state in
                state.search.interval = newValue
                state.base?.batchingInterval = MetadataSearch.interval(newValue)
            }
        }
    }

    /// The queue on which results change and notifications are posted; nil for the main queue, which needs a running main run loop.
    public var operationQueue: OperationQueue? {
        get { state.withLock { $0.queue } }
        set { state.withLock { $0.queue = newValue } }
    }

    /// The device home, if it is not the one of the process.
    package var home: DeviceHome? {
        get { search.home }
        set { restart(MetadataSearchChange { $0.home = newValue }) }
    }

    /// The clock that measures the batching interval.
    package var clock: any Clock<Duration> {
        get { search.clock }
        set { restart(MetadataSearchChange { $0.clock = newValue }) }
    }

    private var search: MetadataSearch { state.withLock { $0.search } }

    // MARK: Running

    /// Starts to gather.
    ///
    /// - Returns: false if the query already runs, or has no predicate.
    @discardableResult
    public func start() -> Bool {
        state.withLock { state in
            guard state.phase != .started else { return false }
            guard state.search.predicate != nil else {
                Logger.ubiquity.error(
                    "A metadata query was started without a predicate; set one before, such as NSPredicate(block: { _, _ in true }).")
                return false
            }
            state.phase = .started
            begin(&state)
            return true
        }
    }

    /// Stops; the results stay, and ``start()`` gathers again.
    public func stop() {
        let former = state.withLock { state -> MetadataQuery? in
            guard state.phase == .started else { return nil }
            state.phase = .stopped
            return end(&state)
        }
        withExtendedLifetime(former) {}
    }

    /// Whether the query has been started and not stopped.
    public var isStarted: Bool { state.withLock { $0.phase == .started } }
    /// Whether the query has been stopped, and not started again.
    public var isStopped: Bool { state.withLock { $0.phase == .stopped } }
    /// Whether the query is still finding the items that existed at its start.
    public var isGathering: Bool { state.withLock { $0.shown.isGathering } }

    private func restart(_ change: MetadataSearchChange) {
        let former = state.withLock { state -> (MetadataSearch, MetadataQuery?) in
            let former = state.search
            change.apply(&state.search)
            guard state.phase == .started else { return (former, nil) }
            let base = end(&state)
            if state.search.predicate == nil { state.phase = .stopped } else { begin(&state) }
            return (former, base)
        }
        // A former predicate may hold the client's objects, whose release is not under the lock.
        withExtendedLifetime(former) {}
    }

    private func begin(_ state: inout State) {
        state.run += 1
        state.shown.begin()
        let run = MetadataQueryRun(number: state.run, search: state.search, query: self)
        state.task = Task.detached { await run.run() }
    }

    /// Ends the run.
    ///
    /// - Returns: the run's query, to be released outside the lock.
    private func end(_ state: inout State) -> MetadataQuery? {
        let base = state.base
        state.run += 1
        state.task?.cancel()
        (state.task, state.base) = (nil, nil)
        state.shown.end()
        return base
    }

    // MARK: Results

    /// The number of results.
    public var resultCount: Int { shownItems.count }
    /// The items that match, in the query's order: ``NSMetadataItem`` objects.
    public var results: [Any] { shownItems }

    /// Returns a result.
    ///
    /// - Parameter index: from 0 to one less than ``resultCount``; anything else is a programming error.
    /// - Returns: an ``NSMetadataItem``.
    public func result(at index: Int) -> Any { shownItems[index] }

    /// Returns the place of a result.
    ///
    /// - Parameter result: an ``NSMetadataItem``.
    /// - Returns: its index; `NSNotFound` if it is none of the results.
    public func index(ofResult result: Any) -> Int {
        guard let item = result as? NSMetadataItem else { return NSNotFound }
        return shownItems.firstIndex(of: item) ?? NSNotFound
    }

    /// Returns an attribute of a result.
    ///
    /// - Parameters:
    ///   - attributeName: one of the constants `NSMetadataItem…Key`.
    ///   - index: the index of the result.
    /// - Returns: the value; nil if it is not known.
    public func value(ofAttribute attributeName: String, forResultAt index: Int) -> Any? { shownItems[index].value(forAttribute: attributeName) }

    /// Calls a block with each result, in order.
    ///
    /// - Parameter block: gets the result, its index, and a place to set to true to stop.
    public func enumerateResults(_ block: (Any, Int, UnsafeMutablePointer<ObjCBool>) -> Void) {
        var stop = ObjCBool(false)
        for (index, item) in shownItems.enumerated() where !stop.boolValue { block(item, index, &stop) }
    }

    private var shownItems: [NSMetadataItem] { state.withLock { $0.shown.items } }

    // MARK: Updates

    /// Freezes the results, for example while they are enumerated; each call needs one call of ``enableUpdates()``.
    public func disableUpdates() {
        state.withLock { state in
            state.shown.hold()
            state.base?.disableUpdates()
        }
    }

    /// Reports the changes since the freeze; more calls than of ``disableUpdates()`` are a programming error.
    public func enableUpdates() {
        let queue = state.withLock { state -> OperationQueue? in
            let isFree = state.shown.release()
            state.base?.enableUpdates()
            return isFree ? state.queue ?? .main : nil
        }
        queue?.addOperation(QueueOperation { self.post() })
    }

    // MARK: The run's side

    /// Takes the query of a run, if it is still the current one.
    func adopt(_ base: MetadataQuery, _ run: UInt64) -> Bool {
        state.withLock { state in
            guard state.run == run else { return false }
            for _ in 0..<state.shown.holdCount { base.disableUpdates() }
            base.batchingInterval = MetadataSearch.interval(state.search.interval)
            state.base = base
            return true
        }
    }

    /// Begins again, if a run is still the current one.
    func restart(_ run: UInt64) {
        let former = state.withLock { state -> MetadataQuery? in
            guard state.run == run else { return nil }
            let base = end(&state)
            begin(&state)
            return base
        }
        withExtendedLifetime(former) {}
    }

    /// The queue of notifications.
    var notificationQueue: OperationQueue { operationQueue ?? .main }

    /// Shows news of a run, and posts the notification; runs on the queue of notifications.
    func show(_ news: QueryNews, _ run: UInt64) {
        let isCurrent = state.withLock { state in
            guard state.run == run else { return false }
            state.shown.take(news)
            return true
        }
        if isCurrent { post() }
    }

    /// Posts what there is to announce; one thread at a time, so that notifications come in order.
    private func post() {
        guard
            state.withLock({ state in
                defer { state.isPosting = true }
                return !state.isPosting
            })
        else { return }
        while let announcement = next() {
            NotificationCenter.default.post(name: announcement.name, object: self, userInfo: announcement.userInfo)
        }
    }

    private func next() -> ShownResults.Announcement? {
        state.withLock { state in
            let announcement = state.shown.showNext()
            if announcement == nil { state.isPosting = false }
            return announcement
        }
    }
}

/// A change of what a query searches for.
private struct MetadataSearchChange: @unchecked Sendable {
    // Applied once, by the caller that has made it.
    let apply: (inout MetadataSearch) -> Void

    init(_ apply: @escaping (inout MetadataSearch) -> Void) { self.apply = apply }
}
