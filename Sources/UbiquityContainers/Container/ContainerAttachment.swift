public import SystemPackage

/// Whether a peer is attached to its container, and if not, what is missing.
public enum ContainerAttachment: Hashable, Sendable, CustomStringConvertible {
    /// The peer's mark is in the container.
    case attached
    /// It is not: a wipe, or lateness. Nothing is deleted or created on this account.
    case detached(Reason)

    /// What was found missing.
    public enum Reason: Hashable, Sendable {
        /// The container is there without this peer's mark.
        case markGone
        /// The container's directory is gone.
        case containerGone
        /// The containers root is gone.
        case rootGone
        /// A store's content below `CoreData` is gone.
        case contentGone
        /// Many items were deleted at once, and nobody has said that this was meant: see ``UbiquityContainer/resume()``.
        case massDeletion
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
            "many items of the container were deleted at once; if that was meant, say so with: ubcontrol container resume"
        case .detached(.unreadable(let error)): "the container cannot be read (\(error))"
        }
    }
}
