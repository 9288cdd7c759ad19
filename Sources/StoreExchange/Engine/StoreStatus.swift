public import Foundation
public import StoreFormat
public import StoreRecords
public import UbiquityContainers

/// How a store stands, at one moment.
public struct StoreStatus: Sendable {
    /// Nil while the store exchanges; else what is missing.
    public var suspended: ContainerAttachment.Reason?
    /// Whether somebody wants nothing to go out or in: ``UbiquitousStore/pause()``.
    public var isPaused: Bool
    /// The store's files on this device, the one in use first: of a store that follows the account, also what other accounts have, and what was saved while nobody was signed in.
    public var locations: [StoreLocation] = []
    /// This store's peer.
    public var peer: PeerIdentifier
    /// The epoch of the content.
    public var epoch: Int64
    /// What has been taken in, this peer's published logs included.
    public var knowledge: Knowledge
    /// How many logs are sealed and not yet in the container.
    public var unpublished: Int
    /// Up to when the store holds all that the other peers have said, by their own clocks; nil where there are none, or the container is gone.
    ///
    /// What they have not sent, or what has not arrived, nobody here can know of.
    public var syncedAsOf: Date?
    /// Peers whose next log cannot be joined yet.
    public var waiting: [WaitingPeer]
    /// Files that could not be used.
    public var quarantined: [QuarantinedLog]
    /// Records whose rows break a CHECK of the schema since columns were merged.
    public var broken: [BrokenRecord]
    /// How many records are alive and not shown, since what they refer to is not; `UbiquitousStore.held()` lists them.
    public var held: Int
    /// Why the last exchange failed, such as a full disk; nil where it did not.
    ///
    /// It is tried again at every change. Where none failed, it says why the account's file was not made anew at opening, though
    /// ``StoreOptions/rebuildsFromUbiquitousContent`` asked for that.
    public var failure: String?

    /// The files that logs wait for, as far as anything names them.
    public var awaited: [AwaitedFile] {
        var seen: Set<AwaitedFile> = []
        return waiting.flatMap(\.awaited).filter { seen.insert($0).inserted }
    }
}
