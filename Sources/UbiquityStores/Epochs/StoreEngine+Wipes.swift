internal import GRDB
internal import UbiquityContainers

extension StoreEngine {
    /// Whether the content is gone, and could be made again in its place.
    var isWiped: Bool { suspended.map(isWipe) ?? false }

    private func isWipe(_ reason: ContainerAttachment.Reason) -> Bool {
        switch reason {
        case .markGone, .containerGone, .contentGone: true
        case .rootGone, .massDeletion, .unreadable: false
        }
    }

    /// Settles; where the content is gone and the policy says what becomes of it, that is done first.
    func settleByPolicy() async throws {
        do {
            try settle()
        } catch let error as UbiquitousStoreError where error.code == .suspended {
            var isAnswered = try fulfilRequest()
            if !isAnswered { isAnswered = try await answerWipe() }
            guard isAnswered else { throw error }
            try settle()
        }
        try fulfilRequest()
    }

    /// Does what the policy says, for the content is gone; whether anything was done.
    func answerWipe() async throws -> Bool {
        guard isWiped, let reason = suspended else { return false }
        switch wipePolicy {
        case .wait: wipeAnswer = .wait
        case .republish: wipeAnswer = .republish
        case .follow: wipeAnswer = .follow
        case .ask(let question):
            // An answer that could not be carried out stands.
            if wipeAnswer == nil {
                let answer = await question(reason)
                // What was gone may be back.
                guard isWiped, !Task.isCancelled else { return false }
                wipeAnswer = answer
            }
        }
        guard let answer = wipeAnswer, answer != .wait else { return false }
        try answerWipe(answer)
        return true
    }

    /// Does what somebody has said.
    func answerWipe(_ answer: WipePolicy.Answer) throws {
        switch answer {
        case .wait: break
        case .republish:
            // Also where an earlier attempt has come as far as the mark.
            _ = try reattach()
            try republish()
        case .follow: if try reattach() { _ = try removeContent() }
        }
    }

    /// Makes this peer's place in the container again, if it is gone; whether it was.
    ///
    /// The identifier stays: the logs that have gone were published under it, and if they come back they are what they were.
    private func reattach() throws -> Bool {
        var wasGone = false
        try leased { _ in }
        if isPaused { throw suspension }
        guard let reason = suspended else { return false }
        guard isWipe(reason), let container else { throw suspension }
        _ = try locked {
            let state = try file.pool.read { db in try StoreState.read(db) }
            try container.makeAgain()
            let found = try place.prepare()
            try place.makeDirectories(of: state.peer, epoch: state.epoch)
            if found < state.epoch { try place.write(lostMark(state), of: state.peer, placedIn: state.epoch) }
            Waypoint.reattachPlaced.pass()
            // Last: until it is there the store is suspended, and all this is done again.
            for peer in Set([container.peer, state.peer]) { try place.makeMark(of: peer) }
            Waypoint.reattachMarked.pass()
            (inventory, lastReceipt) = (nil, nil)
            wasGone = true
        }
        return wasGone
    }

    /// Writes down all that the store holds, for none of its logs is there.
    private func republish() throws {
        // Saves may come in between, time and again: then it is written when somebody asks for what is missing.
        for _ in 0..<20 where try rollNow() != nil { return }
    }
}
