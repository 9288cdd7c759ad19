internal import Foundation
internal import StoreFormat
package import StoreRecords
internal import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Moves logs and baselines between a store and its container: performs what ``ExchangeStateMachine`` says.
///
/// Its state is only what can be found again: the store file and the container hold the truth.
package actor ExchangeRunner {
    package nonisolated let context: ExchangeContext
    private let executor: any SerialExecutor
    var machine: ExchangeStateMachine
    private var content: KnownContent
    private var failure: String?
    private var watchFault: String?

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ context: ExchangeContext, state: StoreState, givesWay: Bool) {
        self.context = context
        let label = "Ubiquity store engine"
        executor = givesWay ? BackgroundExecutor(label: label) : QueueExecutor(label: label)
        machine = ExchangeStateMachine(context.rules, epoch: state.epoch, at: .now)
        content = KnownContent(state)
    }

    // MARK: Running the machine

    /// Does some work, step by step, while no other process of this device exchanges for this store.
    ///
    /// The task is done only while the store has its place in the container, and has taken over what was in its tables before. Where another process
    /// waits between two batches, it comes first, and everything begins again from the placing.
    package func run(_ work: ExchangeWork, waiting: Bool = true, requiringPlace: Bool = false, _ task: () throws -> Void = {}) throws {
        var (lease, failure): (ExchangeLease?, (any Error)?)
        defer { withExtendedLifetime(lease) {} }
        let performer = StepPerformer(context: context) { if lease?.isAwaited == true { throw GivesWay() } }
        machine.begin(work, waiting: waiting)
        while true {
            var outcome = ExchangeOutcome.done
            do {
                switch machine.step {
                case .wait: if requiringPlace, !machine.isPlaced { throw keeper.suspension(machine) } else { return }
                case .fail(let isExplained): throw isExplained ? keeper.explained(failure!) : failure!
                case .takeLease(let waiting):
                    lease = nil
                    lease = try keeper.lease(waiting: waiting)
                    outcome = .leased(lease != nil)
                case .performTask: try task()
                case let step: outcome = try performer.perform(step, &content, &machine)
                }
            } catch is GivesWay {
                context.log.detail("gives way to another process")
                outcome = .gaveWay
            } catch {
                if machine.step.isEnd { throw error }
                failure = error
                outcome = .failed(isErrno: error is Errno)
            }
            if machine.isImporting, !outcome.isSuccess { context.progress.update { $0.isImporting = false } }
            machine.receive(outcome, at: .now)
        }
    }

    /// Does something under the right to exchange, whether the store has its place or not.
    func locked<Result>(_ body: () throws -> Result) throws -> Result {
        let lease = try keeper.lease(waiting: true)
        defer { withExtendedLifetime(lease) {} }
        return try body()
    }

    private var keeper: PlaceKeeper { PlaceKeeper(context: context) }
    private var receipts: PeerReceipts { PeerReceipts(context, peer, machine.epoch) }
    private var currency: CurrencyCheck { CurrencyCheck(context, peer, machine.epoch) }

    // MARK: What is so

    package var peer: PeerIdentifier { content.state.peer }

    /// When there is something to do though nothing happens; nil for never.
    var nextTime: ContinuousClock.Instant? { machine.nextTime }

    /// Whether the content is gone, and can be made again in its place.
    package var isWiped: Bool { machine.absence.isWipe }

    package func status() throws -> StoreStatus { try currency.status(machine, failure: failure ?? watchFault) }

    /// The other peers of the content.
    package func peers() throws -> [StorePeer] { try receipts.peers() }

    /// Says why changes are not noticed by themselves, nil where they are.
    func setWatchFault(_ fault: String?) { watchFault = fault }

    /// Tells other observers from now on, for the file is in use now.
    package func tell(_ notices: Broadcast<StoreNotice>) {
        context.notices.tell(notices)
        if let reason = machine.suspended { notices.post(.didSuspend(reason)) }
    }

    /// Takes in what the watcher saw below the container; whether there is reason to exchange.
    func note(_ batch: TreeChangeBatch) -> Bool {
        let isReason = content.note(batch, context, &machine)
        context.log.detail("\(counted(batch.count, "change")) in the container: \(isReason ? "a reason" : "no reason") to exchange")
        return isReason
    }

    // MARK: Exchanging

    /// Finds or makes this peer's place in the content, before anything else, unless another process exchanges for this store.
    ///
    /// A store that had its place and does not find it is suspended; nothing is made then.
    package func start() throws {
        try run(.task(publishesBefore: false), waiting: false) { context.publisher.removeDrafts(of: peer, epoch: machine.epoch) }
    }

    /// Publishes, imports, and tells what has been read: once, and without waiting for more saves where `all`.
    package func exchange(all: Bool = false) throws {
        let began = ContinuousClock.now
        try run(.exchange(all: all))
        if machine.isPlaced { context.log.detail("exchanged in epoch \(machine.epoch) as \(peer) in \(began.elapsed)") }
    }

    /// Exchanges for no caller: a failure stands in the status, and the next reason to exchange tries again; whether it went well.
    package func exchangeInBackground() -> Bool {
        do {
            try exchange()
            try fulfilRequest()
            failure = nil
        } catch {
            // One reason is told once, however often it is tried again.
            let reason = String(describing: error)
            if reason != failure { context.log.fault("the exchange has failed: \(reason)") }
            failure = reason
        }
        return failure == nil
    }

    /// Lists everything again, and exchanges until nothing is left to do.
    package func settle() throws {
        machine.forgetListing()
        do {
            try exchange(all: true)
            failure = nil
        } catch {
            failure = String(describing: error)
            context.log.exchange("could not exchange, as the caller is told: \(error)")
            throw error
        }
        if machine.isPaused || machine.suspended != nil { throw keeper.suspension(machine) }
    }

    /// Publishes, and writes a baseline; its number, or nil where saves came in between.
    package func rollNow() throws -> Int64? {
        try run(.roll, requiringPlace: true)
        return machine.rolled?.name.sequence
    }

    /// Makes the store's tables again from the content, as a first import would.
    package func rebuild() throws {
        try settle()
        let began = ContinuousClock.now
        // What has been sealed since is in the container before it is taken from there.
        try run(.task(publishesBefore: true), requiringPlace: true) {
            try Rebuild(context, content.state).run(&machine.shelf, since: began)
            machine.forgetOwn()
        }
        try settle()
    }

    /// Whether the content holds all that the store does, so that its file could be made again from it; nothing is exchanged.
    package func isHeldByContent() throws -> Bool { try ReadableContent.holdsAll(of: context, &machine.shelf) }

    /// Ends the epoch for every peer, and goes over to the next.
    package func removeContent() throws -> ContentRemoval {
        var removal: ContentRemoval?
        try run(.task(publishesBefore: false), requiringPlace: true) {
            let next = try EpochEntry(context: context).end(content.state)
            removal = try EpochEntry(context: context).enter(next, &content)
            machine.begin(epoch: next)
            try ReceiptWriter(context, content.state).publish(&machine.peers)
            // Complete when it returns; what a crash leaves of the files goes with the next exchange of any device.
            removeEnded()
        }
        return removal!
    }

    /// Removes the files of ended epochs, as far as that is possible.
    package func removeEnded() { keeper.removeEnded(content, machine) }

    /// Retires a peer, of whose logs none up to a sequence is waited for, and does what becomes possible by that.
    package func retire(_ peer: PeerIdentifier, at sequence: Int64) throws {
        try run(.task(publishesBefore: false), requiringPlace: true) {
            try receipts.retire(peer, at: sequence, content.state, awaits: machine.peers.waiting.flatMap(\.awaited))
        }
        try exchange(all: true)
    }

    /// Whether every log is held that a peer, or any that is not retired, has written or says that it holds.
    package func isCaughtUp(to peer: PeerIdentifier?) throws -> Bool { try currentInPlace().isCaughtUp(to: peer) }

    /// Whether everything has been read that can be.
    package func hasGathered() throws -> Bool { try currentInPlace().hasGathered(machine.peers.waiting) }

    private func currentInPlace() throws -> CurrencyCheck {
        try run(.place, requiringPlace: true)
        return currency
    }

    /// Takes in a batch of a seed; how far it has come, or nil where another device has completed it.
    package func seed(_ batch: SeedBatch, after before: PendingSeed) throws -> PendingSeed? {
        let seeding = SeedExchange(context: context)
        if try seeding.needsPlace() { try run(.place) }
        let pending = try locked { try seeding.take(batch, after: before) }
        seeding.finish()
        return pending
    }

    // MARK: Answers and requests

    /// Settles; where the content is gone and the policy, or another program, says what becomes of it, that is done first.
    package func settleByPolicy() async throws { try await WipeAnswers(context: context).settle(by: self) }

    /// Does what the policy says, where the content is gone, and asks the app where it may; whether anything was done.
    func answerWipe(asking: Bool) async throws -> Bool {
        var step = machine.absence.step(by: machine.rules.wipes, asking: asking)
        if case .ask(let reason) = step, case .ask(let question) = context.wipePolicy {
            let answer = await question(reason)
            // What was gone may be back.
            guard isWiped, !Task.isCancelled else { return false }
            machine.absence.answered(answer)
            step = machine.absence.step(by: machine.rules.wipes, asking: false)
        }
        guard case .carryOut(let answer) = step else { return false }
        try answerWipe(answer)
        return true
    }

    /// Carries out an answer, which may be what another program has asked for.
    package func answerWipe(_ answer: WipePolicy.Answer, asked: StoreRequest? = nil) throws {
        if answer != .wait { try WipeAnswers(context: context).carryOut(answer, asked: asked, by: self) }
    }

    /// Does what another program has asked for, if that can be done now.
    func fulfilRequest() throws { try WipeAnswers(context: context).fulfilRequest(by: self) }

    /// Lets nothing go out or in from now on, or everything again.
    package func setPaused(_ paused: Bool) throws {
        try WipeAnswers(context: context).setPaused(paused)
        // An exchange under way has ended, for an actor does one thing at a time; another process's ends by itself.
        machine.setPaused(paused)
    }
}
