import Foundation

/// A change of a container in words: what `ubwatch CONTAINER` prints, and shows among the recent changes.
struct ContainerChange: Sendable, Equatable, Encodable {
    /// How much somebody wants to be told.
    enum Level: Int, Sendable, Comparable, CaseIterable {
        /// What befalls the container, its stores and the account's state.
        case container = 1
        /// Also each log, baseline and item.
        case file = 2
        /// Also receipts, large values and what is being written.
        case everything = 3

        static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// What has happened; part of what `--json` promises.
    enum Kind: String, Sendable, Encodable {
        /// What there is when watching begins, and each change of the account's state.
        case state
        /// The container is gone, or back.
        case gone, back
        /// A peer's mark.
        case attached, detached
        /// A store's directory, or an epoch of it.
        case store, epoch
        case log, baseline, receipt, value, draft, item, other
        /// What is held, quarantined or in conflict has become more or less.
        case trouble
        /// Events were lost, and the differences follow.
        case overflow
    }

    var time: Date
    var kind: Kind
    var level: Level
    /// The change in words, one line.
    var text: String
    /// The container's directory.
    var container: String
    /// The file, from the container; nil where it is about none.
    var path: String?
    /// Whether the file is gone; nil where it is about none.
    var isRemoved: Bool?
    /// The store's content name.
    var store: String?
    var peer: String?
    var epoch: Int64?
    /// A log's or baseline's sequence, or a receipt's number.
    var sequence: Int64?
    /// Whether it is this device's own.
    var isOwn: Bool?

    private enum CodingKeys: String, CodingKey {
        case time, kind, level, text, container, path, isRemoved, store, peer, epoch, sequence, isOwn
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(time, forKey: .time)
        try values.encode(kind, forKey: .kind)
        try values.encode(level.rawValue, forKey: .level)
        try values.encode(text, forKey: .text)
        try values.encode(container, forKey: .container)
        try values.encodeIfPresent(path, forKey: .path)
        try values.encodeIfPresent(isRemoved, forKey: .isRemoved)
        try values.encodeIfPresent(store, forKey: .store)
        try values.encodeIfPresent(peer, forKey: .peer)
        try values.encodeIfPresent(epoch, forKey: .epoch)
        try values.encodeIfPresent(sequence, forKey: .sequence)
        try values.encodeIfPresent(isOwn, forKey: .isOwn)
    }
}
