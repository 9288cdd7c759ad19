public import SystemPackage

/// Finds the items of containers that match a predicate, and goes on telling what changes; Cocoa's `NSMetadataQuery`.
///
/// ```swift
/// let query = MetadataQuery(container) { $0.name.hasSuffix(".txt") }
/// query.start()
/// for await update in query.updates { show(update.results) }
/// ```
///
/// Items are files, directories, file packages, which count as one, and symbolic links, which are not followed. Left out are:
///
/// - names that begin with a dot, and what lies below them, unless asked for;
/// - `*.nosync`, which is not meant for other devices, with what lies below;
/// - `CoreData`, the inside of stores, and `.ubiquity`;
/// - conflict copies of items that are there: these are conflicted (``MetadataItem/hasUnresolvedConflicts``). A copy whose item is gone is an item;
/// - names that are not UTF-8, which no synchroniser carries, and what is neither file, directory nor link.
///
/// Files are watched, not asked for. What this process writes by `FileCoordinator` is shown at once, what others do when the batching interval has passed.
/// When the account changes, or a container's directory goes, its items are gone from the results at once, and nothing holds that back; they return with it.
public final class MetadataQuery: Sendable {
    /// Which part of a container is searched; Cocoa's search scopes.
    public enum Scope: Sendable, Hashable {
        /// What lies in `Documents`.
        case documents
        /// What lies outside it.
        case data
    }

    /// Tells whether an item is looked for; it must always say the same of equal items, be quick, and leave the query alone.
    public typealias Predicate = @Sendable (MetadataItem) -> Bool
    /// Tells whether the first of two items comes before the second; it must be a strict weak order, quick, and leave the query alone.
    public typealias Order = @Sendable (MetadataItem, MetadataItem) -> Bool

    private let core: QueryCore

    /// Makes a query that is not started.
    ///
    /// - Parameters:
    ///   - containers: where to look.
    ///   - scope: in which part of them.
    ///   - includesHidden: whether names that begin with a dot are looked at.
    ///   - batchingInterval: for how long changes are gathered into one update.
    ///   - statusSource: tells how a container's items stand, such as ``LocalItemStatus``; without it ``MetadataItem/status`` is nil.
    ///   - order: how the results are sorted, where this does not decide by path.
    ///   - predicate: which items are looked for.
    public convenience init(
        _ containers: UbiquityContainer..., scope: Scope = .documents, includesHidden: Bool = false, batchingInterval: Duration = .seconds(1),
        statusSource: (@Sendable (UbiquityContainer) -> any ItemStatusSource)? = nil,
        sortedBy order: @escaping Order = { $0.path.string < $1.path.string },
        predicate: @escaping Predicate
    ) {
        self.init(
            containers: containers, scope: scope, includesHidden: includesHidden, batchingInterval: batchingInterval, statusSource: statusSource,
            sortedBy: order, clock: ContinuousClock(), predicate: predicate)
    }

    /// The same with a clock that measures the batching interval.
    package init(
        containers: [UbiquityContainer], scope: Scope = .documents, includesHidden: Bool = false, batchingInterval: Duration = .seconds(1),
        statusSource: (@Sendable (UbiquityContainer) -> any ItemStatusSource)? = nil,
        sortedBy order: @escaping Order = { $0.path.string < $1.path.string },
        clock: any Clock<Duration>, predicate: @escaping Predicate
    ) {
        core = QueryCore(predicate: predicate, order: order, interval: batchingInterval, clock: clock) { core, number in
            let run = QueryRun(
                number: number, core: core, containers: containers, scope: scope, includesHidden: includesHidden, statusSource: statusSource)
            return Task { await run.run() }
        }
    }

    deinit { core.stop() }

    // MARK: Running

    /// Begins to gather.
    ///
    /// - Returns: false where the query runs already.
    @discardableResult
    public func start() -> Bool { core.start() }

    /// Ends; the results stay as they are, and ``start()`` begins anew.
    public func stop() { core.stop() }

    /// Whether the query was started and not stopped.
    public var isStarted: Bool { core.phase != .stopped }
    /// Whether the query has yet to find all that was there when it was started.
    public var isGathering: Bool { core.phase == .gathering }

    /// Which items are looked for; another predicate begins a query that runs anew.
    public var predicate: Predicate {
        get { core.predicate }
        set { core.predicate = newValue }
    }

    /// How the results are sorted; another order begins a query that runs anew.
    public var order: Order {
        get { core.order }
        set { core.order = newValue }
    }

    /// For how long changes are gathered into one update, from the next on; by default a second.
    public var batchingInterval: Duration {
        get { core.interval }
        set { core.interval = newValue }
    }

    // MARK: Reading

    /// What matches now, in the query's order.
    public var results: [MetadataItem] { core.results }

    /// The query's updates; a reader that comes late begins with where it stands.
    public var updates: MetadataQueryUpdates { MetadataQueryUpdates(query: self) }

    /// Freezes the results, as for the time in which somebody goes through them; each call needs one of ``enableUpdates()``.
    public func disableUpdates() { core.disableUpdates() }

    /// Tells at once what has changed meanwhile; more calls than of ``disableUpdates()`` are a programmer's error.
    public func enableUpdates() { core.enableUpdates() }

    func subscribe() -> QueryReader { core.subscribe() }
}
