package import StoreFormat
public import StoreRecords
public import SystemPackage
internal import UbiquityContainers

/// How a store is opened.
public struct StoreOptions: Sendable {
    /// The name of the store's content inside the container.
    public var contentName: String
    /// Where the content lies in the container, below `CoreData`, as in `CoreData/Shared/Notes`; nil for `CoreData/<content name>`.
    ///
    /// All devices name the same. What lies elsewhere in a container are items, so that a content cannot lie there. A store that has been opened with one place is refused with
    /// another, as one of another content.
    public var contentPath: FilePath?
    /// The identifier of the container that holds the content, such as `org.example.notes`, where opening is not given one beside the options; nil for the first that is declared.
    public var containerIdentifier: String?
    /// Whether changes of other peers are imported as they arrive, and saves published as they are made.
    ///
    /// Without it, both wait for `publish()` and `settled()`.
    public var exchangesAutomatically: Bool
    /// How long values that lost a conflict are kept.
    public var conflictRetention = ConflictRetention()
    /// How saves wait for each other, to go out as one log; nil, as it is at first, for one log a save.
    public var coalescing: Coalescing?
    /// The app's plain database from before it synced: where it is there and the store is new, the store begins with a copy of it.
    ///
    /// The plain database stays as it is, and later openings do not look at it.
    public var existingDatabase: FilePath?
    /// Files whose tables are joined with the store's, and never sync.
    public var attachedDatabases: [AttachedDatabase] = []
    /// How SQLite keeps changes until they are whole.
    ///
    /// Every program that opens the store names the same.
    ///
    /// With ``JournalMode/delete`` whoever reads waits for whoever writes, in this process and others, and the other way round: a long read, or an import, then holds up saves.
    public var journalMode = JournalMode.wal
    /// When all that the store holds is written down as a baseline; nil for never, so that no logs are trimmed.
    public var baselines: BaselinePolicy? = BaselinePolicy()
    /// How long a peer may leave logs unread before it is retired, so that it no longer holds up the removal of logs; nil, as at first, for ever.
    ///
    /// A peer that returns is active again by itself, and has lost nothing.
    public var silenceLimit: Duration?
    /// Whether the account's file is made anew from the container at opening: a fallback file is used until it is complete, and what had not gone out from the old file goes out.
    ///
    /// Only of a store that follows the account. No other process may have the store open. Where the content is gone, or does not hold all that the file does, the file stays as it is; the log says so, and ``StoreStatus/failure``.
    public var rebuildsFromUbiquitousContent = false
    /// What becomes of what was saved while nobody was signed in, once somebody is.
    public var joiningPolicy = JoiningPolicy.merge
    /// What becomes of the store when its container, or its content, is gone from its place.
    public var wipePolicy = WipePolicy.wait
    /// Whether the file of an account that is signed in no more is removed from this device, once nothing is in it that is not in the account's container too.
    ///
    /// Only of a store that follows the account. When the account is back, the file is made anew from the container. One that holds anything else stays: saves that have not gone out, tables and columns that never leave the
    /// device, values that lost a conflict.
    public var removesFilesOfGoneAccounts = false
    /// How long handlers of ``UbiquitousStore/onWillChange(_:)`` are waited for.
    public var transitionDeadline: Duration = .seconds(30)
    /// Whether the exchange with other devices gives way to other work of the machine: its thread is nicer by ten, and the last one at the disk.
    ///
    /// Publishing, importing and rebuilding then take as long as others leave room for, and saves wait for an import's transaction as before.
    public var givesWay = false
    /// In bytes: a larger text or blob goes out in a file of its own, which its log names.
    public var largeValueSize = 1 << 20

    /// Options.
    ///
    /// - Parameters:
    ///   - contentName: the name of the store's content inside the container, a plain directory name.
    ///   - exchangesAutomatically: whether changes come and go by themselves.
    public init(contentName: String, exchangesAutomatically: Bool = true) {
        self.contentName = contentName
        self.exchangesAutomatically = exchangesAutomatically
    }
}

extension StoreOptions {
    /// The container that is meant, by its identifier here or beside the options.
    ///
    /// - Parameter other: the identifier beside the options.
    /// - Returns: the identifier; nil for the first container that is declared.
    /// - Throws: `UbiquitousStoreError` with `unsupported` where the two name different ones.
    package func container(or other: String?) throws(UbiquitousStoreError) -> String? {
        if let other, let containerIdentifier, other != containerIdentifier {
            throw UbiquitousStoreError(
                .unsupported,
                "The options name the container \(containerIdentifier.debugDescription), and the call \(other.debugDescription); name one of them in one of the places."
            )
        }
        return other ?? containerIdentifier
    }
}

extension StoreOptions {
    /// The files that a store with these options writes to.
    package func writtenFiles(at path: FilePath) -> [FilePath] { [path] + attachedDatabases.filter(\.isWritten).map { PathFacts.absolute($0.path) } }
}
