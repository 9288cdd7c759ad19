internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// The order of an exchange, and the reasons for it: outcomes and instants in; one step at a time out.
///
/// Pure: no I/O, no clock. ``ExchangeRunner`` begins some ``Work``, performs each ``step`` and says by ``receive(_:at:)`` how it went, until the
/// step is `wait` or `fail`. What is known of baselines and of peers lies in ``shelf`` and ``peers``, in which performers enter what they read.
struct ExchangeStateMachine: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias Step = ExchangeStep
    typealias Work = ExchangeWork

    /// What is under way.
    private enum Stage { case placing, publishing, importing, maintaining, rolling, failing(isErrno: Bool) }

    let rules: ExchangeRules
    private(set) var step: Step = .wait(until: nil)
    var shelf = BaselineShelf()
    var peers = PeerDirectory()
    private(set) var epoch: Int64
    /// Whether the inventory says what is there; else everything is listed again.
    private(set) var isListed = false
    var absence = ContentAbsence()
    /// Whether nothing goes out or in because somebody wants that.
    private(set) var isPaused = false
    /// What another program has asked for, when last looked at.
    var request: StoreRequest?
    private var alarms: ExchangeAlarms
    /// Whether the store has its place, and what was in its tables before has been taken over.
    private(set) var isPlaced = false
    /// The baseline that has been written.
    private(set) var rolled: BaselineID?

    private var work = Work.place
    private var waits = true
    private var stage = Stage.placing
    private var standing = ExchangeOutcome.Standing()
    private var marked: Int64?
    private var rounds = ImportRounds()
    /// Whether it has been decided to look at what can be trimmed or rolled.
    private var isDue = false

    /// A machine for a store of which nothing has been looked at.
    init(_ rules: ExchangeRules, epoch: Int64, at now: Instant) {
        self.rules = rules
        self.epoch = epoch
        alarms = ExchangeAlarms(at: now)
    }

    // MARK: What is so

    /// Why the store's place is gone; nil while it is there.
    var suspended: ContainerAttachment.Reason? { absence.reason }

    /// When there is something to do though nothing happens; nil for never, and while the container is awaited.
    var nextTime: Instant? { suspended == nil && !isPaused ? [alarms.next, shelf.nextTime].compactMap { $0 }.min() : nil }

    /// Whether a step that is under way imports, of which observers are told.
    var isImporting: Bool { if case .importing = stage { true } else { false } }

    /// Nothing is known of what is there.
    mutating func forgetListing() { isListed = false }

    /// Nothing is known of what is there, nor of this store's own receipt.
    mutating func forgetOwn() {
        isListed = false
        peers.lastReceipt = nil
    }

    /// Somebody lets nothing go out or in, or everything again.
    mutating func setPaused(_ paused: Bool) {
        isPaused = paused
        if !paused { isListed = false }
    }

    /// A receipt has come; whether it is the first, which sets the alarm.
    mutating func noteReceipt(at now: Instant) -> Bool { alarms.noteReceipt(at: now) }

    /// The store is in an epoch; what was known of another's files is forgotten.
    mutating func begin(epoch: Int64) {
        guard self.epoch != epoch else { return }
        self.epoch = epoch
        isListed = false
        alarms.endMaintenance()
        shelf.forget()
        peers.forget()
    }

    // MARK: Going

    /// Begins.
    ///
    /// - Parameters:
    ///   - work: what is wanted.
    ///   - waiting: whether another process that exchanges is waited for, and rows are taken over that take their time.
    mutating func begin(_ work: Work, waiting: Bool = true) {
        (self.work, waits, rolled) = (work, waiting, nil)
        start()
    }

    private mutating func start() { (stage, step, isPlaced) = (.placing, .takeLease(waiting: waits), false) }

    private mutating func rest() { step = .wait(until: nextTime) }

    /// Learns how the present step went, and goes over to the next.
    ///
    /// - Parameters:
    ///   - outcome: one that the step can have.
    ///   - now: when that is.
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

    /// What is to be taken over goes before everything else: an import would meet rows that it does not know.
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
        // The others, too, learn of an epoch whose mark has been lost.
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

    /// The baselines have been looked through, up to one that has been joined.
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
        stage = .maintaining
        isDue = isEager || alarms.isMaintenanceDue(at: now)
        // An exchange that has nothing to do with it asks no file system.
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

    /// Whether so many bytes of logs are in no baseline that one is due; nil where that is for their number to say.
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
        // What had been planned is no longer in the inventory.
        switch (stage, step) {
        case (.importing, .plan), (.importing, .joinLogs): isListed = false
        case (.importing, _) where rounds.isFirst: isListed = false
        default: break
        }
        switch (stage, work) {
        case (.publishing, .publish), (.publishing, .exchange):
            guard step.isOfPublishing else { return explain(isErrno: isErrno) }
            // What fills the disk may be the files of ended epochs: then the next attempt finds room.
            (stage, step) = (.failing(isErrno: isErrno), .removeEnded)
        default: explain(isErrno: isErrno)
        }
    }

    /// Where something went while it was looked at: if it is the attachment, that is the reason; else a person must repair it.
    private mutating func explain(isErrno: Bool) {
        let isLooking = step == .takeLease(waiting: waits) || step == .look || !standing.hasContainer || isPaused
        if isErrno, !isLooking, step != .checkAttachment {
            (stage, step) = (.failing(isErrno: true), .checkAttachment)
        } else {
            step = .fail(isExplained: false)
        }
    }
}
