public import Foundation
public import SystemPackage

/// Something that befell a container as a whole: a wipe, its end, or another account.
///
/// However many files a wipe removes, it is one event, told when nothing more has happened for a moment. Nothing of ours is deleted or made because of one.
public struct ContainerEvent: Sendable, Hashable {
    /// What it was.
    public enum Kind: Sendable, Hashable {
        /// All items are gone, one by one; the container is there.
        case contentsRemoved
        /// Many items were deleted without coordination, more than ``MassDeletionLimit`` lets pass; how many, of how many.
        case massDeletion(removed: Int, of: Int)
        /// The container's directory was deleted.
        case containerRemoved
        /// The container's directory, or one above it, was renamed or moved away.
        case containerMoved
        /// The file system on which the container lies was unmounted.
        case unmounted
        /// The container is there without this peer's attachment mark: it was made anew, or is an older copy.
        case markGone
        /// The content of these stores is gone from below `CoreData`.
        case storeContentGone(Set<String>)
        /// A store's content was removed on purpose, here or on another device: this is its present epoch.
        case storeContentRemoved(store: String, epoch: Int64)
        /// The container's account is no longer signed in.
        case signedOut
        /// The container is there, and cannot be read.
        case unreadable(Errno)
        /// What was gone is back, or the account.
        case restored
    }

    /// What the container holds after it.
    public struct Held: Sendable, Hashable {
        /// Its files and symbolic links, those in `.nosync` folders included, those of stores not.
        public var items = 0
        /// The stores that have content in it.
        public var stores: Set<String> = []
        /// Whether this peer's attachment mark is there.
        public var hasMark = false
    }

    /// What it was.
    public var kind: Kind
    /// When that was found.
    public var date: Date
    /// What the container holds after it.
    public var held: Held
    /// Whether the guard against mass deletion has suspended stores in the container, until ``UbiquityContainer/resume()``.
    public var isSuspended: Bool
}

extension ContainerEvent.Kind {
    /// The case's name, for programs.
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

/// From when on deletions without coordination look like an accident: such as a synchroniser that carries another device's lost disk here.
///
/// `config.json` of the device home may name other numbers: `"massDeletion": {"items": 100, "share": 0.5}`.
public struct MassDeletionLimit: Sendable, Hashable, Codable {
    /// So many items at least, at about one time.
    public var items: Int
    /// And so great a part of all, from 0 to 1.
    public var share: Double

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - items: so many items at least.
    ///   - share: and so great a part of all, from 0 to 1.
    public init(items: Int = 100, share: Double = 0.5) {
        self.items = items
        self.share = share
    }

    func isPassed(by removed: Int, of all: Int) -> Bool { removed >= max(items, 1) && Double(removed) >= share * Double(all) }
}
