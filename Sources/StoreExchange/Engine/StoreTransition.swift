public import SystemPackage
public import UbiquityContainers

/// A change of the file that a store uses, as accounts come and go.
public struct StoreTransition: Sendable, Hashable {
    /// What a change of file comes of.
    ///
    /// The first three are Core Data's of the same names; ``StoreNotice/didRemoveContent(_:)`` tells of the fourth, which changes no file.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// An account has been signed in, after none or another.
        case accountAdded
        /// The account has been signed out.
        case accountRemoved
        /// What the account's other devices had written has been taken in, and the fallback file gives way to the account's.
        case initialImportCompleted
        /// The app names another container than when the store was open last, for the same account.
        case containerChanged
    }

    /// Where a store keeps its records.
    public enum Place: Sendable, Hashable {
        /// In the file of this device, while nobody is signed in.
        case local
        /// In the account's fallback file, until what its other devices have written is there.
        case fallback(AccountName)
        /// In the account's own file, from which saves go out.
        case account(AccountName)

        /// Whose it is; nil for nobody's.
        public var account: AccountName? {
            switch self {
            case .local: nil
            case .fallback(let account), .account(let account): account
            }
        }

        /// Whether saves there reach no other device, as they are: “Using local storage: 1”.
        public var isLocalStorage: Bool { if case .account = self { false } else { true } }
    }

    /// What it comes of.
    public var kind: Kind
    /// What was in use before, and where its file lies.
    public var removed: StoreLocation
    /// What is in use from then on.
    public var added: StoreLocation

    package init(kind: Kind, removed: StoreLocation, added: StoreLocation) {
        self.kind = kind
        self.removed = removed
        self.added = added
    }
}

/// A place of a store, and the file there.
public struct StoreLocation: Sendable, Hashable {
    /// Whose the file is.
    public var place: StoreTransition.Place
    /// The SQLite file.
    public var file: FilePath

    package init(place: StoreTransition.Place, file: FilePath) {
        self.place = place
        self.file = file
    }
}
