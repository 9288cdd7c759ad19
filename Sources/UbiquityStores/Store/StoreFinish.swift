public import UbiquityContainers

/// The result of ``UbiquitousStore/finish(within:)``: where the saves of this device are when the store has closed.
public enum StoreFinish: Hashable, Sendable, CustomStringConvertible {
    /// Every save is in the container, or there was none to publish.
    case published
    /// Saves are on this device only. The next opening continues with them.
    case kept(Reason)

    /// Why saves are on this device only.
    public enum Reason: Hashable, Sendable {
        /// The account that they belong to is not signed in, or nobody is.
        case signedOut
        /// The account's content has not been read yet, so the saves are in the fallback file.
        case contentUnread
        /// The app has not answered the question of ``JoiningPolicy/ask(_:)``.
        case unanswered
        /// The container, or the content in it, is gone or does not respond.
        case suspended(ContainerAttachment.Reason)
        /// The exchange is paused.
        case paused
        /// The limit was over before everything was published.
        case timedOut
        /// The task was cancelled.
        case cancelled
        /// An error, in words.
        case failed(String)
    }

    /// Why saves are on this device only; nil if none are.
    public var reason: Reason? { if case .kept(let reason) = self { reason } else { nil } }

    /// A sentence for people.
    public var description: String {
        switch self {
        case .published: "everything is published"
        case .kept(let reason): "saved on this device only: \(reason)"
        }
    }
}

extension StoreFinish.Reason: CustomStringConvertible {
    /// The reason, and the remedy if there is one.
    public var description: String {
        switch self {
        case .signedOut: "their account is not signed in; sign in with: ubcontrol sign-in ACCOUNT --containers DIR"
        case .contentUnread: "the account's content has not all arrived and been read yet; the next opening continues"
        case .unanswered: "the question about saves from before the sign-in has no answer yet"
        case .suspended(let reason): ContainerAttachment.detached(reason).description
        case .paused: "the exchange is paused; resume it with: ubcontrol store resume"
        case .timedOut: "publishing took too long; the next opening continues"
        case .cancelled: "the work was cancelled; the next opening continues"
        case .failed(let error): error
        }
    }
}
