public import UbiquityContainers

/// The behaviour of a store when its container, or its content in it, is gone from its place without a stated removal.
///
/// Absence proves nothing: a disk may be lost, a synchroniser may carry out somebody's `rm -rf`, or a folder may be
/// moved. Until an answer is given, the store is suspended: it reads and writes on this device, nothing goes out, and
/// nothing is deleted. The policy does not apply to a containers root that is gone or cannot be read: the store waits
/// for it in any case.
public enum WipePolicy: Sendable {
    /// Waits until the content is back, or until ``UbiquitousStore/answerWipe(_:)`` is called.
    case wait
    /// Publishes everything that the store holds again.
    case republish
    /// Treats it as a removal: the content starts again, empty, on all devices of the account.
    case follow
    /// Asks the app, once for each time the content is gone.
    ///
    /// If the content comes back, the task of the question is cancelled.
    case ask(@Sendable (ContainerAttachment.Reason) async -> Answer)

    /// An answer.
    public enum Answer: String, Sendable {
        /// See ``WipePolicy/wait``.
        case wait
        /// See ``WipePolicy/republish``.
        case republish
        /// See ``WipePolicy/follow``.
        case follow
    }
}
