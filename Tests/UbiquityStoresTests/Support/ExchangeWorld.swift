import Foundation
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// A simple world in which a machine's steps go well or not by a seed, and which sees what must not happen.
struct ExchangeWorld {
    private struct Fault: Error { var text: String }

    private(set) var steps: [ExchangeStep] = []
    private var random: SeededRandom
    private var machine: ExchangeStateMachine
    private var now = ContinuousClock.now
    private let own = PeerIdentifier(account: "own", uuid: UUID(uuidString: "00000000-0000-0000-0000-000000000001")!)
    private let template: Receipt

    // What there is.
    private var gone: ContainerAttachment.Reason?
    private var isPaused = false
    private var isAdopting = false
    private var isAttached = false
    private var epoch: Int64 = 1
    private var marked: Int64 = 1
    private var strangers = 0
    private var notes = 0
    private var sealed = 0
    private var ready = 0
    private var passable = 0
    private var waits = false
    private var baselines: [BaselineID: Int64] = [:]
    private var nextBaseline: Int64 = 1
    /// How far each other peer has read this store's logs, with the number of its receipt; and up to which number it is retired.
    private var others: [PeerIdentifier: (number: Int64, passed: Int64)] = [:]
    private var retired: [PeerIdentifier: Int64] = [:]

    // What has been done.
    private var work = ExchangeWork.place
    private var hasPlace = false
    private var hasTold = false
    private var mustList = true
    private var joined: Set<BaselineID> = []
    private var gaveWay = 0
    /// Whether the last round found something that helps.
    private var hasHelped = true

    init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        template = Receipt(peer: own, epoch: 1, knowledge: Knowledge(), migrations: [], time: Date(timeIntervalSince1970: 0))
        var rules = ExchangeRules(baselines: BaselinePolicy(logs: 20, bytes: 1000))
        if seed % 2 == 0 { rules.maximumDelay = .seconds(30) }
        if seed % 3 == 0 { rules.silenceLimit = 50 }
        if seed % 5 == 0 { rules.baselines = nil }
        machine = ExchangeStateMachine(rules, epoch: 1, at: now)
    }

    private mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
    private mutating func happens(_ percent: Int) -> Bool { number(0..<100) < percent }

    /// Runs some work; what went wrong, or nil.
    mutating func run() -> String? {
        do {
            for _ in 0..<15 {
                change()
                work =
                    [.exchange(all: false), .exchange(all: true), .exchange(all: false), .publish, .roll, .place, .task(publishesBefore: true)][
                        number(0..<7)]
                gaveWay = 0
                machine.begin(work, waiting: happens(90))
                var count = 0
                while !machine.step.isEnd {
                    steps.append(machine.step)
                    count += 1
                    guard count < 600 else { throw Fault(text: "it does not end") }
                    let outcome = try perform(machine.step)
                    machine.receive(outcome, at: now)
                    if case .gaveWay = outcome { try expect(machine.step, isTakingLease: true) }
                }
                steps.append(machine.step)
                if gone != nil, hasPlace { hasPlace = false }
                if case .wait(let time?) = machine.step, machine.suspended != nil || machine.isPaused {
                    throw Fault(text: "it waits until \(time) while nothing may go out")
                }
            }
            return nil
        } catch {
            return (error as? Fault)?.text ?? "\(error)"
        }
    }

    private func expect(_ step: ExchangeStep, isTakingLease: Bool) throws {
        guard case .takeLease = step else { throw Fault(text: "after giving way it goes on with \(step)") }
    }

    private func require(_ isSo: Bool, _ text: @autoclosure () -> String) throws { if !isSo { throw Fault(text: text()) } }

    /// Something happens while nothing is exchanged.
    private mutating func change() {
        now = now.advanced(by: .seconds(number(0..<40)))
        if gone != nil { if happens(60) { gone = nil } } else if happens(15) { gone = [.contentGone, .containerGone, .rootGone][number(0..<3)] }
        isPaused = happens(8)
        isAdopting = isAdopting || happens(8)
        if isAttached, happens(5) { marked += 1 } else if happens(3), marked > 1 { marked -= 1 }
        if happens(8) { strangers = number(1..<3) }
        notes += number(0..<3)
        ready += number(0..<2) * number(0..<9)
        waits = happens(30)
        passable = waits ? number(0..<3) : 0
        if happens(25) {
            baselines[id(of: own)] = Int64([3, 40, 499, 500, 900][number(0..<5)])
        }
        for _ in 0..<number(0..<2) {
            let uuid = UUID(uuidString: "00000000-0000-0000-0000-00000000010\(number(0..<4))")!
            let peer = PeerIdentifier(account: "other", uuid: uuid)
            let before = others[peer] ?? (0, 0)
            others[peer] = (before.number + 1, before.passed + Int64(number(0..<5)))
        }
        if happens(10) { machine.forgetListing() }
        if happens(10) { _ = machine.noteReceipt(at: now) }
    }

    private mutating func id(of peer: PeerIdentifier) -> BaselineID {
        defer { nextBaseline += 1 }
        return BaselineID(peer: peer, name: BaselineName(sequence: nextBaseline, hash: ContentHash(of: [UInt8(truncatingIfNeeded: nextBaseline)])))
    }

    private func listing() -> PeerDirectory.Listing {
        var listing = PeerDirectory.Listing(time: Date(timeIntervalSince1970: 1000))
        for (peer, state) in others {
            var receipt = template
            if state.passed > 0 {
                receipt.knowledge = Knowledge([own: .init(sequence: state.passed, hash: ContentHash(of: [1]))]).listed
            }
            listing.receipts[peer] = PeerReceipt(number: state.number, receipt: receipt)
            if state.passed % 3 == 0 { listing.silentSince[peer] = Date(timeIntervalSince1970: 900) }
        }
        listing.retired = retired.mapValues { Retirement(receipt: $0) }
        return listing
    }

    /// Performs a step, unless it must not be.
    private mutating func perform(_ step: ExchangeStep) throws -> ExchangeOutcome {
        try check(step)
        switch step {
        case .publish, .giveWay, .adopt:
            if gaveWay < 3, happens(8) {
                gaveWay += 1
                return .gaveWay
            }
        default: break
        }
        switch step {
        case .takeLease, .checkAttachment, .suspend, .resume, .removeEnded, .giveWay, .passOver: break
        default:
            if happens(1) {
                if happens(30) { gone = .contentGone }
                // What had been taken out of the inventory is gone with it.
                switch step {
                case .plan, .joinLogs: mustList = true
                default: break
                }
                return .failed(isErrno: happens(50))
            }
        }
        return try succeed(step)
    }

    private func check(_ step: ExchangeStep) throws {
        switch step {
        case .seal, .publish, .joinLogs, .joinBaseline, .roll, .trim, .retire, .publishReceipt, .unite, .performTask, .plan, .list:
            try require(hasPlace, "\(step) without a place, or paused")
        default: break
        }
        switch step {
        case .surveyBaselines, .plan, .joinLogs, .joinBaseline, .roll, .trim: try require(!mustList, "\(step) of what has to be listed again")
        default: break
        }
    }

    private mutating func succeed(_ step: ExchangeStep) throws -> ExchangeOutcome {
        switch step {
        case .takeLease(let waiting):
            (hasPlace, hasTold) = (false, false)
            return .leased(waiting || happens(80))
        case .look:
            return .standing(.init(isPaused: isPaused, isAdopting: isAdopting, isAttached: isAttached, epoch: epoch))
        case .adopt:
            isAdopting = happens(5)
            return .adopted(!isAdopting)
        case .readMarks: return .marked(isAttached && gone == nil ? marked : nil)
        case .enter(let next):
            try require(next > epoch && !isAdopting, "epoch \(next) is entered from \(epoch)")
            (epoch, mustList, joined, baselines, retired) = (next, true, [], [:], [:])
        case .checkAttachment: return .attachment(gone.map { .detached($0) } ?? .attached)
        case .suspend(let reason): try require(gone == reason, "it is not gone for \(reason)")
        case .resume:
            try require(gone == nil, "it is not back")
            mustList = true
        case .restoreMark: marked = epoch
        case .findPlace:
            try require(!isAttached && gone == nil, "a place is made again")
            let isRenewed = happens(10)
            if isRenewed { mustList = true }
            if marked > epoch { (epoch, mustList) = (marked, true) }
            return .place(epoch: epoch, isRenewed: isRenewed)
        case .attach: isAttached = true
        case .findStranger(let amongAll):
            try require(amongAll || !mustList, "only some files are looked at")
            if strangers > 0 { return .stranger(true) }
            hasPlace = gone == nil && !isPaused && isAttached && !isAdopting
            return .stranger(false)
        case .takeNewIdentifier: (strangers, mustList, hasHelped) = (max(0, strangers - 1), true, true)
        case .checkOutbox: return .outbox(hasWork: notes > 0, hasLogs: notes + sealed > 0)
        case .seal(let isDue):
            if isDue { (sealed, notes) = (sealed + notes, 0) }
            return .sealed(waits: !isDue)
        case .publish: sealed = 0
        case .list: mustList = false
        case .surveyBaselines:
            if happens(2) { return .baselines([], isForked: true, knowsOthers: true) }
            let news = baselines.filter { !machine.shelf.contained.contains($0.key) }.map { BaselineShelf.News(id: $0.key, lag: $0.value) }
            return .baselines(news, isForked: false, knowsOthers: happens(80))
        case .joinBaseline(let id, _):
            try require(joined.insert(id).inserted, "a baseline is joined twice")
            if happens(80) {
                (hasHelped, mustList) = (true, true)
                return .baseline(isJoined: true)
            }
            joined.remove(id)
            baselines[id] = nil
            return .baseline(isJoined: false)
        case .plan(let isPassing): return try plan(isPassing: isPassing)
        case .joinLogs: return .logs(isRefused: happens(5))
        case .findHoles: return .holes(arePossible: happens(70))
        case .publishReceipt:
            hasTold = true
            machine.peers.told(Knowledge(), awaits: [])
        case .countLoose: return .loose(logs: Int64(number(0..<30)))
        case .readReceipts: return .receipts(listing())
        case .retire(let silent):
            for peer in silent {
                try require(others[peer].map { $0.passed % 3 == 0 } ?? false, "\(peer) is not silent")
                retired[peer] = max(retired[peer] ?? 0, others[peer]!.number)
            }
            notes += 1
        case .measureLoose: return .measured(bytes: number(0..<2000))
        case .checkAwaited: return .awaited(happens(20))
        case .checkStranded: return .stranded(happens(20))
        case .roll: return .rolled(happens(80) ? id(of: own) : nil)
        case .trim:
            if case .exchange = work { try require(hasTold, "it trims before it has told what it knows") }
            let limit = others.filter { retired[$0.key].map { $0 } ?? -1 < $0.value.number }.map(\.value.passed).min() ?? .max
            try require(machine.peers.passed(own) <= limit, "it trims up to \(machine.peers.passed(own)), and a peer has read up to \(limit)")
        default: break
        }
        return .done
    }

    private mutating func plan(isPassing: Bool) throws -> ExchangeOutcome {
        if isPassing {
            try require(!hasHelped, "logs are passed over while something else helps")
            try require(waits && !machine.shelf.awaitsLogs, "logs are passed over though nothing waits, or logs are awaited")
        }
        let count = min(isPassing ? passable : ready, 4)
        if isPassing { passable -= count } else { ready -= count }
        let isFull = !isPassing && ready > 0
        // A second passing must not follow without another look.
        hasHelped = isFull || isPassing
        let isForked = happens(2)
        if isForked { hasHelped = true }
        let waiting = waits ? [WaitingPeer(peer: "other", sequence: 1, reason: .files([]), logs: 1)] : []
        return .plan(ready: count, isFull: isFull, isForked: isForked, waiting: waiting)
    }
}
