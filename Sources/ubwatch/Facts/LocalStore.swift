import StoreInspection
import UbiquityStores

/// A store of this device that belongs to a container: the path that an app gave it, and its files.
struct LocalStore: Sendable, Codable, Equatable {
    /// The path that the app gave its store, or the SQLite file that was named.
    var path: String
    /// The content name.
    var content: String
    /// Whether the command line names it, not only the device home.
    var isNamed = false
    /// Whether none of its files exist, any more or yet.
    var isGone = false
    /// Core Data's “Using local storage”: whether the app uses a local or a fallback file in the place of the
    /// account's.
    var usesLocalStorage = false
    /// Its SQLite files that belong to the container's account or to no account; the file in use comes first.
    var files: [File] = []
    /// The reason why it cannot be inspected; nil if it can.
    var failure: String?

    /// One SQLite file.
    struct File: Sendable, Codable, Equatable {
        /// The file's summary.
        var summary: StoreSummary
        /// Whether the app uses the file, or used it last.
        var isInUse: Bool
        /// The reason why it does not exchange: paused, detached, or an ended epoch; nil if nothing prevents it.
        var suspended: String?
        /// Its exchange with the container; nil if it does not exchange, or while the container is gone.
        var exchange: ExchangeReport?
        /// How far its own changes have got; nil if it does not exchange.
        var delivery: StoreDelivery?
    }
}
