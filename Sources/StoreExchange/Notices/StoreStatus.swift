public import Foundation
public import StoreFormat
public import StoreRecords
public import UbiquityContainers

/// The state of a store at one moment.
public struct StoreStatus: Sendable {
    /// The reason why the store is suspended; nil while it exchanges.
    public var suspended: ContainerAttachment.Reason?
    /// Whether the exchange has been paused: ``UbiquitousStore/pause()``.
    public var isPaused: Bool
    /// The store's files on this device, the one in use first.
    ///
    /// For a store that follows the account, they include the files of other accounts and the file that is used while
    /// nobody is signed in.
    public var locations: [StoreLocation] = []
    /// This store's peer.
    public var peer: PeerIdentifier
    /// The epoch of the content.
    public var epoch: Int64
    /// Everything that has been taken in, including this peer's published logs.
    public var knowledge: Knowledge
    /// The number of logs that are sealed and not yet in the container.
    public var unpublished: Int
    /// The time up to which the store holds all published saves of the other peers, by their own clocks.
    ///
    /// It is nil if there are no other peers, or the container is gone. Saves that were not published, or have not
    /// arrived, cannot be known here.
    public var syncedAsOf: Date?
    /// Peers whose next log cannot be joined yet.
    public var waiting: [WaitingPeer]
    /// Files that could not be used.
    public var quarantined: [QuarantinedLog]
    /// The records whose rows break a CHECK of the schema since columns were merged.
    public var broken: [BrokenRecord]
    /// The number of records that are alive but not shown, because their parents are not shown;
    /// `UbiquitousStore.held()` lists them.
    public var held: Int
    /// The tables that a migration made, and that the ``SyncedSchema`` declares neither as synced nor as local.
    ///
    /// Their rows stay on this device.
    public var undeclaredTables: [String] = []
    /// The reason why the last exchange failed, such as a full disk; nil if it did not fail.
    ///
    /// Every change starts another attempt. If no exchange failed, it is the reason why the account's file was not
    /// ``StoreOptions/rebuildsFromUbiquitousContent`` asked for that.
    public var failure: String?
    /// How far this store's own changes have got; nil while the container is gone, or for a file that exchanges nothing.
    public var delivery: StoreDelivery?

    /// What is known of the public place that the store reads; nil for a store that reads none.
    public var place: PublicPlaceStatus?

    /// The time as of which the store holds what its public place has, by the publisher's clock.
    ///
    /// It is nil for a store that reads no public place, and before the first one is read.
    public var freshAsOf: Date? { place?.freshAsOf }

    /// The files that logs wait for, if a log or receipt names them.
    public var awaited: [AwaitedFile] {
        var seen: Set<AwaitedFile> = []
        return waiting.flatMap(\.awaited).filter { seen.insert($0).inserted }
    }
}

/// What a store knows of the public place that it reads.
public struct PublicPlaceStatus: Hashable, Sendable {
    /// When the newest head that the store has taken in was made, by the publisher's clock; nil before the first.
    public var freshAsOf: Date?
    /// When the newest head is no news any more: a publisher makes one before.
    public var expires: Date?
    /// The number of the newest head that the store has seen.
    public var head: Int64?
    /// The number of the newest head that the store has taken in; nil while the tables are filled.
    public var read: Int64?
    /// The peer that publishes.
    public var publisher: PeerIdentifier?
    /// The number of files that the store has still to fetch, as far as known.
    public var awaited = 0
    /// Why the place is not read further; nil if it is.
    public var fault: String?
    /// Whether the newest head is no news any more.
    public var isStale = false
}
