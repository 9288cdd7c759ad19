internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Carries out answers to missing content, and fulfils the requests of other programs.
struct WipeAnswers {
    let context: ExchangeContext

    private var keeper: PlaceKeeper { PlaceKeeper(context: context) }

    /// Settles a store, and first applies the policy or another program's request if the content is gone.
    ///
    /// - Parameter runner: the exchange of the store.
    /// - Throws: the error that prevents settling.
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
    ///   - answer: republish or follow.
    ///   - asked: the request that contains the answer; nil if the app gave it.
    ///   - runner: the exchange of the store.
    /// - Throws: the error that prevents it.
    func carryOut(_ answer: WipePolicy.Answer, asked: StoreRequest?, by runner: isolated ExchangeRunner) throws {
        context.log.transition("the content is gone, and the answer to that is: \(answer)")
        try runner.run(.place)
        if try isNeeded(runner.machine) {
            try runner.locked { try makeAgain(following: answer == .follow, asked: asked, &runner.machine) }
        }
        // The exchange sees the mark that has been written.
        if answer == .follow { return try runner.settle() }
        // This also continues an earlier attempt that got as far as the mark. Saves may come in between repeatedly.
        for _ in 0..<20 where try runner.rollNow() != nil { return try drop(.finishRepublishing, &runner.machine) }
        throw UbiquitousStoreError(.timedOut, "Saves came in faster than they were published; the next exchange tries again.")
    }

    /// Returns whether the place is gone and can be created again, and throws if something is in its way.
    func isNeeded(_ machine: ExchangeStateMachine) throws -> Bool {
        guard !machine.isPaused else { throw keeper.suspension(machine) }
        guard let reason = machine.suspended else { return false }
        guard reason.isWipe, context.container != nil else { throw keeper.suspension(machine) }
        return true
    }

    /// Creates this peer's place in the container again, if it is gone.
    ///
    /// The identifier stays, because the lost logs were published under it: if they come back, they are still valid.
    /// The attachment mark, and the directory of receipts if only that is missing, come last. Until they are there, the
    /// store is suspended, and the next attempt repeats all steps.
    ///
    /// - Parameters:
    ///   - following: whether the content counts as removed. If it has been removed already, the store follows that
    ///     removal.
    ///   - asked: the request that asks for this, or nil.
    ///   - machine: the machine that learns the new state.
    /// - Throws: `UbiquitousStoreError` if the place cannot be created.
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
        // The place may be back, or another process may have created it.
        guard case .detached(let reason) = keeper.attachment(state), reason.isWipe, !state.paused else { return }
        // The request may have been withdrawn while this process waited for others.
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
        // With the mark the content counts as present, although the store's records are not in it yet.
        let former = try following ? nil : postpone(.finishRepublishing, &machine)
        do {
            if !following { try context.publisher.syncWriteAheadLog() }
            for peer in Set([container.peer, state.peer]) { try place.makeMark(of: peer) }
        } catch {
            // Another answer may be given while the content still counts as missing.
            if !following, case .detached = keeper.attachment(state) { try put(former, &machine) }
            throw error
        }
        Waypoint.reattachMarked.pass()
        try place.makeDirectories(of: state.peer, epoch: state.epoch)
        machine.forgetOwn()
    }

    // MARK: Requests

    /// Fulfils the request of another program.
    ///
    /// A request that cannot be fulfilled now stays, and each exchange tries it again until it succeeds or the request
    /// is withdrawn. A request that can never be fulfilled is dropped, and the status shows the reason.
    ///
    /// - Parameter runner: the exchange of the store.
    /// - Throws: the error that prevents it.
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

    /// Notes a request for the next exchange, in case this one does not finish.
    ///
    /// - Parameters:
    ///   - wanted: the request.
    ///   - machine: the machine that learns of the request.
    /// - Returns: the request that was noted before.
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

    /// Restores the request that was noted before.
    func put(_ former: StoreRequest?, _ machine: inout ExchangeStateMachine) throws {
        try context.file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET request = ?", arguments: [former?.rawValue]) }
        machine.request = former
    }

    /// Notes for all processes whether the exchange is paused.
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

    /// Notes that a request is fulfilled.
    func drop(_ done: StoreRequest, _ machine: inout ExchangeStateMachine) throws {
        try context.file.pool.write { db in _ = try done.drop(db) }
        machine.request = nil
    }
}
