internal import GRDB
internal import StoreFormat
package import StoreRecords
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

    /// Settles; where the content is gone and the policy, or another program, says what becomes of it, that is done first.
    package func settleByPolicy() async throws {
        do {
            try settle()
        } catch let error as UbiquitousStoreError where error.code == .suspended {
            var isAnswered = request?.wipeAnswer != nil
            if isAnswered { try fulfilRequest() } else { isAnswered = try await answerWipe(asking: !exchangesAutomatically) }
            guard isAnswered else { throw error }
            try settle()
        }
        try fulfilRequest()
    }

    /// Does what the policy says, for the content is gone.
    ///
    /// - Parameter asking: whether the app is asked, where that is the policy; the one who runs the engine does.
    /// - Returns: whether anything was done.
    /// - Throws: what stands in the way.
    func answerWipe(asking: Bool) async throws -> Bool {
        guard isWiped, let reason = suspended else { return false }
        switch wipePolicy {
        case .wait: wipeAnswer = .wait
        case .republish: wipeAnswer = .republish
        case .follow: wipeAnswer = .follow
        case .ask(let question):
            // An answer that could not be carried out stands.
            if wipeAnswer == nil, asking {
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
    ///
    /// - Parameters:
    ///   - answer: what was said.
    ///   - asked: the request that says so; nil where the app does.
    /// - Throws: what stands in the way.
    package func answerWipe(_ answer: WipePolicy.Answer, asked: StoreRequest? = nil) throws {
        if answer != .wait { log.transition("the content is gone, and the answer to that is: \(answer)") }
        switch answer {
        case .wait: break
        case .republish:
            // Also where an earlier attempt has come as far as the mark.
            try reattach(following: false, asked: asked)
            try republish()
            try drop(.finishRepublishing)
        case .follow:
            try reattach(following: true, asked: asked)
            // The mark that has been written is seen.
            try settle()
        }
    }

    /// Makes this peer's place in the container again, if it is gone.
    ///
    /// The identifier stays: the logs that have gone were published under it, and if they come back they are what they were. The attachment mark, and the directory of
    /// receipts where only that is missing, come last: until they are there the store is suspended, and all this is done again.
    ///
    /// - Parameters:
    ///   - following: whether the content counts as removed, unless it has been removed already: then the store follows that.
    ///   - asked: the request by which it is done; nil where that is not the reason.
    /// - Throws: `UbiquitousStoreError` where it cannot be made.
    private func reattach(following: Bool, asked: StoreRequest?) throws {
        try leased { _ in }
        if isPaused { throw suspension }
        guard let reason = suspended else { return }
        guard isWipe(reason), let container else { throw suspension }
        _ = try locked {
            let (state, knowledge) = try file.pool.write { db in
                try sealer.seal(db)
                let state = try StoreState.read(db)
                return (state, try StoreKnowledge.all(state, db))
            }
            // It may be back, or another process may have been faster.
            guard case .detached(let reason) = attachment(state), isWipe(reason), !state.paused else { return }
            // It may have been withdrawn while others were waited for.
            if let asked, state.request != asked { throw suspension }
            try container.makeAgain()
            let found = try place.prepare()
            try place.makeDirectories(of: state.peer, epoch: state.epoch, isWhole: false)
            if following, found <= state.epoch {
                let mark = EpochMark(epoch: state.epoch + 1, peer: state.peer, knowledge: knowledge, time: now())
                try place.write(mark, of: state.peer, placedIn: state.epoch)
            } else if found < state.epoch {
                try place.write(lostMark(state), of: state.peer, placedIn: state.epoch)
            }
            Waypoint.reattachPlaced.pass()
            // Once the mark is there the content counts as being there, and what it is to hold does not lie there yet.
            let former = try following ? nil : postpone(.finishRepublishing)
            do {
                if !following { try publisher.syncWriteAheadLog() }
                for peer in Set([container.peer, state.peer]) { try place.makeMark(of: peer) }
            } catch {
                // Whoever is asked may say something else while nothing counts as being there.
                if !following, case .detached = attachment(state) { try put(former) }
                throw error
            }
            Waypoint.reattachMarked.pass()
            try place.makeDirectories(of: state.peer, epoch: state.epoch)
            (inventory, lastReceipt) = (nil, nil)
        }
    }

    /// Writes down all that the store holds, for none of its logs is there.
    private func republish() throws {
        // Saves may come in between, time and again.
        for _ in 0..<20 where try rollNow() != nil { return }
        throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; the next exchange tries again.")
    }
}
