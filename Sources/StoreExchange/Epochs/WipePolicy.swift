public import UbiquityContainers

/// What becomes of a store when its container, or its content in it, is gone from its place, and nobody has said that it was removed.
///
/// Absence proves nothing: it may be a disk that is lost, a synchroniser that obeys somebody's `rm -rf`, or a folder that is moved about. Until it is answered the store is suspended: it reads and writes
/// on this device, nothing goes out, and nothing is deleted. A containers root that is gone, and one that cannot be read, are waited for in any case.
public enum WipePolicy: Sendable {
    /// It is waited for, until it is back, or somebody calls ``UbiquitousStore/answerWipe(_:)``.
    case wait
    /// All that the store holds is put there again.
    case republish
    /// It counts as a removal: the content begins anew, empty, for all devices of the account.
    case follow
    /// The app is asked, once for each time that it is gone. The task of a question that has become void, for what was gone is back, is cancelled.
    case ask(@Sendable (ContainerAttachment.Reason) async -> Answer)

    /// An answer.
    public enum Answer: String, Sendable {
        /// As ``WipePolicy/wait``.
        case wait
        /// As ``WipePolicy/republish``.
        case republish
        /// As ``WipePolicy/follow``.
        case follow
    }
}
