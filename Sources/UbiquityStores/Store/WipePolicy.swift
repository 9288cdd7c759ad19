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

extension UbiquitousStore {
    /// Says what becomes of the store now that its content is gone, whatever ``Options/wipePolicy`` says.
    ///
    /// To republish attaches this device anew and writes a baseline of all that the store holds, which every other device can join; what had not gone out goes out. To follow attaches it and begins the next epoch, as
    /// ``removeUbiquitousContent(_:)`` does: what this device had not sent is set aside. Where a crash cuts it short, the store is suspended still, or has it noted that a baseline is due, which the next
    /// exchange writes.
    ///
    /// - Parameter answer: what is to be done. Where the content is there, to republish writes a baseline, and to follow does nothing.
    /// - Throws: `UbiquitousStoreError`: `suspended` where it cannot be made in its place, for the containers root is gone; `paused`, or `fileSystem`.
    public func answerWipe(_ answer: WipePolicy.Answer) async throws {
        try await exchanging.answerWipe(answer)
        current.runner?.wake()
    }

    /// Lets nothing go out or in from now on, in whichever process, and over restarts; reads and writes go on, and nothing is discarded.
    ///
    /// It is of the file of the account that is signed in: another account's is not paused by it. What is under way ends first.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` while nobody is signed in, or GRDB's errors.
    public func pause() async throws { try await setPaused(true) }

    /// Lets everything go out and in again that has waited since ``pause()``.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` while nobody is signed in, or GRDB's errors.
    public func resume() async throws { try await setPaused(false) }

    private func setPaused(_ isPaused: Bool) async throws {
        let base = try await keeper?.gatheringBase() ?? current
        try await base.engine.setPaused(isPaused)
        base.runner?.wake()
    }
}
