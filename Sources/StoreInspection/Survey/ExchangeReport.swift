package import Foundation
package import StoreFormat

/// The difference between a store file and its container in one epoch, from the files of one moment.
///
/// Files that have not arrived and that no file here names cannot be known.
package struct ExchangeReport: Sendable, Codable, Equatable {
    /// The logs of a peer that are in the container and have not been joined.
    package struct Waiting: Sendable, Codable, Equatable {
        package var peer: String
        /// The sequence of the first of them.
        package var sequence: Int64
        /// The number of logs; 0 if it is unknown, because a directory of the peer cannot be listed.
        package var logs: Int
        /// When the first was written, by its author's clock; nil if it cannot be read.
        package var since: Date?
        /// The missing files for which the first one waits.
        package var awaited: [AwaitedFile] = []
        /// The reason why it waits.
        package var reason: String
        /// Whether the first one cannot be used as it is: it is damaged, or needs a newer version of the app.
        package var isUnusable = false
    }

    /// The store's knowledge, including its own logs.
    package var knowledge: [Receipt.Entry] = []
    /// The highest epoch that the container or the store names.
    package var epoch: Int64
    /// The reason why the store does not exchange; nil if it does.
    package var hindrance: String?
    /// Whether the reason is that the store's content, or its place in it, is gone from the container.
    package var isContentGone = false
    /// The number of logs that are not published yet.
    package var unpublished = 0
    /// Whether captured changes are not sealed yet.
    package var isNoted = false
    /// The peers whose logs wait, by name.
    package var waiting: [Waiting] = []
    /// The missing logs and large values that a log, receipt or baseline in the container names; at most ``limit``.
    package var awaited: [AwaitedFile] = []
    /// The number of all these files.
    package var awaitedCount = 0
    /// The number of peers with a directory that cannot be listed.
    package var faults = 0
    /// The number of baselines that contain something that the store does not have.
    package var unjoinedBaselines = 0

    /// The number of logs in the container that have not been joined.
    package var unread = 0
    /// Whether the store has joined everything in the container.
    package var isImported = false
    /// Whether the store has every log that any log, receipt or baseline in the container names, and has published all
    /// logs.
    package var isCurrent = false

    /// The maximum number of awaited files that are listed.
    package static let limit = 100
}

extension ExchangeReport.Waiting {
    /// The waiting logs, as text.
    package var subject: String {
        logs > 0 ? "\(logs) \(logs == 1 ? "log" : "logs") of \(peer) from log \(sequence) on" : "what \(peer) has written"
    }
}
