public import SystemPackage
public import UbiquityContainers

/// A change of the file that a store uses, as accounts come and go.
public struct StoreTransition: Sendable, Hashable {
    /// The cause of a change of file.
    ///
    /// The first three have the names and meanings of Core Data's. ``StoreNotice/didRemoveContent(_:)`` reports Core
    /// Data's fourth, which changes no file.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// An account has been signed in, where no account or another one was.
        case accountAdded
        /// The account has been signed out.
        case accountRemoved
        /// The content of the account's other devices has been read, so the account's file replaces the fallback file.
        case initialImportCompleted
        /// The app names another container than when the store was open last, for an unchanged account.
        case containerChanged
    }

    /// The place where a store keeps its records.
    public enum Place: Sendable, Hashable {
        /// The file of this device, while nobody is signed in.
        case local
        /// The account's fallback file, until the content of its other devices has been read.
        case fallback(AccountName)
        /// The account's own file, whose saves are published.
        case account(AccountName)

        /// The account of the file; nil for the local file.
        public var account: AccountName? {
            switch self {
            case .local: nil
            case .fallback(let account), .account(let account): account
            }
        }

        /// Whether saves are not published from there: “Using local storage: 1”.
        public var isLocalStorage: Bool { if case .account = self { false } else { true } }
    }

    /// The cause.
    public var kind: Kind
    /// The place and file in use before.
    public var removed: StoreLocation
    /// The place and file in use afterwards.
    public var added: StoreLocation

    package init(kind: Kind, removed: StoreLocation, added: StoreLocation) {
        self.kind = kind
        self.removed = removed
        self.added = added
    }
}

/// A place of a store, with its file.
public struct StoreLocation: Sendable, Hashable {
    /// The place.
    public var place: StoreTransition.Place
    /// The SQLite file.
    public var file: FilePath

    package init(place: StoreTransition.Place, file: FilePath) {
        self.place = place
        self.file = file
    }
}
