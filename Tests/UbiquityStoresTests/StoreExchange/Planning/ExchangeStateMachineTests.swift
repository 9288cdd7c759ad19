import Foundation
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// The order of an exchange, as tables: what has been found so far, and the step that follows.
struct ExchangeStateMachineTests {
    /// A situation, told by the outcomes that lead to it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var work = ExchangeWork.exchange(all: false)
        var rules = ExchangeRules()
        /// What happens before; an exchange of which nothing is left to tell, where it is nil.
        var before: [ExchangeOutcome]?
        /// How much later the work begins.
        var later = Duration.zero
        var waiting = true
        var outcomes: [ExchangeOutcome]
        let step: ExchangeStep

        init(
            _ situation: String, _ work: ExchangeWork = .exchange(all: false), rules: ExchangeRules = ExchangeRules(),
            before: [ExchangeOutcome]? = nil, later: Duration = .zero, waiting: Bool = true, after outcomes: [ExchangeOutcome],
            then step: ExchangeStep
        ) {
            (testDescription, self.work, self.rules, self.before, self.later) = (situation, work, rules, before, later)
            (self.waiting, self.outcomes, self.step) = (waiting, outcomes, step)
        }
    }

    private static let start = ContinuousClock.now
    private static let account = PeerIdentifier(account: "alice", uuid: UUID(uuidString: "00000000-0000-0000-0000-000000000001")!)
    private static let waits = [WaitingPeer(peer: "bob", sequence: 3, reason: .files([]), logs: 1)]

    private static func id(_ number: Int64) -> BaselineID {
        BaselineID(peer: account, name: BaselineName(sequence: number, hash: ContentHash(of: [UInt8(number)])))
    }

    private static func news(_ number: Int64, lag: Int64, obstacle: BaselineShelf.Obstacle? = nil) -> BaselineShelf.News {
        BaselineShelf.News(id: id(number), lag: lag, obstacle: obstacle)
    }

    // The parts of an exchange, each as far as it goes when nothing is out of the ordinary.
    private static let looked: [ExchangeOutcome] = [.leased(true), .standing(.init())]
    private static let placed = looked + [.marked(1), .attachment(.attached), .stranger(false)]
    private static let published = placed + [.outbox(hasWork: false, hasLogs: true), .done]
    private static let listed = published + [.done, .done, .done]
    private static let surveyed = listed + [.baselines([], isForked: false, knowsOthers: true)]
    private static let nothing = ExchangeOutcome.plan(ready: 0, isFull: false, isForked: false, waiting: [])
    private static let planned = surveyed + [nothing, .baselines([], isForked: false, knowsOthers: true)]
    private static let told = planned + [.done, .done, .done]

    private static func standing(_ change: (inout ExchangeOutcome.Standing) -> Void) -> ExchangeOutcome {
        var standing = ExchangeOutcome.Standing()
        change(&standing)
        return .standing(standing)
    }

    private static func plan(_ ready: Int, isFull: Bool = false, isForked: Bool = false, waits: Bool = false) -> ExchangeOutcome {
        .plan(ready: ready, isFull: isFull, isForked: isForked, waiting: waits ? Self.waits : [])
    }

    private static func baselines(_ news: [BaselineShelf.News] = [], isForked: Bool = false, knowsOthers: Bool = true) -> ExchangeOutcome {
        .baselines(news, isForked: isForked, knowsOthers: knowsOthers)
    }

    private static func run(_ row: Row) -> ExchangeStateMachine {
        var machine = ExchangeStateMachine(row.rules, epoch: 1, at: start)
        if let before = row.before {
            machine.begin(.exchange(all: false))
            for outcome in before { machine.receive(outcome, at: start) }
        }
        machine.begin(row.work, waiting: row.waiting)
        for outcome in row.outcomes { machine.receive(outcome, at: start + row.later) }
        return machine
    }

    private static let placingRows: [Row] = [
        Row("the lease comes first", after: [], then: .takeLease(waiting: true)),
        Row("nobody waits for another process", waiting: false, after: [.leased(false)], then: .wait(until: start)),
        Row("a paused store does nothing", after: [.leased(true), standing { $0.isPaused = true }], then: .wait(until: nil)),
        Row("rows of a paused store become saves", after: [.leased(true), standing { ($0.isPaused, $0.isAdopting) = (true, true) }], then: .adopt),
        Row(
            "a file without a container adopts, and stops",
            after: [.leased(true), standing { ($0.hasContainer, $0.isAdopting) = (false, true) }, .adopted(true)], then: .wait(until: start)),
        Row("the marks are read before the place is looked at", after: looked, then: .readMarks),
        Row("a later epoch is entered", after: looked + [.marked(2)], then: .enter(epoch: 2)),
        Row(
            "rows are adopted before a later epoch is entered",
            after: [.leased(true), standing { $0.isAdopting = true }, .marked(2)], then: .adopt),
        Row(
            "nobody waits for the adoption that goes before an epoch", waiting: false,
            after: [.leased(true), standing { $0.isAdopting = true }, .marked(2)], then: .wait(until: start)),
        Row("the place is looked at after the epoch", after: looked + [.marked(2), .done], then: .checkAttachment),
        Row("a place that is gone suspends", after: looked + [.marked(nil), .attachment(.detached(.contentGone))], then: .suspend(.contentGone)),
        Row(
            "a suspended store waits for no time", after: looked + [.marked(nil), .attachment(.detached(.contentGone)), .done],
            then: .wait(until: nil)),
        Row(
            "a place that is still gone is told once", before: looked + [.marked(nil), .attachment(.detached(.contentGone)), .done],
            after: looked + [.marked(nil), .attachment(.detached(.contentGone))], then: .wait(until: nil)),
        Row(
            "a place that is back resumes", before: looked + [.marked(nil), .attachment(.detached(.contentGone)), .done],
            after: looked + [.marked(1), .attachment(.attached)], then: .resume),
        Row(
            "after an absence all files are looked at", before: looked + [.marked(nil), .attachment(.detached(.contentGone)), .done],
            after: looked + [.marked(1), .attachment(.attached), .done], then: .findStranger(amongAll: true)),
        Row(
            "a lost mark is written again", after: [.leased(true), standing { $0.epoch = 3 }, .marked(2), .attachment(.attached)], then: .restoreMark),
        Row(
            "a new store finds its place",
            after: [.leased(true), standing { $0.isAttached = false }, .marked(nil), .attachment(.attached)], then: .findPlace),
        Row(
            "a new store adopts in its place before it is attached",
            after: [
                .leased(true), standing { ($0.isAttached, $0.isAdopting) = (false, true) }, .marked(nil), .attachment(.attached),
                .place(epoch: 1, isRenewed: false),
            ], then: .adopt),
        Row(
            "a new store that has adopted is attached",
            after: [
                .leased(true), standing { ($0.isAttached, $0.isAdopting) = (false, true) }, .marked(nil), .attachment(.attached),
                .place(epoch: 1, isRenewed: false), .adopted(true),
            ], then: .attach),
        Row(
            "a stranger's log makes the store take another identifier",
            after: looked + [.marked(1), .attachment(.attached), .stranger(true)], then: .takeNewIdentifier),
        Row(
            "after that all files are looked at again",
            after: looked + [.marked(1), .attachment(.attached), .stranger(true), .done], then: .findStranger(amongAll: true)),
        Row("where only the place is wanted that is all", .place, after: placed, then: .wait(until: start)),
        Row("a task is done in the place", .task(publishesBefore: false), after: placed, then: .performTask),
    ]

    private static let coalescing = ExchangeRules(maximumDelay: .seconds(3))

    private static let publishingRows: [Row] = [
        Row("the outbox is looked at first", after: placed, then: .checkOutbox),
        Row(
            "what is noted is sealed, and due at once without coalescing",
            after: placed + [.outbox(hasWork: true, hasLogs: true)], then: .seal(isDue: true)),
        Row(
            "what an earlier process left goes out at once", rules: coalescing,
            after: placed + [.outbox(hasWork: true, hasLogs: true)], then: .seal(isDue: true)),
        Row(
            "a later save waits for more", rules: coalescing, before: told,
            after: placed + [.outbox(hasWork: true, hasLogs: true)], then: .seal(isDue: false)),
        Row(
            "publishing all waits for nothing", .publish, rules: coalescing, before: told,
            after: placed + [.outbox(hasWork: true, hasLogs: true)], then: .seal(isDue: true)),
        Row(
            "with nothing noted only what is sealed goes out", before: told, after: placed + [.outbox(hasWork: false, hasLogs: true)], then: .publish),
        Row("with nothing at all nothing is published", before: told, after: placed + [.outbox(hasWork: false, hasLogs: false)], then: .recheck),
        Row(
            "the alarm is set for logs that wait", .publish, rules: coalescing, before: told,
            after: placed + [.outbox(hasWork: true, hasLogs: true), .sealed(waits: true), .done], then: .wait(until: start + .seconds(3))),
        Row(
            "before a rebuild all is published", .task(publishesBefore: true),
            after: placed + [.outbox(hasWork: true, hasLogs: true), .sealed(waits: false), .done], then: .performTask),
        Row("where publishing fails room is made", after: placed + [.failed(isErrno: true)], then: .removeEnded),
        Row("then it is seen whether the place is there", after: placed + [.failed(isErrno: true), .done], then: .checkAttachment),
        Row(
            "an error of the file system in a place that is there is explained",
            after: placed + [.failed(isErrno: true), .done, .attachment(.attached)], then: .fail(isExplained: true)),
        Row(
            "a place that went away explains itself",
            after: placed + [.failed(isErrno: true), .done, .attachment(.detached(.rootGone))], then: .suspend(.rootGone)),
        Row("another error is thrown as it is", after: placed + [.failed(isErrno: false), .done], then: .fail(isExplained: false)),
        Row(
            "another process comes first, and all begins again", after: placed + [.outbox(hasWork: false, hasLogs: true), .gaveWay],
            then: .takeLease(waiting: true)),
    ]

    private static let importingRows: [Row] = [
        Row("what is broken is looked at again after publishing", after: published, then: .recheck),
        Row("ended epochs are removed when everything is listed", after: published + [.done], then: .removeEnded),
        Row("else only faulty directories are listed", before: told, after: published + [.done], then: .listFaulty),
        Row("everything is listed the first time", after: published + [.done, .done], then: .list),
        Row("baselines are looked at before logs", after: listed, then: .surveyBaselines),
        Row("a baseline far ahead is joined first", after: listed + [baselines([news(1, lag: 500)])], then: .joinBaseline(id(1), lag: 500)),
        Row(
            "the one that holds most comes first",
            after: listed + [baselines([news(1, lag: 900), news(2, lag: 700)])], then: .joinBaseline(id(1), lag: 900)),
        Row(
            "a baseline a little ahead does not go before the logs",
            after: listed + [baselines([news(1, lag: 499)])], then: .passOver(id(1), .fewLogs(499))),
        Row(
            "after a baseline everything is listed",
            after: listed + [baselines([news(1, lag: 500)]), .baseline(isJoined: true)], then: .list),
        Row(
            "after a damaged one the next is considered",
            after: listed + [baselines([news(1, lag: 900), news(2, lag: 700)]), .baseline(isJoined: false)], then: .joinBaseline(id(2), lag: 700)),
        Row("then logs are planned", after: surveyed, then: .plan(isPassing: false)),
        Row("what is ready is joined", after: surveyed + [plan(5)], then: .joinLogs),
        Row("a full plan makes room for others, and goes on", after: surveyed + [plan(5, isFull: true), .logs(isRefused: false)], then: .giveWay),
        Row("behind a refused log there may be more", after: surveyed + [plan(5), .logs(isRefused: true)], then: .giveWay),
        Row(
            "between batches nothing is listed", after: surveyed + [plan(5, isFull: true), .logs(isRefused: false), .done],
            then: .plan(isPassing: false)),
        Row(
            "a log under this identifier that is not remembered makes it take another",
            after: surveyed + [plan(0, isForked: true)], then: .takeNewIdentifier),
        Row("then everything is listed again", after: surveyed + [plan(0, isForked: true), .done, .done], then: .list),
        Row("so does a baseline that holds one", after: listed + [baselines(isForked: true)], then: .takeNewIdentifier),
        Row("with everything listed again before logs are planned", after: listed + [baselines(isForked: true), .done], then: .list),
        Row("when no log is ready baselines are looked at again", after: surveyed + [plan(2), .logs(isRefused: false)], then: .surveyBaselines),
        Row(
            "a store that knows nothing waits for no log",
            after: surveyed + [nothing, baselines([news(1, lag: 2)], knowsOthers: false)], then: .joinBaseline(id(1), lag: 2)),
        Row(
            "another waits for the logs of a baseline", after: surveyed + [nothing, baselines([news(1, lag: 2)])], then: .passOver(id(1), .fewLogs(2))
        ),
        Row(
            "unless nothing may be waited for", .exchange(all: true),
            after: surveyed + [nothing, baselines([news(1, lag: 2)])], then: .joinBaseline(id(1), lag: 2)),
        Row(
            "a baseline that needs an update is not joined", .exchange(all: true),
            after: surveyed + [nothing, baselines([news(1, lag: 2, obstacle: .schema(obstacle: "it is new", authors: "v9"))])],
            then: .passOver(id(1), .schema(obstacle: "it is new", authors: "v9"))),
        Row(
            "where something waits and nothing helps it is seen what can be passed over",
            after: surveyed + [plan(0, waits: true), baselines()], then: .findHoles),
        Row(
            "not while the logs of a baseline are awaited",
            after: surveyed + [plan(0, waits: true), baselines([news(1, lag: 2)]), .done], then: .unite),
        Row("logs are passed over", after: surveyed + [plan(0, waits: true), baselines(), .holes(arePossible: true)], then: .plan(isPassing: true)),
        Row(
            "once", after: surveyed + [plan(0, waits: true), baselines(), .holes(arePossible: true), plan(0, waits: true), baselines()], then: .unite),
        Row(
            "and no longer when that has helped",
            after: surveyed + [plan(0, waits: true), baselines(), .holes(arePossible: true), plan(1, waits: true), .logs(isRefused: false), .done],
            then: .plan(isPassing: false)),
        Row("not where there can be no holes", after: surveyed + [plan(0, waits: true), baselines(), .holes(arePossible: false)], then: .unite),
        Row("what is marked is resolved at the end", after: planned, then: .unite),
        Row("what that seals goes out", after: planned + [.done], then: .publish),
        Row("then it is told", after: planned + [.done, .done], then: .publishReceipt),
        Row(
            "what was planned and failed is listed again", before: surveyed + [plan(5), .failed(isErrno: false)],
            after: published + [.done], then: .removeEnded),
    ]

    private static let small = ExchangeRules(baselines: BaselinePolicy(logs: 10, bytes: 100))
    private static let readAll = told + [.receipts(PeerDirectory.Listing())]

    private static let maintainingRows: [Row] = [
        Row("nothing is maintained before its time", after: told, then: .wait(until: start + .seconds(10))),
        Row("receipts are read when it is due", later: .seconds(10), after: told, then: .readReceipts),
        Row("or at once where all is wanted", .exchange(all: true), after: told, then: .readReceipts),
        Row("then loose logs are measured", .exchange(all: true), after: readAll, then: .measureLoose),
        Row("a store that has told nothing rolls nothing", .exchange(all: true), after: readAll + [.measured(bytes: 1 << 40)], then: .trim),
        Row("without baselines there is only trimming", .exchange(all: true), rules: ExchangeRules(baselines: nil), after: readAll, then: .trim),
        Row("a baseline is written in the place", .roll, after: published, then: .list),
        Row("of what is listed", .roll, after: published + [.done], then: .roll),
        Row("then receipts are read", .roll, after: published + [.done, .rolled(id(7))], then: .readReceipts),
        Row("and logs are trimmed", .roll, after: published + [.done, .rolled(id(7)), .receipts(.init())], then: .trim),
        Row(
            "after which it waits", .roll, after: published + [.done, .rolled(id(7)), .receipts(.init()), .done],
            then: .wait(until: start + .seconds(10))),
    ]

    @Test("placing: each situation has its next step", arguments: placingRows) func placing(row: Row) { #expect(Self.run(row).step == row.step) }
    @Test("publishing: each situation has its next step", arguments: publishingRows) func publishing(row: Row) {
        #expect(Self.run(row).step == row.step)
    }
    @Test("importing: each situation has its next step", arguments: importingRows) func importing(row: Row) {
        #expect(Self.run(row).step == row.step)
    }
    @Test("maintaining: each situation has its next step", arguments: maintainingRows) func maintaining(row: Row) {
        #expect(Self.run(row).step == row.step)
    }

    /// A store that has told what it knows, at the look whether a baseline is due.
    private func measuring(_ rules: ExchangeRules = small, isEager: Bool = true, bytes: Int) -> ExchangeStateMachine {
        var machine = ExchangeStateMachine(rules, epoch: 1, at: Self.start)
        machine.begin(.exchange(all: isEager))
        for outcome in Self.planned + [.done, .done] { machine.receive(outcome, at: Self.start + .seconds(10)) }
        machine.peers.told(Knowledge(), awaits: [])
        for outcome in [.done, .receipts(.init()), .measured(bytes: bytes)] as [ExchangeOutcome] {
            machine.receive(outcome, at: Self.start + .seconds(10))
        }
        return machine
    }

    @Test("a baseline is written for many bytes, for many logs, for a peer that waits, and for a log that is in no file")
    func reasons() {
        #expect(measuring(bytes: 100).step == .roll)
        var machine = measuring(bytes: 99)
        #expect(machine.step == .countLoose)
        var other = machine
        other.receive(.loose(logs: 10), at: Self.start)
        #expect(other.step == .roll)
        machine.receive(.loose(logs: 9), at: Self.start)
        #expect(machine.step == .checkAwaited)
        other = machine
        other.receive(.awaited(true), at: Self.start)
        #expect(other.step == .roll)
        machine.receive(.awaited(false), at: Self.start)
        #expect(machine.step == .checkStranded)
        other = machine
        other.receive(.stranded(true), at: Self.start)
        #expect(other.step == .roll)
        machine.receive(.stranded(false), at: Self.start)
        #expect(machine.step == .trim)
    }

    @Test("a log that is in no file is awaited for a minute, and the alarm is set for that")
    func stranded() {
        let now = Self.start + .seconds(10)
        var machine = measuring(isEager: false, bytes: 0)
        for outcome in [.loose(logs: 0), .awaited(false), .stranded(true)] as [ExchangeOutcome] { machine.receive(outcome, at: now) }
        #expect(machine.step == .trim)
        machine.receive(.done, at: now)
        #expect(machine.step == .wait(until: now + .seconds(60)))
    }

    @Test("peers that are silent for too long are retired, which goes out before anything else is done")
    func silence() {
        var machine = ExchangeStateMachine(ExchangeRules(silenceLimit: 10), epoch: 1, at: Self.start)
        machine.begin(.exchange(all: true))
        var listing = PeerDirectory.Listing(time: Date(timeIntervalSince1970: 100))
        let receipt = Receipt(peer: Self.account, epoch: 1, knowledge: Knowledge(), migrations: [], time: Date())
        listing.receipts[Self.account] = PeerReceipt(number: 4, receipt: receipt)
        listing.silentSince[Self.account] = Date(timeIntervalSince1970: 89)
        for outcome in Self.told + [.receipts(listing)] { machine.receive(outcome, at: Self.start) }
        #expect(machine.step == .retire([Self.account]))
        machine.receive(.done, at: Self.start)
        #expect(machine.step == .checkOutbox)
        #expect(machine.peers.active.isEmpty)
        machine.receive(.outbox(hasWork: true, hasLogs: true), at: Self.start)
        #expect(machine.step == .seal(isDue: true))
        machine.receive(.sealed(waits: false), at: Self.start)
        machine.receive(.done, at: Self.start)
        #expect(machine.step == .measureLoose)
    }

    @Test("the answer to content that is gone follows from the rule, and a question is asked once for each absence")
    func wipes() {
        for (rule, step) in [(.wait, nil), (.republish, .carryOut(.republish)), (.follow, .carryOut(.follow)), (.ask, .ask(.contentGone))]
            as [(ContentAbsence.Rule, ContentAbsence.Step?)]
        {
            var absence = ContentAbsence()
            #expect(absence.step(by: rule, asking: true) == nil)
            _ = absence.found(.detached(.rootGone))
            #expect(absence.step(by: rule, asking: true) == nil, "a root that is gone is waited for")
            _ = absence.found(.detached(.contentGone))
            #expect(absence.step(by: rule, asking: true) == step)
        }
        var absence = ContentAbsence()
        _ = absence.found(.detached(.containerGone))
        #expect(absence.step(by: .ask, asking: false) == nil)
        absence.answered(.follow)
        #expect(absence.step(by: .ask, asking: true) == .carryOut(.follow), "an answer that could not be carried out stands")
        _ = absence.found(.attached)
        _ = absence.found(.detached(.containerGone))
        #expect(absence.step(by: .ask, asking: true) == .ask(.containerGone))
    }

    @Test("random worlds: an exchange ends, and does nothing that it must not", arguments: 0..<20)
    func random(block: UInt64) {
        for seed in block * 60..<(block + 1) * 60 {
            var world = ExchangeWorld(seed: seed)
            if let fault = world.run() {
                Issue.record("seed \(seed): \(fault); the last steps: \(world.steps.suffix(12))")
                return
            }
        }
    }
}
