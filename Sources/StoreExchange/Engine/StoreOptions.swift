package import StoreFormat
public import StoreRecords
public import SystemPackage
public import UbiquityContainers

/// The options with which a store is opened.
public struct StoreOptions: Sendable {
    /// The name of the store's content inside the container.
    public var contentName: String
    /// The path of the content in the container, below `CoreData`, such as `CoreData/Shared/Notes`.
    ///
    /// It is nil for `CoreData/<content name>`. All devices must use an equal path. Everything else in a container
    /// is items, so a content cannot lie outside of `CoreData`. A store that has been opened with one path refuses
    /// another, as it refuses another content.
    public var contentPath: FilePath?
    /// The identifier of the content's container, such as `org.example.notes`, if the call does not name one.
    ///
    /// If both are nil, it is the first declared container.
    public var containerIdentifier: String?
    /// The container with a scope in which the content lies, which many accounts share; nil for a container of one account.
    ///
    /// Each synced table then declares who may change its rows (``SyncedTable/access``). Receipts, baselines, retirement
    /// and removal of the content do not apply.
    public var scope: StoreScope?
    /// When a store whose scope is a public place asks it for news: at opening, and from time to time.
    ///
    /// Nil for only when ``UbiquitousStore/settled()`` is called. The option does not apply to other stores.
    public var polling: PlacePolling? = PlacePolling()
    /// Whether the store imports changes of other peers as they arrive, and publishes saves as they are made.
    ///
    /// Otherwise both wait for `publish()` and `settled()`.
    public var exchangesAutomatically: Bool
    /// How long the store keeps values that lost a conflict.
    public var conflictRetention = ConflictRetention()
    /// How long the store keeps the history of its changes, which ``UbiquitousStore/changes(since:limit:)`` returns; nil
    /// for no history.
    ///
    /// All processes that open the store must agree: each opening without a history removes the history.
    public var historyRetention: HistoryRetention? = HistoryRetention()
    /// The limits within which saves wait to be published as one log; nil, the default, for one log per save.
    public var coalescing: Coalescing?
    /// The app's plain database from before it synced: if it exists and the store is new, the store begins with a
    /// copy of it.
    ///
    /// The plain database does not change, and later openings do not read it.
    public var existingDatabase: FilePath?
    /// Files that the store's connections attach, and that never sync.
    public var attachedDatabases: [AttachedDatabase] = []
    /// The journal in which SQLite keeps the changes of an unfinished write.
    ///
    /// Every program that opens the store must use the same mode.
    ///
    /// With ``JournalMode/delete`` readers wait for writers, and writers for readers, in this process and others: a
    /// long read or an import then delays saves.
    public var journalMode = JournalMode.wal
    /// When the store writes everything that it holds as a baseline; nil for never, so that no logs are trimmed.
    public var baselines: BaselinePolicy? = BaselinePolicy()
    /// How long a peer may leave logs unread before it is retired, so that it no longer blocks the removal of logs.
    ///
    /// It is nil by default: no limit. A peer that returns becomes active again by itself, and has lost nothing.
    public var silenceLimit: Duration?
    /// Whether the account's file is rebuilt from the container at opening.
    ///
    /// A fallback file is used until the new file is complete. Unpublished saves of the old file are published.
    ///
    /// The option applies only to a store that follows the account. No other process may have the store open. If
    /// the content is gone, or does not hold everything that the file does, the file stays as it is; the log and
    /// ``StoreStatus/failure`` say so.
    public var rebuildsFromUbiquitousContent = false
    /// The treatment of saves that were made while nobody was signed in, when an account signs in.
    public var joiningPolicy = JoiningPolicy.merge
    /// The behaviour of the store when its container or content is gone from its place.
    public var wipePolicy = WipePolicy.wait
    /// Whether the file of an account that is no longer signed in is removed from this device, once the container
    /// holds all of it.
    ///
    /// The option applies only to a store that follows the account. When the account returns, the file is made from
    /// the container again. A file that holds anything else stays: unpublished saves, tables and columns that never
    /// leave the device, values that lost a conflict.
    public var removesFilesOfGoneAccounts = false
    /// How long the store waits for handlers of ``UbiquitousStore/onWillChange(_:)``.
    public var transitionDeadline: Duration = .seconds(30)
    /// Whether the exchange with other devices gives way to other work of the machine.
    ///
    /// Its thread then has a nice value greater by ten, and its disk access comes last. Publishing, importing and
    /// rebuilding take as long as other work demands. Saves wait for an import's transaction as before.
    public var givesWay = false
    /// Returns what carries a container, such as Syncthing: it is told of each publication, so that changes leave at
    /// once, and asked how far they have got (``StoreStatus/delivery``).
    ///
    /// ```swift
    /// options.transport = { try? SyncthingTransport(configuredFor: $0) }
    /// ```
    ///
    /// If it is nil or returns nil, the store asks the container's directory, and only what other peers state in their
    /// receipts counts as delivered.
    public var transport: (@Sendable (UbiquityContainer) -> (any Transport)?)?
    /// The size in bytes above which a text or blob is published in a file of its own, which its log names.
    public var largeValueSize = 1 << 20

    /// Creates options.
    ///
    /// - Parameters:
    ///   - contentName: the name of the store's content inside the container, a plain directory name.
    ///   - exchangesAutomatically: whether the store imports and publishes by itself.
    public init(contentName: String, exchangesAutomatically: Bool = true) {
        self.contentName = contentName
        self.exchangesAutomatically = exchangesAutomatically
    }
}

extension StoreOptions {
    /// Returns the identifier of the container, from the options or from the call.
    ///
    /// - Parameter other: the identifier in the call.
    /// - Returns: the identifier; nil for the first declared container.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the two differ, or the options name a scope.
    package func container(or other: String?) throws(UbiquitousStoreError) -> String? {
        if scope != nil {
            throw UbiquitousStoreError(
                .unsupported,
                "A store with a scope lies in no container of an account: open it without one, and for writing; its content is not removed.")
        }
        if let other, let containerIdentifier, other != containerIdentifier {
            throw UbiquitousStoreError(
                .unsupported,
                "The options name the container \(containerIdentifier.debugDescription), and the call names \(other.debugDescription); name only one container."
            )
        }
        return other ?? containerIdentifier
    }
}

extension StoreOptions {
    /// Returns the files that a store with these options writes to.
    package func writtenFiles(at path: FilePath) -> [FilePath] { [path] + attachedDatabases.filter(\.isWritten).map { PathFacts.absolute($0.path) } }
}
