package import Logging

/// A key of the metadata that lines of the log carry beside their text, for backends that search or count by it.
///
/// The text says all that the metadata does. Lines on standard error, and in files, show the text alone.
public enum LogFact: String, CaseIterable, Sendable, Hashable {
    /// The name of the account.
    case account = "ubiquity.account"
    /// The cloud, as rclone names it.
    case remote = "ubiquity.remote"
    /// The path of the container.
    case container = "ubiquity.container"
    /// The name of the store's content.
    case content = "ubiquity.content"
    /// The path of the store's file.
    case file = "ubiquity.file"
    /// The epoch of the content.
    case epoch = "ubiquity.epoch"
    /// The identifier of a peer: the other one of an exchange, or the store's own where it changes.
    case peer = "ubiquity.peer"
    /// The name of a log, or of another file of a peer.
    case log = "ubiquity.log"
    /// The number or the name of a baseline.
    case baseline = "ubiquity.baseline"
    /// A path that the line is about.
    case path = "ubiquity.path"
    /// The event: a word that does not change between versions, such as `suspended`.
    case event = "ubiquity.event"
    /// The reason: a word that does not change between versions, such as `containerGone`.
    case reason = "ubiquity.reason"
    /// The error in words.
    case error = "ubiquity.error"
    /// How many there are of what the line counts first.
    case count = "ubiquity.count"
    /// A size in bytes.
    case bytes = "ubiquity.bytes"
    /// A duration in milliseconds.
    case milliseconds = "ubiquity.milliseconds"

    /// The key in the metadata.
    public var key: String { rawValue }

    /// Whether a key is one of this package's, which lines of text do not show.
    static func isKey(_ key: String) -> Bool { key.hasPrefix("ubiquity.") && LogFact(rawValue: key) != nil }
}

extension Logger.Metadata {
    /// Returns facts as metadata.
    package static func facts(_ facts: [LogFact: String]) -> Logger.Metadata {
        Logger.Metadata(uniqueKeysWithValues: facts.lazy.map { ($0.key.rawValue, .string($0.value)) })
    }
}
