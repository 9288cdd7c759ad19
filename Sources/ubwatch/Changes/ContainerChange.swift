import Foundation

/// A change of a container in words, as `ubwatch CONTAINER` prints it and lists it among the recent changes.
struct ContainerChange: Sendable, Equatable, Encodable {
    /// The level of detail.
    enum Level: Int, Sendable, Comparable, CaseIterable {
        /// Changes of the container, its stores and the account's state.
        case container = 1
        /// Also each log, baseline and item.
        case file = 2
        /// Also receipts, large values and files being written.
        case everything = 3

        static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// The kind of a change; part of the format of `--json`.
    enum Kind: String, Sendable, Encodable {
        /// The state when watching begins, and each change of the account's state.
        case state
        /// The container is gone, or back.
        case gone, back
        /// A peer's mark.
        case attached, detached
        /// A store's directory, or an epoch of it.
        case store, epoch
        case log, baseline, receipt, value, draft, item, other
        /// The number of held, quarantined or conflicting entries has changed.
        case trouble
        /// Events were lost, and the differences follow.
        case overflow
    }

    var time: Date
    var kind: Kind
    var level: Level
    /// The change in words, on one line.
    var text: String
    /// The container's directory.
    var container: String
    /// The file, relative to the container; nil if there is none.
    var path: String?
    /// Whether the file was removed; nil if there is no file.
    var isRemoved: Bool?
    /// The store's content name.
    var store: String?
    var peer: String?
    var epoch: Int64?
    /// The sequence of a log or baseline, or the number of a receipt.
    var sequence: Int64?
    /// Whether the file belongs to this device, or for an item, `false` if a synchroniser has brought it; nil if unknown.
    var isOwn: Bool?
    /// The size of the file in bytes; nil if there is none, or it is gone.
    var bytes: Int64?

    private enum CodingKeys: String, CodingKey {
        case time, kind, level, text, container, path, isRemoved, store, peer, epoch, sequence, isOwn, bytes
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
        try values.encodeIfPresent(bytes, forKey: .bytes)
    }
}

extension ContainerChange {
    /// The direction in which a file was transferred; nil if the change is no transfer.
    var direction: WritableKeyPath<TransferHistory.Column, TransferHistory.Amount>? {
        guard isRemoved != true else { return nil }
        switch kind {
        case .log, .baseline, .value: return isOwn == true ? \.up : \.down
        // What this device has written is on its way only when the transport says so.
        case .item: return isOwn == false ? \.down : nil
        default: return nil
        }
    }
}
