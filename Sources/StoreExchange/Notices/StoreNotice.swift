internal import Foundation
public import StoreRecords
public import SystemPackage
public import UbiquityContainers

/// A notice to the observers of a store.
public enum StoreNotice: Sendable, Hashable {
    /// Changes of other peers have been committed to the store.
    case didImport(ImportNotice)
    /// These tables were empty and have been filled from a baseline, or have been rebuilt from the content: read them
    /// again.
    case didFill(Set<String>)
    /// Everything that this store holds has been written as a baseline with this number.
    case didRollBaseline(Int64)
    /// Another process of this device has written to the store.
    ///
    /// The changes name the records of synced tables that it has changed, without those that this process has made or
    /// imported since the last such notice. They are empty if the process has changed only other tables. They are nil if
    /// the store keeps no history, or does not keep these changes any more: then read again the data that you show.
    case didChangeInAnotherProcess(StoreChanges?)
    /// The container or the store's content is gone.
    ///
    /// Nothing is deleted. Reads and writes go on locally, and the store exchanges nothing.
    case didSuspend(ContainerAttachment.Reason)
    /// The container and the content are back, and the store exchanges again.
    case didResume
    /// Another copy of this store uses its identifier, so this store continues under the new one in the notice.
    ///
    /// Unpublished saves are published under the new identifier.
    case didTakeNewIdentifier(PeerIdentifier)
    /// A number of rows has been adopted: rows that existed before their table was synced, or whose new columns a
    /// migration has filled.
    ///
    /// The store takes such rows over as insertions. The notice comes repeatedly during the work and once at its end.
    /// At the end the two numbers are equal, except for rows that were inserted or deleted during the work.
    case didAdopt(Int, of: Int, isDone: Bool)
    /// The content has been removed, on this device or another: the store is empty, in a new epoch.
    case didRemoveContent(ContentRemoval)
    /// The store is about to change files; it waits for the handlers of ``UbiquitousStore/onWillChange(_:)``.
    case willChange(StoreTransition)
    /// The store has changed files: read again the data that you show. GRDB's observations do so by themselves.
    case didChange(StoreTransition)
    /// The account's file could not be read, and is now at this path; a new file is made from the container.
    ///
    /// Unpublished saves of the old file exist only in it.
    case didSetAside(FilePath)
    /// A log cannot be used; it does not delay other logs.
    case didQuarantine(QuarantinedLog)
    /// This number of values has lost to concurrent writes; `UbiquitousStore.conflicts()` lists them.
    case didFindConflicts(Int)
    /// The rights of the store's account in a container with a scope have changed, as after a sign-in.
    case didChangeRights
    /// A statement has taken away the right to saves of this device, which are set aside in this entry.
    ///
    /// `ubcontrol kept` shows them, and restores them if the right comes back.
    case didRejectSaves(KeptEntry)
    /// Rows break a CHECK since columns were merged; they are shown, and `StoreStatus` lists them until they are
    /// repaired.
    case didBreakChecks([BrokenRecord])
}
