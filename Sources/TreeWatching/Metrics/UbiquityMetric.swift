/// A metric that this package records through [swift-metrics](https://github.com/apple/swift-metrics).
///
/// The app chooses a backend with swift-metrics' `MetricsSystem.bootstrap`, or for a part of it with
/// `withMetricsFactory`. Without a backend nothing is recorded. The raw value is the label: words in lower case with
/// underscores, the unit and `total` at the end, as Prometheus names metrics.
///
/// No dimension names an account, a device, a file or a record.
public enum UbiquityMetric: String, CaseIterable, Sendable, Hashable {
    /// The number of changes that watchers have delivered.
    case watchChanges = "ubiquity_watch_changes_total"
    /// The number of times that a tree is scanned again, because the kernel's event queue has overflowed.
    case watchOverflows = "ubiquity_watch_overflows_total"
    /// The number of times that a watcher has reported a part of its tree that it cannot watch.
    case watchFailures = "ubiquity_watch_failures_total"
    /// The number of directories that are watched now.
    case watchedDirectories = "ubiquity_watched_directories"

    /// The time that accesses wait for other accesses and for the broker; an access that is granted at once does not
    /// count.
    case coordinationWait = "ubiquity_coordination_wait_seconds"

    /// The duration of exchanges; the number of its values is the number of exchanges.
    case exchangeDuration = "ubiquity_exchange_duration_seconds"
    /// The number of logs that have been published.
    case publishedLogs = "ubiquity_published_logs_total"
    /// The size of the logs that have been published.
    case publishedBytes = "ubiquity_published_bytes_total"
    /// The number of sealed logs that are not in the container yet.
    case unpublishedLogs = "ubiquity_unpublished_logs"
    /// The number of logs that have been imported.
    case importedLogs = "ubiquity_imported_logs_total"
    /// The size of the logs that have been imported, with the large values that they name.
    case importedBytes = "ubiquity_imported_bytes_total"
    /// The number of changes of records that imports have made; a table that was filled as a whole does not count.
    case importedChanges = "ubiquity_imported_changes_total"
    /// The duration of transactions that import logs.
    case importDuration = "ubiquity_import_duration_seconds"
    /// The time from the last save of a log to its import, by the clocks of the two devices.
    case deliveryDelay = "ubiquity_delivery_delay_seconds"
    /// The number of arrived logs that wait for other files, or for a newer app.
    case waitingLogs = "ubiquity_waiting_logs"
    /// The number of values that have lost to concurrent writes.
    case conflicts = "ubiquity_conflicts_total"
    /// The number of files of other devices that cannot be used.
    case quarantines = "ubiquity_quarantines_total"
    /// The number of suspensions of stores.
    case suspensions = "ubiquity_suspensions_total"
    /// The number of stores that are suspended now.
    case suspendedStores = "ubiquity_suspended_stores"
    /// The number of baselines that have been written or joined.
    case baselines = "ubiquity_baselines_total"

    /// The number of bytes that the transfer agent has sent to a cloud or fetched from it.
    case transferBytes = "ubiquity_transfer_bytes_total"
    /// The number of operations of a cloud that have failed; a missing object is no failure.
    case transferFailures = "ubiquity_transfer_failures_total"

    /// How the values of a metric are recorded.
    public enum Kind: String, Sendable {
        /// A number that only grows: swift-metrics' `Counter`.
        case counter
        /// Durations: swift-metrics' `Timer`.
        case timer
        /// A number that grows and shrinks: swift-metrics' `Meter`.
        case gauge
    }

    /// A property by which the values of a metric are told apart.
    public enum Dimension: String, CaseIterable, Sendable, Hashable {
        /// The name of the store's content: `StoreOptions.contentName`, with its path if it has one.
        case content
        /// How it ended.
        case outcome
        /// The reason.
        case reason
        /// What happened to a record: `inserted`, `updated` or `deleted`.
        case change
        /// What was done with a baseline: `written` or `joined`.
        case action
        /// The kind of access: `read` or `write`.
        case access
        /// The way of bytes: `sent` or `fetched`.
        case direction
    }

    /// The label, which does not change between versions.
    public var label: String { rawValue }

    /// How its values are recorded.
    public var kind: Kind {
        switch self {
        case .coordinationWait, .exchangeDuration, .importDuration, .deliveryDelay: .timer
        case .watchedDirectories, .unpublishedLogs, .waitingLogs, .suspendedStores: .gauge
        case .watchChanges, .watchOverflows, .watchFailures, .publishedLogs, .publishedBytes, .importedLogs, .importedBytes, .importedChanges,
            .conflicts, .quarantines, .suspensions, .baselines, .transferBytes, .transferFailures:
            .counter
        }
    }

    /// The dimensions, all of which every value has.
    public var dimensions: [Dimension] {
        switch self {
        case .watchChanges, .watchOverflows, .watchFailures, .watchedDirectories: []
        case .coordinationWait: [.access, .outcome]
        case .exchangeDuration: [.content, .outcome]
        case .publishedLogs, .publishedBytes, .unpublishedLogs, .importedLogs, .importedBytes, .importDuration, .deliveryDelay, .waitingLogs,
            .conflicts, .suspendedStores:
            [.content]
        case .importedChanges: [.content, .change]
        case .quarantines, .suspensions: [.content, .reason]
        case .baselines: [.content, .action]
        case .transferBytes: [.direction]
        case .transferFailures: [.reason]
        }
    }
}
