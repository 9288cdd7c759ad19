public import Foundation
public import UbiquityContainers

/// Changes of a store's records, in the order in which the store took them in.
public struct StoreChanges: Sendable, Hashable {
    /// The transactions, oldest first.
    ///
    /// A transaction that a limit has cut goes on in the next changes.
    public var transactions: [ChangeTransaction]
    /// The position after these changes, from which the next ones are read.
    public var token: ChangeToken
    /// Whether there were more changes than the limit.
    public var hasMore: Bool
    /// Whether these changes follow the token that was given, or the beginning of the store, without a gap.
    ///
    /// It is false only if no token was given and older changes are no longer kept.
    public var isComplete: Bool

    /// The changes of all transactions, in their order.
    public var changes: [ChangeTransaction.Change] { transactions.flatMap(\.changes) }
    /// Whether there is no change.
    public var isEmpty: Bool { transactions.isEmpty }
}

/// Changes that one peer made in one save, or that this store made by itself.
public struct ChangeTransaction: Sendable, Hashable {
    /// The occasion on which the changes came into the store file.
    public enum Origin: String, Sendable, Hashable, Codable {
        /// A process of this device saved them.
        case save
        /// They came from another peer.
        case sync
        /// They were in a baseline: a snapshot of everything that another peer holds.
        case baseline
        /// The tables were rebuilt from the container's content.
        case rebuild
        /// The content was removed, or the file's saves moved into another file.
        case removal
        /// Records were seeded.
        case seeding
        /// The store showed, hid or united records, because of records that they relate to.
        case relations
        /// They were saved in another file of this store, for example while nobody was signed in.
        case join
        /// The app's schema was migrated.
        case migration
        /// The rows were there before the history began.
        case beginning
    }

    /// A change of a record, or of a whole table.
    public enum Change: Sendable, Hashable {
        /// The record was inserted, or is shown again.
        case inserted(ObjectID)
        /// These columns of the record changed.
        case updated(ObjectID, columns: [String])
        /// The record was deleted, or is not shown any more.
        case deleted(ObjectID)
        /// Any record of the table may have been inserted, changed or deleted: read the table again.
        case wholeTable(String)

        /// The table's name.
        public var table: String {
            switch self {
            case .inserted(let record), .updated(let record, _), .deleted(let record): record.table
            case .wholeTable(let name): name
            }
        }

        /// The record; nil for a whole table.
        public var record: ObjectID? {
            switch self {
            case .inserted(let record), .updated(let record, _), .deleted(let record): record
            case .wholeTable: nil
            }
        }
    }

    /// The occasion on which the changes came into the store file.
    public var origin: Origin
    /// The author of the changes; nil if this store made them by itself, or if the values never had an author.
    public var author: ChangeAuthor?
    /// When the author saved the changes, by its clock; nil if there is no author.
    public var written: Date?
    /// When this store file took the changes in, by this device's clock.
    public var takenIn: Date
    /// Whether the open store that was asked has made or imported the changes, rather than another process, another
    /// program, or an earlier opening.
    public var isOwn: Bool
    /// The changes, in their order.
    public var changes: [Change]
}

/// The peer that wrote a value or made a change.
public struct ChangeAuthor: Sendable, Hashable {
    /// The peer.
    public var peer: PeerIdentifier
    /// Whether it is this store itself, in whichever process of this device.
    public var isThisDevice: Bool
    /// The device's name, from the peer's newest receipt; nil for this device, or if none is known.
    public var device: String?
    /// The app's name, from the peer's newest receipt; nil for this device, or if none is known.
    public var app: String?

    package init(peer: PeerIdentifier, isThisDevice: Bool, device: String? = nil, app: String? = nil) {
        self.peer = peer
        self.isThisDevice = isThisDevice
        self.device = device
        self.app = app
    }
}

extension StoreChanges {
    /// The peers of other devices that have made changes.
    package var otherPeers: Set<PeerIdentifier> {
        transactions.reduce(into: []) { peers, transaction in
            if let author = transaction.author, !author.isThisDevice { peers.insert(author.peer) }
        }
    }

    /// Adds the names of devices and apps.
    ///
    /// - Parameter name: returns an author with its names.
    package mutating func nameAuthors(_ name: (ChangeAuthor) -> ChangeAuthor) {
        for index in transactions.indices { transactions[index].author = transactions[index].author.map(name) }
    }
}
