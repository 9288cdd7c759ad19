package import Foundation
package import StoreFormat

/// How a store file stands to what lies in its container, of one epoch, as the files tell at one moment.
///
/// What has not arrived, and what nothing here names, nobody here can know of.
package struct StoreExchange: Sendable, Codable, Equatable {
    /// The logs of a peer that lie in the container and have not been taken in.
    package struct Waiting: Sendable, Codable, Equatable {
        package var peer: String
        /// The first of them.
        package var sequence: Int64
        /// How many there are; 0 where nobody can tell, for a directory of the peer's cannot be listed.
        package var logs: Int
        /// When the first was written, by its author's clock; nil where it cannot be read.
        package var since: Date?
        /// What the first waits for and is not held, as far as it is not there.
        package var awaited: [AwaitedFile] = []
        /// Why it waits, in words.
        package var reason: String
    }

    /// How far the store has read whom, itself included.
    package var knowledge: [Receipt.Entry] = []
    /// The highest epoch that the container or the store names.
    package var epoch: Int64
    /// Why the store takes no part in it, in words; nil where nothing hinders it.
    package var hindrance: String?
    /// Whether that is that the store's content, or its place in it, is gone from the container.
    package var isContentGone = false
    /// How many logs wait to go out.
    package var unpublished = 0
    /// Whether something was written that is in no log yet.
    package var isNoted = false
    /// The peers whose logs wait, by name.
    package var waiting: [Waiting] = []
    /// Logs and large values that a log, a receipt or a baseline in the container names, and that are neither held nor there; no more than ``limit``.
    package var awaited: [AwaitedFile] = []
    /// How many of these there are.
    package var awaitedCount = 0
    /// Of how many peers a directory cannot be listed.
    package var faults = 0
    /// How many baselines here hold what the store does not.
    package var unjoinedBaselines = 0

    /// How many logs lie in the container that have not been taken in.
    package var unread = 0
    /// Whether what lies in the container now is in the store.
    package var isImported = false
    /// Whether the store holds every log that any log, receipt or baseline in the container names, and nothing waits to go out.
    package var isCurrent = false

    /// How many awaited files are named.
    package static let limit = 100
}

extension StoreExchange.Waiting {
    /// What waits, in words.
    package var subject: String {
        logs > 0 ? "\(logs) \(logs == 1 ? "log" : "logs") of \(peer) from log \(sequence) on" : "what \(peer) has written"
    }
}
