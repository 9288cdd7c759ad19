public import StoreRecords
public import SystemPackage

extension StoreOptions {
    /// The options of a store that few apps set: intervals, limits, sizes, and when the store works by itself.
    public struct Advanced: Sendable {
        /// The path of the content in the container, below `CoreData`, such as `CoreData/Shared/Notes`.
        ///
        /// It is nil for `CoreData/<content name>`. All devices must use an equal path. Everything else in a container
        /// is items, so a content cannot lie outside of `CoreData`. A store that has been opened with one path refuses
        /// another, as it refuses another content.
        public var contentPath: FilePath?
        /// Whether the store imports changes of other peers as they arrive, and publishes saves as they are made.
        ///
        /// Otherwise both wait for ``UbiquitousStore/publish()``, ``UbiquitousStore/settled()`` and
        /// ``UbiquitousStore/finish(within:)``.
        public var exchangesAutomatically = true
        /// When a store whose scope is a public place asks it for news: at opening, and from time to time.
        ///
        /// Nil for only when ``UbiquitousStore/settled()`` is called. The option does not apply to other stores.
        public var polling: PlacePolling? = PlacePolling()
        /// The limits within which saves wait to be published as one log; nil, the default, for one log per save.
        public var coalescing: Coalescing?
        /// How long the store keeps values that lost a conflict.
        public var conflictRetention = ConflictRetention()
        /// How long the store keeps the history of its changes, which ``UbiquitousStore/changes(since:limit:)`` returns;
        /// nil for no history.
        ///
        /// All processes that open the store must agree: each opening without a history removes the history.
        public var historyRetention: HistoryRetention? = HistoryRetention()
        /// When the store writes everything that it holds as a baseline; nil for never, so that no logs are trimmed.
        public var baselines: BaselinePolicy? = BaselinePolicy()
        /// How long a peer may leave logs unread before it is retired, so that it no longer blocks the removal of logs.
        ///
        /// It is nil by default: no limit. A peer that returns becomes active again by itself, and has lost nothing.
        public var silenceLimit: Duration?
        /// The size in bytes above which a text or blob is published in a file of its own, which its log names.
        public var largeValueSize = 1 << 20
        /// The journal in which SQLite keeps the changes of an unfinished write.
        ///
        /// Every program that opens the store must use the same mode.
        ///
        /// With ``JournalMode/delete`` readers wait for writers, and writers for readers, in this process and others: a
        /// long read or an import then delays saves.
        public var journalMode = JournalMode.wal
        /// How long the store waits for handlers of ``UbiquitousStore/onWillChange(_:)``.
        public var transitionDeadline: Duration = .seconds(30)
        /// Whether the file of an account that is no longer signed in is removed from this device, once the container
        /// holds all of it.
        ///
        /// The option applies only to a store that follows the account. When the account returns, the file is made from
        /// the container again. A file that holds anything else stays: unpublished saves, tables and columns that never
        /// leave the device, values that lost a conflict.
        public var removesFilesOfGoneAccounts = false
        /// Whether the exchange with other devices gives way to other work of the machine.
        ///
        /// Its thread then has a nice value greater by ten, and its disk access comes last. Publishing, importing and
        /// rebuilding take as long as other work demands. Saves wait for an import's transaction as before.
        public var givesWay = false

        /// Creates the options with their defaults.
        public init() {}
    }
}
