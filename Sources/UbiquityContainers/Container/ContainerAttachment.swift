public import SystemPackage

/// Whether a peer is attached to its container, and the missing part if it is not.
public enum ContainerAttachment: Hashable, Sendable, CustomStringConvertible {
    /// The peer's mark is in the container.
    case attached
    /// The peer is not attached, because of a wipe or a late arrival. Nothing is deleted or created because of it.
    case detached(Reason)

    /// The missing part.
    public enum Reason: Hashable, Sendable {
        /// The container exists without this peer's mark.
        case markGone
        /// The container's directory is gone.
        case containerGone
        /// The containers root is gone.
        case rootGone
        /// The content of a store below `CoreData` is gone.
        case contentGone
        /// Many items were deleted at once, and the user has not confirmed it: see ``UbiquityContainer/resume()``.
        case massDeletion
        /// The container's file system has not answered within two seconds: its server, or the program that provides it,
        /// has stopped. Stores keep everything, and their next exchange after it answers continues.
        case silent
        /// The container cannot be read.
        case unreadable(Errno)
    }

    /// A short sentence for people.
    public var description: String {
        switch self {
        case .attached: "attached"
        case .detached(.markGone): "this peer's attachment mark is gone from the container"
        case .detached(.containerGone): "the container's directory is gone"
        case .detached(.rootGone): "the containers root is gone"
        case .detached(.contentGone): "the store's content is gone from the container"
        case .detached(.massDeletion):
            "many items of the container were deleted at once; if that was meant, confirm it with: ubcontrol container resume"
        case .detached(.silent): "the container's file system does not answer; check its server or the program that provides it"
        case .detached(.unreadable(let error)): "the container cannot be read (\(error))"
        }
    }
}

extension ContainerAttachment.Reason {
    /// One word for programs, which does not change between versions.
    package var word: String {
        switch self {
        case .markGone: "markGone"
        case .containerGone: "containerGone"
        case .rootGone: "rootGone"
        case .contentGone: "contentGone"
        case .massDeletion: "massDeletion"
        case .silent: "silent"
        case .unreadable: "unreadable"
        }
    }
}
