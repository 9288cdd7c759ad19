internal import Foundation
internal import StoreAuthority
package import StoreFormat
package import StoreRecords
package import SystemPackage
internal import TreeWatching
package import UbiquityContainers

/// Moves logs and baselines between a store and its container, by performing the steps of ``ExchangeStateMachine``.
///
/// The actor's state is a cache that can be read again: the store file and the container hold the truth.
package actor ExchangeRunner {
    package nonisolated let context: ExchangeContext
    private let executor: any SerialExecutor
    var machine: ExchangeStateMachine
    private var content: KnownContent
    /// The store file's data version at the look of the last complete exchange without a caller.
    ///
    /// Other work looks at the file too, and leaves what it sees there to the next exchange.
    private var exchangedVersion: Int64?
    private var failure: String?
    private var watchFault: String?
    /// Whether the drafts that a killed process has left have been removed.
    private var hasRemovedDrafts = false

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(_ context: ExchangeContext, state: StoreState, givesWay: Bool) {
        self.context = context
        let label = "Ubiquity store exchange"
        executor = givesWay ? BackgroundExecutor(label: label) : QueueExecutor(label: label)
        machine = ExchangeStateMachine(context.rules, epoch: state.epoch, at: .now)
        content = KnownContent(state)
    }

    // MARK: Running the machine

    /// Performs the steps of some work, while no other process of this device exchanges for this store.
    ///
    /// The task runs only while the store has its place in the container, after the rows that were in its tables before
    /// have been adopted. If another process waits between two batches, that process runs first, and this work then
    /// starts over with finding the place.
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

    /// Runs a closure under the exchange lease, whether or not the store has its place.
    func locked<Result>(_ body: () throws -> Result) throws -> Result {
        let lease = try keeper.lease(waiting: true)
        defer { withExtendedLifetime(lease) {} }
        return try body()
    }

    private var keeper: PlaceKeeper { PlaceKeeper(context: context) }
    private var receipts: PeerReceipts { PeerReceipts(scope: ExchangeScope(context, peer, machine.epoch)) }
    private var currency: CurrencyCheck { CurrencyCheck(scope: ExchangeScope(context, peer, machine.epoch)) }

    // MARK: State

    package var peer: PeerIdentifier { content.state.peer }

    /// The time at which the exchange has work without a new event, or nil if there is none.
    var nextTime: ContinuousClock.Instant? { machine.nextTime }

    /// Whether the content is gone and can be created again in its place.
    package var isWiped: Bool { machine.absence.isWipe }

    /// Whether the store is suspended because the container's file system does not answer.
    var isSilent: Bool { machine.suspended == .silent }

    package func status() throws -> StoreStatus { try currency.status(machine, failure: failure ?? watchFault) }

    /// The other peers of the content.
    package func peers() throws -> [StorePeer] { try receipts.peers() }

    /// Sets the reason why changes are not noticed automatically, or nil if they are.
    func setWatchFault(_ fault: String?) { watchFault = fault }

    /// Sends notices to other observers from now on, because the file is now in use.
    package nonisolated func tell(_ notices: Broadcast<StoreNotice>) { context.notices.tell(notices) }

    /// Takes in the changes that the watcher saw below the container, and returns whether they are a reason to
    /// exchange.
    func note(_ batch: TreeChangeBatch) -> Bool {
        let isReason = content.note(batch, context, &machine)
        context.log.detail("\(counted(batch.count, "change")) in the container: \(isReason ? "a reason" : "no reason") to exchange")
        return isReason
    }

    /// Whether the store file holds what has not been exchanged: sealed or captured saves, or whatever another process of
    /// this device has committed since the last exchange, such as a request.
    ///
    /// An exchange changes the file too; its own changes are no reason for the next one. It is true if that cannot be
    /// read.
    var hasUnexchanged: Bool { (try? keeper.hasUnexchanged(since: exchangedVersion)) ?? true }

    // MARK: Exchanging

    /// Finds or creates this peer's place in the content, unless another process exchanges for this store.
    ///
    /// A store that had its place and does not find it is suspended, and nothing is created.
    package func start() throws {
        try run(.task(publishesBefore: false), waiting: false) {
            context.publisher.removeDrafts(of: peer, epoch: machine.epoch)
            BaseWriter.removeDraft(of: context.file.path)
            hasRemovedDrafts = true
        }
    }

    /// Starts, unless that has been done completely.
    package func startOnce() throws { if !hasRemovedDrafts { try start() } }

    /// Publishes, imports and writes a receipt once; with `all` it does not wait for more saves.
    package func exchange(all: Bool = false) throws {
        let began = ContinuousClock.now
        var result = ExchangeMetrics.ExchangeResult.failed
        defer { context.record(result, since: began, waiting: machine.peers.waiting) }
        try run(.exchange(all: all))
        result = machine.isPlaced ? .completed : .impossible
        if machine.isPlaced {
            context.log.detail(
                "exchanged in epoch \(machine.epoch) as \(peer) in \(began.elapsed)",
                [.event: "exchanged", .epoch: "\(machine.epoch)", .peer: peer.description, .milliseconds: "\(began.milliseconds)"])
        }
    }

    /// Exchanges without a caller, and returns whether that succeeded.
    ///
    /// The status shows a failure, and the next reason to exchange tries again.
    package func exchangeInBackground() -> Bool {
        do {
            try exchange()
            try fulfilScopeDuties()
            let seen = content.dataVersion
            try fulfilRequest()
            exchangedVersion = seen
            failure = nil
        } catch {
            // A failure that repeats is logged once.
            let reason = String(describing: error)
            if reason != failure { context.log.fault("the exchange has failed: \(reason)", [.event: "exchangeFailed", .error: reason]) }
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
            context.log.exchange("could not exchange, as the caller is told: \(error)", [.event: "exchangeFailed", .error: "\(error)"])
            throw error
        }
        if machine.isPaused || machine.suspended != nil { throw keeper.suspension(machine) }
    }

    /// Takes in what has been fetched of the public place that the store reads.
    package func readPlace() throws {
        machine.forgetListing()
        try exchange()
    }

    /// Publishes the container to a public place.
    ///
    /// - Parameters:
    ///   - directory: the directory of the place.
    ///   - options: the rules.
    /// - Returns: what has been published.
    /// - Throws: `UbiquitousStoreError`, `Errno`, or GRDB's errors.
    package func publishPlace(to directory: FilePath, _ options: PlacePublishing) throws -> PublishedEdition {
        guard let scope = context.scope, scope.place == nil else {
            throw UbiquitousStoreError(
                .unsupported, "\(context.file.path) does not hold all files of a public container, which only a store in its directory does.",
                path: context.file.path)
        }
        try settle()
        var edition: PublishedEdition?
        try run(.task(publishesBefore: true), requiringPlace: true) {
            let publisher = PlacePublisher(
                store: context.file.path, shapes: context.file.shapes, layout: context.layout, contentName: context.contentName,
                directory: scope.directory, keys: scope.keys, to: directory, options: options, now: context.now)
            edition = try publisher.publish()
        }
        return edition!
    }

    /// Publishes and writes a baseline, and returns its number, or nil if a save came in between.
    package func rollNow() throws -> Int64? {
        try refuseInScope("A baseline of everything is not written")
        try run(.roll, requiringPlace: true)
        return machine.rolled?.name.sequence
    }

    /// Rebuilds the store's tables from the content, as a first import would.
    package func rebuild() throws {
        try settle()
        if context.scope != nil { return try rebuildDomains() }
        let began = ContinuousClock.now
        // The container must hold everything that has been sealed since, before the tables are read from it.
        try run(.task(publishesBefore: true), requiringPlace: true) {
            try Rebuild(scope: ExchangeScope(context, content.state)).run(&machine.shelf, since: began)
            machine.forgetOwn()
        }
        try settle()
    }

    /// Rebuilds all domains of a store in a container with a scope.
    private func rebuildDomains() throws {
        try run(.task(publishesBefore: true), requiringPlace: true) { try ScopeKeeper(context: context)?.rebuildAll(&content) }
        try settle()
    }

    /// Signs the next policy of a container with a scope, as its steward.
    ///
    /// - Parameters:
    ///   - takingBack: the logs that the accounts which lose a role lose with it.
    ///   - change: alters the policy.
    /// - Returns: the number of the policy; nil if nothing is to be decided.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device is not the steward.
    package func signPolicy(takingBack: TakingBack = .nothing, _ change: @Sendable (inout Policy) -> Void) throws -> Int64? {
        try settle()
        var version: Int64?
        try run(.task(publishesBefore: true), requiringPlace: true) {
            version = try steward().signPolicy(&content, takingBack: takingBack, change)
        }
        try settle()
        return version
    }

    /// Signs a statement of this device's account that lets only some devices go on.
    ///
    /// - Parameters:
    ///   - removed: the devices that are out from now on.
    ///   - takingBack: the logs of these devices that the account loses.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device does not have the account's key.
    package func removeDevices(_ removed: Set<PeerIdentifier>, takingBack: TakingBack = .nothing) throws {
        try settle()
        try run(.task(publishesBefore: true), requiringPlace: true) {
            try steward().removeDevices(removed, takingBack: takingBack, &content)
        }
        try settle()
    }

    /// Signs a policy that says who changes the records of a new table.
    ///
    /// The owner holds a role that nobody has held yet.
    ///
    /// - Parameters:
    ///   - table: the name of the table.
    ///   - access: who changes its records.
    /// - Returns: the number of the policy; nil if the rule is in effect already.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the table has another rule, or this device is not the steward.
    package func addTable(_ table: String, _ access: TableAccess) throws -> Int64? {
        try settle()
        if let present = content.authority?.policy?.value.access[table], present != access {
            throw UbiquitousStoreError(
                .unsupported,
                "The policy already says who changes the records of \(table), and what accounts have written was judged by that rule; give a new table another name."
            )
        }
        return try signPolicy { policy in
            policy.access[table] = access
            if case .role(let role) = access, policy.roles[role] == nil { policy.roles[role] = [policy.owner] }
        }
    }

    /// Begins a term of a container with a scope, with this device as its steward.
    ///
    /// - Parameter policy: the last policy that counts; nil for the one in effect, or the branches of a fork.
    /// - Returns: the number of the new policy.
    /// - Throws: `UbiquitousStoreError` with `unsupported` if this device has neither the owner's key nor an heir's, or
    ///   `notFound` if the policy is not here.
    package func becomeSteward(after policy: StatementIdentifier? = nil) throws -> Int64 {
        try settle()
        var version: Int64 = 0
        try run(.task(publishesBefore: true), requiringPlace: true) { version = try steward().begin(after: policy, &content) }
        try settle()
        return version
    }

    /// Fulfils what is to be signed in a container with a scope: other programs' requests, and what the steward owes.
    ///
    /// A request that is refused is dropped, so that it is not tried again and again. One that fails for now, because a base
    /// is not here or the disk is full, is tried again with the next exchange. Others are fulfilled nevertheless.
    private func fulfilScopeDuties() throws {
        guard machine.isPlaced, let keeper = ScopeKeeper(context: context) else { return }
        var failure: (any Error)?
        for waiting in try keeper.requests {
            do {
                if let request = waiting.request { try fulfil(request) } else { context.log.fault("a request of a newer version is dropped") }
            } catch {
                context.log.fault("could not \(waiting.request?.words ?? ""): \(error)")
                failure = error
                let refusals: [UbiquitousStoreError.Code] = [.unsupported, .notFound, .contentIncomplete]
                guard let error = error as? UbiquitousStoreError, refusals.contains(error.code) else { continue }
            }
            try keeper.drop(waiting.number)
        }
        if let failure { throw failure }
        guard try steward().owesPolicy(content) else { return }
        _ = try signPolicy { _ in }
    }

    private func fulfil(_ request: ScopeRequest) throws {
        switch request {
        case .grant(let role, let account): _ = try signPolicy { $0.roles[role, default: []].insert(account) }
        case .remove(let role, let account, let takingBack): _ = try signPolicy(takingBack: takingBack) { $0.roles[role]?.remove(account) }
        case .revoke(let peer, let takingBack): try removeDevices([peer], takingBack: takingBack)
        case .merge: _ = try signPolicy { _ in }
        case .limit(let logs, let records):
            _ = try signPolicy { policy in
                policy.limits.logs = logs ?? policy.limits.logs
                policy.limits.records = records ?? policy.limits.records
            }
        case .access(let table, let access): _ = try addTable(table, access)
        case .admission(let admission): _ = try signPolicy { $0.admission = admission }
        case .succeed(let policy): _ = try becomeSteward(after: policy)
        }
    }

    private func steward() throws -> ScopeSteward {
        guard let keeper = ScopeKeeper(context: context) else {
            throw UbiquitousStoreError(
                .unsupported, "\(context.file.path) lies in a container of one account, which has no policies.", path: context.file.path)
        }
        return ScopeSteward(keeper: keeper)
    }

    private func refuseInScope(_ refusal: String) throws {
        guard context.scope != nil else { return }
        throw UbiquitousStoreError(
            .unsupported, "\(refusal) in a container with a scope, which many accounts share: only its policies decide for all of them.",
            path: context.layout.directory)
    }

    /// Returns whether the content holds everything that the store does, so that the file could be rebuilt from it.
    ///
    /// Nothing is exchanged.
    package func isHeldByContent() throws -> Bool { try ReadableContent.holdsAll(of: context, &machine.shelf) }

    /// Ends the epoch for every peer, and enters the next.
    package func removeContent() throws -> ContentRemoval {
        try refuseInScope("The content is not removed")
        var removal: ContentRemoval?
        try run(.task(publishesBefore: false), requiringPlace: true) {
            let next = try EpochEntry(context: context).end(content.state)
            removal = try EpochEntry(context: context).enter(next, &content)
            machine.begin(epoch: next)
            try ReceiptWriter(scope: ExchangeScope(context, content.state)).publish(&machine.peers)
            // The removal is complete when this returns. Any device's next exchange removes files that a crash leaves.
            removeEnded()
        }
        return removal!
    }

    /// Removes the files of ended epochs as far as possible.
    package func removeEnded() { keeper.removeEnded(content, machine) }

    /// Retires a peer at a sequence, and then performs the steps that the retirement makes possible.
    ///
    /// Nobody waits for the peer's logs up to that sequence.
    package func retire(_ peer: PeerIdentifier, at sequence: Int64) throws {
        try refuseInScope("A peer is not retired")
        try run(.task(publishesBefore: false), requiringPlace: true) {
            try receipts.retire(peer, at: sequence, content.state, awaits: machine.peers.waiting.flatMap(\.awaited))
        }
        try exchange(all: true)
    }

    /// Returns whether the store holds every log that a peer has written or states that it holds.
    ///
    /// Nil means all peers that are not retired.
    package func isCaughtUp(to peer: PeerIdentifier?) throws -> Bool { try currentInPlace().isCaughtUp(to: peer) }

    /// Returns whether the store has read everything that can be read.
    package func hasGathered() throws -> Bool { try currentInPlace().hasGathered(machine.peers.waiting) }

    private func currentInPlace() throws -> CurrencyCheck {
        try run(.place, requiringPlace: true)
        return currency
    }

    /// Takes in a batch of a seed, and returns its progress, or nil if another device has completed the seed.
    package func seed(_ batch: SeedBatch, after before: PendingSeed) throws -> PendingSeed? {
        let seeding = SeedExchange(context: context)
        if try seeding.needsPlace() { try run(.place) }
        let pending = try locked { try seeding.take(batch, after: before) }
        seeding.finish()
        return pending
    }

    // MARK: Answers and requests

    /// Settles, and first applies the policy, or another program's request, if the content is gone.
    package func settleByPolicy() async throws {
        try await WipeAnswers(context: context).settle(by: self)
        do {
            try fulfilScopeDuties()
        } catch {
            // The caller has not asked for it.
            context.log.fault("a request about the container's statements could not be fulfilled: \(error)")
        }
    }

    /// Applies the policy if the content is gone, asks the app if that is allowed, and returns whether anything was
    /// done.
    func answerWipe(asking: Bool) async throws -> Bool {
        var step = machine.absence.step(by: machine.rules.wipes, asking: asking)
        if case .ask(let reason) = step, case .ask(let question) = context.wipePolicy {
            let answer = await question(reason)
            // The content may have come back while the app answered.
            guard isWiped, !Task.isCancelled else { return false }
            machine.absence.answered(answer)
            step = machine.absence.step(by: machine.rules.wipes, asking: false)
        }
        guard case .carryOut(let answer) = step else { return false }
        try answerWipe(answer)
        return true
    }

    /// Carries out an answer to missing content, which may come from another program's request.
    package func answerWipe(_ answer: WipePolicy.Answer, asked: StoreRequest? = nil) throws {
        if answer != .wait { try WipeAnswers(context: context).carryOut(answer, asked: asked, by: self) }
    }

    /// Fulfils another program's request, if that is possible now.
    func fulfilRequest() throws { try WipeAnswers(context: context).fulfilRequest(by: self) }

    /// Pauses or resumes the exchange.
    package func setPaused(_ paused: Bool) throws {
        try WipeAnswers(context: context).setPaused(paused)
        // No exchange of this actor is under way, because an actor runs one call at a time. One in another process ends
        // by itself.
        machine.setPaused(paused)
    }
}
