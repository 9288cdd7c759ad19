internal import StoreExchange
internal import UbiquityContainers

extension UbiquitousStore {
    /// Says what becomes of the store now that its content is gone, whatever ``StoreOptions/wipePolicy`` says.
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
        current.trigger?.wake()
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
        try await base.runner.setPaused(isPaused)
        base.trigger?.wake()
    }
}
