public import Foundation
public import SystemPackage

/// An event of a whole container: a wipe, its end, or another account.
///
/// A wipe of any number of files is one event, reported after a short time without further changes. This package
/// deletes and creates nothing because of an event.
public struct ContainerEvent: Sendable, Hashable {
    /// The kinds of events.
    public enum Kind: Sendable, Hashable {
        /// All items are gone, one by one; the container exists.
        case contentsRemoved
        /// More items were deleted without coordination than ``MassDeletionLimit`` allows: the number removed, and the
        /// number before.
        case massDeletion(removed: Int, of: Int)
        /// The container's directory was deleted.
        case containerRemoved
        /// The container's directory, or one above it, was renamed or moved away.
        case containerMoved
        /// The container's file system was unmounted.
        case unmounted
        /// The container exists without this peer's attachment mark: it was created again, or is an older copy.
        case markGone
        /// The content of these stores below `CoreData` is gone.
        case storeContentGone(Set<String>)
        /// A store's content was removed on purpose, here or on another device: this is its current epoch.
        case storeContentRemoved(store: String, epoch: Int64)
        /// The container's account is no longer signed in.
        case signedOut
        /// The container exists, and cannot be read.
        case unreadable(Errno)
        /// The missing part, or the account, is back.
        case restored
    }

    /// The contents of the container after the event.
    public struct Held: Sendable, Hashable {
        /// Its files and symbolic links, including those in `.nosync` folders, but not those of stores.
        public var items = 0
        /// The stores with content in it.
        public var stores: Set<String> = []
        /// Whether this peer's attachment mark exists.
        public var hasMark = false
    }

    /// The kind of the event.
    public var kind: Kind
    /// The time when the event was detected.
    public var date: Date
    /// The contents of the container after the event.
    public var held: Held
    /// Whether the guard against mass deletion has suspended stores in the container, until
    /// ``UbiquityContainer/resume()``.
    public var isSuspended: Bool
}

extension ContainerEvent.Kind {
    /// The name of the case, for programs.
    package var name: String {
        switch self {
        case .contentsRemoved: "contentsRemoved"
        case .massDeletion: "massDeletion"
        case .containerRemoved: "containerRemoved"
        case .containerMoved: "containerMoved"
        case .unmounted: "unmounted"
        case .markGone: "markGone"
        case .storeContentGone: "storeContentGone"
        case .storeContentRemoved: "storeContentRemoved"
        case .signedOut: "signedOut"
        case .unreadable: "unreadable"
        case .restored: "restored"
        }
    }
}

extension ContainerEvent.Kind: CustomStringConvertible {
    /// A short sentence for people.
    public var description: String {
        switch self {
        case .contentsRemoved: "all items are gone from the container"
        case .massDeletion(let removed, let all): "\(removed) of \(all) items were deleted without coordination"
        case .containerRemoved: "the container's directory was deleted"
        case .containerMoved: "the container's directory was moved away"
        case .unmounted: "the container's file system was unmounted"
        case .markGone: "this peer's attachment mark is gone from the container"
        case .storeContentGone(let stores): "the content of \(stores.sorted().joined(separator: ", ")) is gone from the container"
        case .storeContentRemoved(let store, let epoch): "the content of \(store) was removed; its epoch is \(epoch)"
        case .signedOut: "the container's account is no longer signed in"
        case .unreadable(let error): "the container cannot be read (\(error))"
        case .restored: "the container is back"
        }
    }
}

/// The limit above which deletions without coordination look like an accident, such as when a synchroniser transfers
/// the loss of another device's disk.
///
/// `config.json` of the device home may set other numbers: `"massDeletion": {"items": 100, "share": 0.5}`.
public struct MassDeletionLimit: Sendable, Hashable, Codable {
    /// The least number of items, deleted within a short time.
    public var items: Int
    /// The least share of all items, from 0 to 1.
    public var share: Double

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - items: the least number of items.
    ///   - share: the least share of all items, from 0 to 1.
    public init(items: Int = 100, share: Double = 0.5) {
        self.items = items
        self.share = share
    }

    package func isPassed(by removed: Int, of all: Int) -> Bool { removed >= max(items, 1) && Double(removed) >= share * Double(all) }
}

extension ContainerEvent.Kind {
    /// One word for programs, which does not change between versions.
    var word: String {
        switch self {
        case .contentsRemoved: "contentsRemoved"
        case .massDeletion: "massDeletion"
        case .containerRemoved: "containerRemoved"
        case .containerMoved: "containerMoved"
        case .unmounted: "unmounted"
        case .markGone: "markGone"
        case .storeContentGone: "storeContentGone"
        case .storeContentRemoved: "storeContentRemoved"
        case .signedOut: "signedOut"
        case .unreadable: "unreadable"
        case .restored: "restored"
        }
    }
}
