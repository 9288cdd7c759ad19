package import StoreFormat
public import StoreRecords
public import SystemPackage
public import UbiquityContainers

/// The options with which a store is opened.
///
/// ```swift
/// var options = UbiquitousStore.Options(contentName: "Notes")
/// options.existingDatabase = plain
/// options.advanced.coalescing = Coalescing()
/// ```
///
/// Most stores need only ``contentName``. What few apps set is in ``advanced``.
public struct StoreOptions: Sendable {
    /// The container of a store's content.
    public enum Container: Sendable {
        /// The container of the account that is signed in: the store follows the account, and has a file for each.
        case following
        /// One account's container, whichever account is signed in: for tools, and for tests that hold a container.
        ///
        /// Opening such a store creates the container's content at once. It has no file to fall back on.
        case fixed(UbiquityContainer)
    }

    /// The name of the store's content inside the container.
    public var contentName: String
    /// The container of the content: the signed-in account's, or one that stays.
    public var container = Container.following
    /// The identifier of the content's container, such as `org.example.notes`, if the call does not name one.
    ///
    /// If both are nil, it is the first declared container, or the fixed one.
    public var containerIdentifier: String?
    /// The container with a scope in which the content lies, which many accounts share; nil for a container of one account.
    ///
    /// Each synced table then declares who may change its rows (``SyncedTable/access``). Receipts, baselines, retirement
    /// and removal of the content do not apply.
    public var scope: StoreScope?
    /// The app's plain database from before it synced: if it exists and the store is new, the store begins with a
    /// copy of it.
    ///
    /// The plain database does not change, and later openings do not read it.
    public var existingDatabase: FilePath?
    /// Files that the store's connections attach, and that never sync.
    public var attachedDatabases: [AttachedDatabase] = []
    /// The treatment of saves that were made while nobody was signed in, when an account signs in.
    public var joiningPolicy = JoiningPolicy.merge
    /// The behaviour of the store when its container or content is gone from its place.
    public var wipePolicy = WipePolicy.wait
    /// Whether the account's file is rebuilt from the container at opening.
    ///
    /// A fallback file is used until the new file is complete. Unpublished saves of the old file are published.
    ///
    /// The option applies only to a store that follows the account. No other process may have the store open. If
    /// the content is gone, or does not hold everything that the file does, the file stays as it is; the log and
    /// ``StoreStatus/failure`` say so.
    public var rebuildsFromUbiquitousContent = false
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
    /// The options that few apps set.
    public var advanced = Advanced()

    /// Creates options.
    ///
    /// - Parameter contentName: the name of the store's content inside the container, a plain directory name.
    public init(contentName: String) {
        self.contentName = contentName
    }

    /// Creates options for a store that exchanges by itself, or only when it is asked.
    package init(contentName: String, exchangesAutomatically: Bool) {
        self.contentName = contentName
        advanced.exchangesAutomatically = exchangesAutomatically
    }
}

extension StoreOptions {
    /// Returns the identifier of the container, from the options or from the call.
    ///
    /// - Parameter other: the identifier in the call.
    /// - Returns: the identifier; nil for the first declared container.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if two that are named differ, or the options name a scope.
    package func identifier(or other: String?) throws(UbiquitousStoreError) -> String? {
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
        let named = other ?? containerIdentifier
        guard case .fixed(let container) = container else { return named }
        let identifier = container.identifier.description
        if let named, named != identifier {
            throw UbiquitousStoreError(
                .unsupported,
                "The options fix the container \(identifier.debugDescription), and \(named.debugDescription) is named beside it; leave that out.",
                path: container.path)
        }
        return identifier
    }

    /// Returns the device home, from the call or the fixed container.
    ///
    /// - Parameter other: the home in the call.
    /// - Returns: the home; nil for the user's own.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the two differ.
    package func home(or other: DeviceHome?) throws(UbiquitousStoreError) -> DeviceHome? {
        guard case .fixed(let container) = container else { return other }
        if let other, other.path != container.home.path {
            throw UbiquitousStoreError(
                .unsupported,
                "The options fix a container of the device home \(container.home.path), and the call names \(other.path); leave the home out.",
                path: other.path)
        }
        return container.home
    }
}

extension StoreOptions {
    /// Returns the files that a store with these options writes to.
    package func writtenFiles(at path: FilePath) -> [FilePath] { [path] + attachedDatabases.filter(\.isWritten).map { PathFacts.absolute($0.path) } }
}
