import Ubiquity

/// The place of the notes in words: the kind of file, and its account.
struct NotebookPlace: Equatable {
    /// `local`, `fallback` or `account`.
    var kind: String
    /// The account of the file; nil for the local file.
    var account: String?

    /// - Parameter place: the store's place.
    init(_ place: StoreTransition.Place?) {
        kind =
            switch place {
            case .account?: "account"
            case .fallback?: "fallback"
            case .local?, nil: "local"
            }
        account = place?.account?.description
    }

    /// The place for people.
    var text: String {
        switch (kind, account) {
        case ("account", let account?): "account of \(account)"
        case ("fallback", let account?): "fallback of \(account), until what its other devices have sent has been read"
        default: "local; nobody is signed in, and these notes are on this device only"
        }
    }
}
