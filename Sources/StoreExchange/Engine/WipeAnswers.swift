internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Carries out what has been said of content that is gone, and keeps what another program has asked for.
struct WipeAnswers {
    let context: ExchangeContext

    private var keeper: PlaceKeeper { PlaceKeeper(context: context) }

    /// Settles a store; where the content is gone and the policy, or another program, says what becomes of it, that is done first.
    ///
    /// - Parameter runner: settles it.
    /// - Throws: what stands in the way.
    func settle(by runner: isolated ExchangeRunner) async throws {
        do {
            try runner.settle()
        } catch let error as UbiquitousStoreError where error.code == .suspended {
            if runner.machine.request?.wipeAnswer != nil {
                try fulfilRequest(by: runner)
            } else {
                guard try await runner.answerWipe(asking: !context.exchangesAutomatically) else { throw error }
            }
            try runner.settle()
        }
        try fulfilRequest(by: runner)
    }

    /// Carries out an answer.
    ///
    /// - Parameters:
    ///   - answer: republish, or follow.
    ///   - asked: the request that says so; nil where the app does.
    ///   - runner: finds the place, and exchanges.
    /// - Throws: what stands in the way.
    func carryOut(_ answer: WipePolicy.Answer, asked: StoreRequest?, by runner: isolated ExchangeRunner) throws {
        context.log.transition("the content is gone, and the answer to that is: \(answer)")
        try runner.run(.place)
        if try isNeeded(runner.machine) {
            try runner.locked { try makeAgain(following: answer == .follow, asked: asked, &runner.machine) }
        }
        // The mark that has been written is seen.
        if answer == .follow { return try runner.settle() }
        // Also where an earlier attempt has come as far as the mark. Saves may come in between, time and again.
        for _ in 0..<20 where try runner.rollNow() != nil { return try drop(.finishRepublishing, &runner.machine) }
        throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; the next exchange tries again.")
    }

    /// Whether the place is gone, and can be made again; throws what is in the way where it cannot.
    func isNeeded(_ machine: ExchangeStateMachine) throws -> Bool {
        guard !machine.isPaused else { throw keeper.suspension(machine) }
        guard let reason = machine.suspended else { return false }
        guard reason.isWipe, context.container != nil else { throw keeper.suspension(machine) }
        return true
    }

    /// Makes this peer's place in the container again, if it is gone.
    ///
    /// The identifier stays: the logs that have gone were published under it, and if they come back they are what
    /// they were. The attachment mark, and the directory of
    /// receipts where only that is missing, come last: until they are there the store is suspended, and all this is done again.
    ///
    /// - Parameters:
    ///   - following: whether the content counts as removed, unless it has been removed already: then the store follows that.
    ///   - asked: the request by which it is done; nil where that is not the reason.
    ///   - machine: learns what is so then.
    /// - Throws: `UbiquitousStoreError` where it cannot be made.
    func makeAgain(
        following: Bool, asked: StoreRequest?, _ machine: inout ExchangeStateMachine
    ) throws {
        let container = context.container!
        let place = PeerPlace(layout: context.layout, container: container, files: context.files)
        let (state, knowledge) = try context.file.pool.write { db in
            try context.sealer.seal(db)
            let state = try StoreState.read(db)
            return (state, try StoreKnowledge.all(state, db))
        }
        // It may be back, or another process may have been faster.
        guard case .detached(let reason) = keeper.attachment(state), reason.isWipe, !state.paused else { return }
        // It may have been withdrawn while others were waited for.
        if let asked, state.request != asked { throw keeper.suspension(machine) }
        try container.makeAgain()
        let found = try place.prepare()
        try place.makeDirectories(of: state.peer, epoch: state.epoch, isWhole: false)
        if following, found <= state.epoch {
            let mark = EpochMark(epoch: state.epoch + 1, peer: state.peer, knowledge: knowledge, time: context.now())
            try place.write(mark, of: state.peer, placedIn: state.epoch)
        } else if found < state.epoch {
            try keeper.restoreMark(state)
        }
        Waypoint.reattachPlaced.pass()
        // Once the mark is there the content counts as being there, and what it is to hold does not lie there yet.
        let former = try following ? nil : postpone(.finishRepublishing, &machine)
        do {
            if !following { try context.publisher.syncWriteAheadLog() }
            for peer in Set([container.peer, state.peer]) { try place.makeMark(of: peer) }
        } catch {
            // Another answer may be given while nothing counts as being there.
            if !following, case .detached = keeper.attachment(state) { try put(former, &machine) }
            throw error
        }
        Waypoint.reattachMarked.pass()
        try place.makeDirectories(of: state.peer, epoch: state.epoch)
        machine.forgetOwn()
    }

    // MARK: Requests

    /// Does what another program has asked for.
    ///
    /// One that cannot be done now stays, and is tried again with each exchange until it can, or is withdrawn; one that cannot be done at all is
    /// dropped, and the status says why.
    ///
    /// - Parameter runner: does it.
    /// - Throws: what stands in the way.
    func fulfilRequest(by runner: isolated ExchangeRunner) throws {
        guard context.container != nil, !runner.machine.isPaused, let request = runner.machine.request else { return }
        do {
            if let answer = request.wipeAnswer { try runner.answerWipe(answer, asked: request) } else { try runner.rebuild() }
        } catch let error as UbiquitousStoreError where [.contentIncomplete, .unsupported].contains(error.code) {
            try drop(request, &runner.machine)
            throw error
        }
        try drop(request, &runner.machine)
    }

    /// Has the next exchange do what this one may not come to.
    ///
    /// - Parameters:
    ///   - wanted: what it does.
    ///   - machine: learns of it.
    /// - Returns: what was to be done before.
    /// - Throws: GRDB's errors.
    func postpone(_ wanted: StoreRequest, _ machine: inout ExchangeStateMachine) throws -> StoreRequest? {
        let former = try context.file.pool.write { db in
            let former = try StoreState.read(db).request
            try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [wanted.rawValue])
            return former
        }
        if let former, former != wanted, former.wipeAnswer != wanted.wipeAnswer {
            context.log.transition("to \(former.rawValue) had been asked for, and is no longer: the content was gone, and is put back")
        }
        machine.request = wanted
        return former
    }

    /// Puts back what was to be done before.
    func put(_ former: StoreRequest?, _ machine: inout ExchangeStateMachine) throws {
        try context.file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [former?.rawValue]) }
        machine.request = former
    }

    /// Notes for all processes that nothing goes out or in from now on, or everything again.
    func setPaused(_ paused: Bool) throws {
        let file = context.file
        guard context.container != nil else {
            throw UbiquitousStoreError(
                .unsupported,
                "Nothing goes out of \(file.path) that could be paused: nobody is signed in, or what it holds is on its way to the account's.",
                path: file.path)
        }
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [paused]) }
    }

    /// Notes that a request is done.
    func drop(_ done: StoreRequest, _ machine: inout ExchangeStateMachine) throws {
        try context.file.pool.write { db in _ = try done.drop(db) }
        machine.request = nil
    }
}
