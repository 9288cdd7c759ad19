internal import StoreExchange
internal import UbiquityContainers

extension UbiquitousStore {
    /// Says what becomes of the store now that its content is gone, whatever ``StoreOptions/wipePolicy`` says.
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
