internal import Foundation
public import StoreRecords
public import SystemPackage
public import UbiquityContainers

/// What an observer of a store hears.
public enum StoreNotice: Sendable, Hashable {
    /// Changes of other peers have been committed to the store.
    case didImport(ImportNotice)
    /// These tables were empty and have been filled from a baseline, or were made anew from the content: read them again.
    case didFill(Set<String>)
    /// All that this store holds has been written down as a baseline of this number.
    case didRollBaseline(Int64)
    /// Another process of this device has written to the store: read again what you show.
    case didChangeInAnotherProcess
    /// The container or the store's content is gone. Nothing is deleted; reads and writes go on locally, and nothing goes out or in.
    case didSuspend(ContainerAttachment.Reason)
    /// What was gone is back, and so is the exchange.
    case didResume
    /// Another copy of this store uses its identifier: it goes on under this new one, and what it has not published goes out under it.
    case didTakeNewIdentifier(PeerIdentifier)
    /// So many of the rows that were in synced tables before these were synced have been taken over as insertions, or have been looked through for values
    /// that a migration has put into new columns.
    ///
    /// It comes while that goes on, and once at its end, when the two numbers are equal but for rows that came or went meanwhile.
    case didAdopt(Int, of: Int, isDone: Bool)
    /// The content has been removed, on this device or another: the store is empty, in a new epoch.
    case didRemoveContent(ContentRemoval)
    /// The store is about to change files; handlers of ``UbiquitousStore/onWillChange(_:)`` are waited for.
    case willChange(StoreTransition)
    /// The store has changed files: read again what you show. Observations of GRDB's do so by themselves.
    case didChange(StoreTransition)
    /// The account's file could not be read, and lies aside here; a new one is made from the container. What had not gone out from it is in it alone.
    case didSetAside(FilePath)
    /// A log cannot be used; other logs are not held up by it.
    case didQuarantine(QuarantinedLog)
    /// So many values lost to others that were written apart from them; `UbiquitousStore.conflicts()` lists them.
    case didFindConflicts(Int)
    /// Rows break a CHECK since columns were merged; they are shown all the same, and `StoreStatus` lists them until they are put right.
    case didBreakChecks([BrokenRecord])
}
