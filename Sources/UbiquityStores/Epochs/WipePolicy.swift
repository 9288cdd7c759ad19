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

extension UbiquitousStore {
    /// Decides the store's behaviour now that its content is gone, whatever ``Options/wipePolicy`` says.
    ///
    /// To republish attaches this device again and writes a baseline of everything that the store holds, which every
    /// other device can join. Unsent saves go out too. To follow attaches this device again and begins the next epoch,
    /// as ``removeUbiquitousContent(_:)`` does: saves that this device had not sent are set aside. After a crash in
    /// between, the store is still suspended, or has noted that a baseline is due, which the next exchange writes.
    ///
    /// - Parameter answer: the answer. If the content is there, to republish writes a baseline, and to follow does
    ///   nothing.
    /// - Throws: `UbiquitousStoreError`: `suspended` if the content cannot be created because the containers root is
    ///   gone; `paused`; or `fileSystem`.
    public func answerWipe(_ answer: WipePolicy.Answer) async throws {
        try await exchanging.answerWipe(answer)
        current.runner?.wake()
    }

    /// Pauses the exchange in every process, until ``resume()``, also after restarts.
    ///
    /// Reads and writes continue, and nothing is discarded. The pause applies to the file of the signed-in account, not
    /// to other accounts. An exchange that is running ends first.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` while nobody is signed in, or GRDB's errors.
    public func pause() async throws { try await setPaused(true) }

    /// Resumes the exchange after ``pause()``.
    ///
    /// Everything that has waited goes out and comes in.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` while nobody is signed in, or GRDB's errors.
    public func resume() async throws { try await setPaused(false) }

    private func setPaused(_ isPaused: Bool) async throws {
        let base = try await keeper?.gatheringBase() ?? current
        try await base.engine.setPaused(isPaused)
        base.runner?.wake()
    }
}
