import StoreInspection
import UbiquityStores

/// A store of this device that belongs to a container: the path that an app gave it, and the files beneath.
struct LocalStore: Sendable, Codable, Equatable {
    /// The path that the app gave its store, or the SQLite file that was named.
    var path: String
    /// The content name.
    var content: String
    /// Whether somebody has named it, rather than the device home alone.
    var isNamed = false
    /// Whether nothing of it is there, any more or yet.
    var isGone = false
    /// Core Data's “Using local storage”: whether the app uses a local or a fallback file in the place of the account's.
    var usesLocalStorage = false
    /// Its SQLite files that belong to the container's account or to nobody, the one in use first.
    var files: [File] = []
    /// Why it cannot be looked at; nil where it can.
    var failure: String?

    /// One SQLite file.
    struct File: Sendable, Codable, Equatable {
        /// What the file says of itself.
        var summary: StoreSummary
        /// Whether it is the one that the app uses, or used last.
        var isInUse: Bool
        /// Why nothing goes out or in, in words: paused, detached, an epoch that has ended; nil where nothing hinders it.
        var suspended: String?
        /// How it stands to the container; nil of a file that does not exchange, or while the container is gone.
        var exchange: StoreExchange?
    }
}
