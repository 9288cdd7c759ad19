public import SystemPackage

/// Finds the items of containers that match a predicate, and keeps reporting changes; Cocoa's `NSMetadataQuery`.
///
/// ```swift
/// let query = MetadataQuery(container) { $0.name.hasSuffix(".txt") }
/// query.start()
/// for await update in query.updates { show(update.results) }
/// ```
///
/// Items are files, directories, file packages, which count as one item, and symbolic links, which are not followed.
/// With a transport, items that other devices have and this device has not are items too (``MetadataItem/isHere``).
/// The query leaves out:
///
/// - names that begin with a dot, and everything below them, unless requested;
/// - `*.nosync` and everything below, because it is not meant for other devices;
/// - `CoreData`, which belongs to stores, and `.ubiquity`;
/// - conflict copies of existing items: the items are conflicted (``MetadataItem/hasUnresolvedConflicts``). A copy
///   without its original is an item;
/// - names that are not UTF-8, which synchronisers do not transfer, and anything other than a file, directory or link.
///
/// Files are watched, not polled. Writes of this process through `FileCoordinator` appear at once, other changes after
/// the batching interval. When the account changes, or a container's directory disappears, its items leave the results
/// at once, even while updates are disabled; they return with it.
public final class MetadataQuery: Sendable {
    /// The parts of a container to search; Cocoa's search scopes.
    public struct Scope: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt8

        /// Makes a set from its bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Everything in `Documents`.
        public static let documents = Scope(rawValue: 1 << 0)
        /// Everything outside `Documents`.
        public static let data = Scope(rawValue: 1 << 1)
    }

    /// Returns whether an item matches; it must return equal results for equal items, be quick, and not use the query.
    public typealias Predicate = @Sendable (MetadataItem) -> Bool
    /// Returns whether the first of two items comes before the second; it must be a strict weak order, quick, and not
    /// use the query.
    public typealias Order = @Sendable (MetadataItem, MetadataItem) -> Bool

    private let core: QueryCore

    /// Makes a query without starting it.
    ///
    /// - Parameters:
    ///   - containers: the containers to search.
    ///   - scope: the parts of them to search.
    ///   - includesHidden: whether to include names that begin with a dot.
    ///   - batchingInterval: the time during which changes are collected into one update.
    ///   - transport: returns what carries a container, such as ``DirectoryTransport``: it tells where items are, and
    ///     which are only elsewhere. Without it ``MetadataItem/state`` is nil, and only items that are here are found.
    ///   - order: the order of the results; the path decides between equal items.
    ///   - predicate: the items to find.
    public convenience init(
        _ containers: UbiquityContainer..., scope: Scope = .documents, includesHidden: Bool = false, batchingInterval: Duration = .seconds(1),
        transport: (@Sendable (UbiquityContainer) -> any Transport)? = nil,
        sortedBy order: @escaping Order = { $0.path.string < $1.path.string },
        predicate: @escaping Predicate
    ) {
        self.init(
            containers: containers, scope: scope, includesHidden: includesHidden, batchingInterval: batchingInterval, transport: transport,
            sortedBy: order, clock: ContinuousClock(), predicate: predicate)
    }

    /// Makes a query with a clock that measures the batching interval.
    package init(
        containers: [UbiquityContainer], scope: Scope = .documents, includesHidden: Bool = false, batchingInterval: Duration = .seconds(1),
        transport: (@Sendable (UbiquityContainer) -> any Transport)? = nil,
        sortedBy order: @escaping Order = { $0.path.string < $1.path.string },
        clock: any Clock<Duration>, predicate: @escaping Predicate
    ) {
        core = QueryCore(predicate: predicate, order: order, interval: batchingInterval, clock: clock) { core, number in
            let run = QueryRun(
                number: number, core: core, containers: containers, scope: scope, includesHidden: includesHidden, transport: transport)
            return Task { await run.run() }
        }
    }

    deinit { core.stop() }

    // MARK: Running

    /// Starts to gather.
    ///
    /// - Returns: false if the query already runs.
    @discardableResult
    public func start() -> Bool { core.start() }

    /// Stops; the results stay, and ``start()`` gathers again.
    public func stop() { core.stop() }

    /// Whether the query has been started and not stopped.
    public var isStarted: Bool { core.phase != .stopped }
    /// Whether the query is still finding the items that existed at its start.
    public var isGathering: Bool { core.phase == .gathering }

    /// The items to find; a new predicate restarts a running query.
    public var predicate: Predicate {
        get { core.predicate }
        set { core.predicate = newValue }
    }

    /// The order of the results; a new order restarts a running query.
    public var order: Order {
        get { core.order }
        set { core.order = newValue }
    }

    /// The time during which changes are collected into one update, from the next update on; by default a second.
    public var batchingInterval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    // MARK: Reading

    /// The items that match now, in the query's order.
    public var results: [MetadataItem] { core.results }

    /// The query's updates; a late reader first gets the current state.
    public var updates: MetadataQueryUpdates { MetadataQueryUpdates(query: self) }

    /// Freezes the results, for example while they are enumerated; each call needs one call of ``enableUpdates()``.
    public func disableUpdates() { core.disableUpdates() }

    /// Reports at once the changes since the freeze; more calls than of ``disableUpdates()`` are a programming error.
    public func enableUpdates() { core.enableUpdates() }

    func subscribe() -> QueryReader { core.subscribe() }
}
