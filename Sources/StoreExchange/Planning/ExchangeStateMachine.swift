internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Decides the order of the steps of an exchange, from their outcomes and the time.
///
/// It is pure: it does no I/O and reads no clock. ``ExchangeRunner`` begins some ``Work``, performs each ``step``, and
/// reports its outcome to ``receive(_:at:)``, until the step is `wait` or `fail`. Performers enter what they read about
/// baselines in ``shelf``, and about other peers in ``peers``.
struct ExchangeStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Step = ExchangeStep
    typealias Work = ExchangeWork

    /// The stage of the work.
    private enum Stage { case placing, publishing, importing, maintaining, rolling, failing(isErrno: Bool) }

    let rules: ExchangeRules
    private(set) var step: Step = .wait(until: nil)
    var shelf = BaselineShelf()
    var peers = PeerDirectory()
    private(set) var epoch: Int64
    /// Whether the inventory is up to date; if not, everything is listed again.
    private(set) var isListed = false
    var absence = ContentAbsence()
    /// Whether the exchange is paused by a person or a program.
    private(set) var isPaused = false
    /// The request of another program, as last read.
    var request: StoreRequest?
    private var alarms: ExchangeAlarms
    /// Whether the store has its place and has adopted the rows that were in its tables before.
    private(set) var isPlaced = false
    /// The baseline that this work has written.
    private(set) var rolled: BaselineID?

    private var work = Work.place
    private var waits = true
    private var stage = Stage.placing
    private var standing = ExchangeOutcome.Standing()
    private var marked: Int64?
    private var rounds = ImportRounds()
    /// Whether this work examines what can be trimmed or written as a baseline.
    private var isDue = false

    /// Creates a machine for a store about which nothing is known yet.
    init(_ rules: ExchangeRules, epoch: Int64, at now: Instant) {
        self.rules = rules
        self.epoch = epoch
        alarms = ExchangeAlarms(at: now)
    }

    // MARK: State

    /// Why the store's place is gone; nil while it is there.
    var suspended: ContainerAttachment.Reason? { absence.reason }

    /// The time at which the exchange has work without a new event; nil for never, and while the container is awaited.
    var nextTime: Instant? { suspended == nil && !isPaused ? [alarms.next, shelf.nextTime].compactMap { $0 }.min() : nil }

    /// Whether the machine is importing, which observers are told.
    var isImporting: Bool { if case .importing = stage { true } else { false } }

    /// Marks the inventory as out of date.
    mutating func forgetListing() { isListed = false }

    /// Marks the inventory and this store's own receipt as unknown.
    mutating func forgetOwn() {
        isListed = false
        peers.lastReceipt = nil
    }

    /// Pauses or resumes the exchange.
    mutating func setPaused(_ paused: Bool) {
        isPaused = paused
        if !paused { isListed = false }
    }

    /// Records that a receipt has arrived, and returns whether it is the first, which sets the alarm.
    mutating func noteReceipt(at now: Instant) -> Bool { alarms.noteReceipt(at: now) }

    /// Enters an epoch, and forgets the files of the previous one.
    mutating func begin(epoch: Int64) {
        guard self.epoch != epoch else { return }
        self.epoch = epoch
        isListed = false
        alarms.endMaintenance()
        shelf.forget()
        peers.forget()
    }

    // MARK: Transitions

    /// Begins some work.
    ///
    /// - Parameters:
    ///   - work: the purpose of the exchange.
    ///   - waiting: whether to wait for another process that exchanges, and to adopt rows, which can take long.
    mutating func begin(_ work: Work, waiting: Bool = true) {
        (self.work, waits, rolled) = (work, waiting, nil)
        start()
    }

    private mutating func start() { (stage, step, isPlaced) = (.placing, .takeLease(waiting: waits), false) }

    private mutating func rest() { step = .wait(until: nextTime) }

    /// Takes the outcome of the present step, and moves to the next step.
    ///
    /// - Parameters:
    ///   - outcome: a possible outcome of the step.
    ///   - now: the time of the outcome.
    mutating func receive(_ outcome: ExchangeOutcome, at now: Instant) {
        switch (step, outcome) {
        case (_, .gaveWay): start()
        case (_, .failed(let isErrno)): fail(isErrno: isErrno)

        case (.takeLease, .leased(true)): step = .look
        case (.look, .standing(let found)):
            (standing, isPaused, request, marked) = (found, found.isPaused, found.request, nil)
            if found.hasContainer, !isPaused { step = .readMarks } else { adoptOr { $0.rest() } }
        case (.adopt, .adopted(true)):
            standing.isAdopting = false
            if !standing.hasContainer || isPaused { rest() } else { goOnAdopted() }
        case (.readMarks, .marked(let epoch)):
            marked = epoch
            if isBehind { adoptOr { $0.goOnAdopted() } } else { step = .checkAttachment }
        case (.enter(let epoch), .done):
            begin(epoch: epoch)
            standing.epoch = epoch
            step = .checkAttachment
        case (.checkAttachment, .attachment(let found)):
            switch absence.found(found) {
            case .none: if suspended == nil { goOnAttached() } else { rest() }
            case .cameBack: (isListed, step) = (false, .resume)
            case .wentAway(let reason): step = .suspend(reason)
            }
        case (.resume, .done): goOnAttached()
        case (.restoreMark, .done): findPlace()
        case (.findPlace, .place(let epoch, let isRenewed)):
            standing.epoch = epoch
            if isRenewed { forgetOwn() }
            adoptOr { $0.goOnAdopted() }
        case (.attach, .done):
            standing.isAttached = true
            goOnAdopted()
        case (.findStranger, .stranger(true)): step = .takeNewIdentifier
        case (.findStranger, .stranger(false)):
            begin(epoch: standing.epoch)
            goOnPlaced()
        case (.takeNewIdentifier, .done):
            forgetOwn()
            if !isImporting { step = .findStranger(amongAll: true) } else if rounds.isFirst { survey(hasJoined: true) } else { step = .giveWay }

        case (.checkOutbox, .outbox(let hasWork, let hasLogs)):
            guard hasLogs || alarms.closing != nil else { return goOnPublished() }
            if hasWork {
                step = .seal(isDue: publishesAll || rules.maximumDelay == nil || alarms.isClosingDue(at: now))
                return
            }
            release(waits: false, at: now)
        case (.seal, .sealed(let waits)): release(waits: waits, at: now)
        case (.publish, .done): goOnPublished()

        case (.recheck, .done): step = isListed ? .listFaulty : .removeEnded
        case (.removeEnded, .done), (.listFaulty, .done):
            if case .failing(let isErrno) = stage { return explain(isErrno: isErrno) }
            (stage, rounds) = (.importing, ImportRounds())
            goOnImporting()
        case (.list, .done):
            isListed = true
            switch stage {
            case .rolling: step = .roll
            case .maintaining: step = .readReceipts
            default: goOnImporting()
            }
        case (.surveyBaselines, .baselines(let news, let isForked, let knowsOthers)):
            guard !isForked else {
                step = .takeNewIdentifier
                return
            }
            shelf.keepLater(of: news)
            rounds.consider(news, knowsOthers: knowsOthers)
            joinNext(at: now)
        case (.passOver, .done): joinNext(at: now)
        case (.joinBaseline(let id, _), .baseline(isJoined: true)):
            shelf.contained.insert(id)
            isListed = false
            survey(hasJoined: true)
        case (.joinBaseline, .baseline(isJoined: false)): joinNext(at: now)
        case (.plan, .plan(let ready, let isFull, let isForked, let waiting)):
            peers.waiting = waiting
            rounds.planned(ready: ready, isFull: isFull, isForked: isForked)
            if ready > 0 { step = .joinLogs } else { goOnJoined() }
        case (.joinLogs, .logs(let isRefused)):
            if isRefused { rounds.refused() }
            goOnJoined()
        case (.giveWay, .done): goOnImporting()
        case (.findHoles, .holes(let arePossible)):
            guard arePossible else {
                step = .unite
                return
            }
            rounds.pass()
            goOnImporting()
        case (.unite, .done): step = .publish
        case (.publishReceipt, .done): maintain(at: now)

        case (.countLoose, .loose(let logs)):
            let areMany = rules.baselines.map { logs >= $0.logs } ?? false
            if isDue { step = areMany ? .roll : .checkAwaited } else if areMany { readReceipts() } else { rest() }
        case (.readReceipts, .receipts(let listing)):
            peers.take(listing)
            if case .rolling = stage {
                step = .trim
                return
            }
            let silent = peers.silent(for: rules.silenceLimit)
            if silent.isEmpty { measure() } else { step = .retire(silent) }
        case (.retire(let silent), .done):
            peers.retire(silent)
            step = .checkOutbox
        case (.measureLoose, .measured(let bytes)):
            shelf.measured(bytes)
            considerRolling()
        case (.checkAwaited, .awaited(let isAwaited)): step = isAwaited ? .roll : .checkStranded
        case (.checkStranded, .stranded(true)): step = alarms.isStrandedLong(isEager: isEager, at: now) ? .roll : .trim
        case (.checkStranded, .stranded(false)): trim()
        case (.roll, .rolled(let id)):
            rolled = id
            if let id { shelf.rolled(id) }
            if case .rolling = stage { step = .readReceipts } else { step = .trim }
        case (.takeLease, .leased(false)), (.adopt, .adopted(false)), (.suspend, .done), (.trim, .done), (.performTask, .done): rest()
        default: preconditionFailure("\(outcome) is no outcome of \(step)")
        }
    }

    // MARK: Placing

    private var isBehind: Bool { marked.map { $0 > standing.epoch } ?? false }

    /// Adopts rows before everything else, because an import would meet rows without registers.
    private mutating func adoptOr(_ goOn: (inout Self) -> Void) {
        guard standing.isAdopting else { return goOn(&self) }
        if waits { step = .adopt } else { rest() }
    }

    private mutating func goOnAdopted() {
        if isBehind {
            step = .enter(epoch: marked!)
        } else {
            step = standing.isAttached ? .findStranger(amongAll: !isListed) : .attach
        }
    }

    private mutating func goOnAttached() {
        if case .failing = stage {
            step = .fail(isExplained: true)
            return
        }
        // The other peers also need a mark of this epoch if the mark has been lost.
        if let marked, marked < standing.epoch { step = .restoreMark } else { findPlace() }
    }

    private mutating func findPlace() {
        if standing.isAttached { adoptOr { $0.goOnAdopted() } } else { step = .findPlace }
    }

    private mutating func goOnPlaced() {
        (stage, isPlaced) = (.publishing, true)
        switch work {
        case .place: rest()
        case .task(publishesBefore: false): step = .performTask
        case .publish, .exchange, .roll, .task(publishesBefore: true): step = .checkOutbox
        }
    }

    // MARK: Publishing

    private var isEager: Bool { work == .exchange(all: true) }

    private var publishesAll: Bool {
        if case .publishing = stage { return work != .exchange(all: false) }
        return true
    }

    private mutating func release(waits: Bool, at now: Instant) {
        alarms.sealed(waitingFor: waits ? rules.maximumDelay : nil, at: now)
        step = .publish
    }

    private mutating func goOnPublished() {
        switch (stage, work) {
        case (.importing, _): step = .publishReceipt
        case (.maintaining, _): measure()
        case (_, .exchange): step = .recheck
        case (_, .roll):
            stage = .rolling
            step = isListed ? .roll : .list
        case (_, .task): step = .performTask
        case (_, .place), (_, .publish): rest()
        }
    }

    // MARK: Importing

    private mutating func goOnImporting() {
        guard isListed else {
            step = .list
            return
        }
        if rounds.isFirst { peers.waiting = [] }
        step = rounds.isFirst ? .surveyBaselines : .plan(isPassing: rounds.isPassing)
    }

    private mutating func joinNext(at now: Instant) {
        guard let news = rounds.nextCandidate() else { return survey(hasJoined: false) }
        switch shelf.decide(news, isFirst: rounds.isFirst, isEager: isEager, knowsOthers: rounds.knowsOthers, at: now) {
        case .join: step = .joinBaseline(news.id, lag: news.lag)
        case .passOver(let obstacle):
            if case .schema(let obstacle, let authors) = obstacle { peers.wait(for: news.id, obstacle: obstacle, authors: authors) }
            step = .passOver(news.id, obstacle)
        }
    }

    /// Ends a look at the baselines, which stops after one has been joined.
    private mutating func survey(hasJoined: Bool) {
        if rounds.isFirst {
            rounds.endFirst()
            goOnImporting()
        } else if hasJoined {
            step = .giveWay
        } else {
            step = rounds.mayPass(peers, shelf) ? .findHoles : .unite
        }
    }

    private mutating func goOnJoined() { step = rounds.isForked ? .takeNewIdentifier : rounds.isFull ? .giveWay : .surveyBaselines }

    // MARK: Maintaining

    private mutating func maintain(at now: Instant) {
        guard !rules.isScoped else { return rest() }
        stage = .maintaining
        isDue = isEager || alarms.isMaintenanceDue(at: now)
        // An exchange without this reason makes no file system calls.
        switch isDue ? true : hasManyLooseBytes {
        case true?: readReceipts()
        case false?: rest()
        case nil: step = .countLoose
        }
    }

    private mutating func readReceipts() {
        isDue = true
        alarms.endMaintenance()
        step = isListed ? .readReceipts : .list
    }

    /// Whether logs outside any baseline have the size at which one is due; nil if their number decides.
    private var hasManyLooseBytes: Bool? {
        guard let policy = rules.baselines, peers.lastReceipt != nil else { return false }
        return shelf.looseBytes >= policy.bytes ? true : nil
    }

    private mutating func measure() {
        if let policy = rules.baselines, shelf.needsMeasure(policy) { step = .measureLoose } else { considerRolling() }
    }

    private mutating func considerRolling() {
        switch hasManyLooseBytes {
        case true?: step = .roll
        case false?: trim()
        case nil: step = .countLoose
        }
    }

    private mutating func trim() {
        alarms.forgetStranded()
        step = .trim
    }

    // MARK: Failing

    private mutating func fail(isErrno: Bool) {
        // The planned logs are no longer in the inventory.
        switch (stage, step) {
        case (.importing, .plan), (.importing, .joinLogs): isListed = false
        case (.importing, _) where rounds.isFirst: isListed = false
        default: break
        }
        switch (stage, work) {
        case (.publishing, .publish), (.publishing, .exchange):
            guard step.isOfPublishing else { return explain(isErrno: isErrno) }
            // Files of ended epochs may fill the disk. Their removal makes room for the next attempt.
            (stage, step) = (.failing(isErrno: isErrno), .removeEnded)
        default: explain(isErrno: isErrno)
        }
    }

    /// Examines the attachment after a failure: a missing attachment is the reason; otherwise the failure needs repair.
    private mutating func explain(isErrno: Bool) {
        let isLooking = step == .takeLease(waiting: waits) || step == .look || !standing.hasContainer || isPaused
        if isErrno, !isLooking, step != .checkAttachment {
            (stage, step) = (.failing(isErrno: true), .checkAttachment)
        } else {
            step = .fail(isExplained: false)
        }
    }
}
