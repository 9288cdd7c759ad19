import Foundation
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What follows from what is known of baselines, as tables.
struct BaselineShelfTests {
    private static let start = ContinuousClock.now
    private static let own = PeerIdentifier(account: "own", uuid: UUID(uuidString: "00000000-0000-0000-0000-000000000001")!)
    private static let other = PeerIdentifier(account: "other", uuid: UUID(uuidString: "00000000-0000-0000-0000-000000000002")!)

    static func id(_ number: Int64, of peer: PeerIdentifier = own) -> BaselineID {
        BaselineID(peer: peer, name: BaselineName(sequence: number, hash: ContentHash(of: [UInt8(number)])))
    }

    private static func position(_ sequence: Int64) -> Knowledge.Position { .init(sequence: sequence, hash: ContentHash(of: [UInt8(sequence)])) }

    private static func knowledge(_ sequences: [PeerIdentifier: Int64]) -> Knowledge { Knowledge(sequences.mapValues(position)) }

    private static func header(_ sequences: [PeerIdentifier: Int64]) -> BaselineHeader {
        BaselineHeader(
            contentName: "People", epoch: 1, peer: own, sequence: 1, schema: "", created: Date(timeIntervalSince1970: 0), clock: .least, peers: [:],
            knowledge: knowledge(sequences), retired: [:], logs: 0, tables: [])
    }

    /// One look at a baseline: how far it is ahead, and what is decided.
    struct Look: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var lag: Int64
        var isFirst = false
        var isEager = false
        var knowsOthers = true
        /// When it was looked at before; nil for never.
        var before: Duration?
        var obstacle: BaselineShelf.Obstacle?
        let decision: BaselineShelf.Decision
    }

    private static let newer = BaselineShelf.Obstacle.schema(obstacle: "it is new", authors: "v2")

    private static let looks = [
        Look(testDescription: "far ahead, before the logs", lag: 500, isFirst: true, decision: .join),
        Look(testDescription: "a little ahead, before the logs", lag: 499, isFirst: true, isEager: true, decision: .passOver(.fewLogs(499))),
        Look(testDescription: "far ahead with an obstacle", lag: 500, isFirst: true, obstacle: newer, decision: .passOver(newer)),
        Look(testDescription: "after the logs, seen for the first time", lag: 1, decision: .passOver(.fewLogs(1))),
        Look(testDescription: "after the logs, and nothing is waited for", lag: 1, isEager: true, decision: .join),
        Look(testDescription: "after the logs, by a store that knows nothing", lag: 1, knowsOthers: false, decision: .join),
        Look(testDescription: "seen less than five seconds ago", lag: 1, before: .milliseconds(4999), decision: .passOver(.fewLogs(1))),
        Look(testDescription: "seen five seconds ago", lag: 1, before: .seconds(5), decision: .join),
        Look(testDescription: "seen five seconds ago with an obstacle", lag: 1, before: .seconds(5), obstacle: newer, decision: .passOver(newer)),
        Look(testDescription: "after the logs, far ahead all the same", lag: 900, decision: .passOver(.fewLogs(900))),
    ]

    @Test("whether a baseline is joined now follows from how far it is ahead, and how long its logs have been awaited", arguments: looks)
    func joining(look: Look) {
        var shelf = BaselineShelf()
        let news = BaselineShelf.News(id: Self.id(1), lag: look.lag, obstacle: look.obstacle)
        if look.before != nil { _ = shelf.decide(news, isFirst: false, isEager: false, knowsOthers: true, at: Self.start) }
        let decision = shelf.decide(
            news, isFirst: look.isFirst, isEager: look.isEager, knowsOthers: look.knowsOthers, at: Self.start + (look.before ?? .zero))
        #expect(decision == look.decision)
    }

    @Test("the alarm is set for the first baseline whose logs are awaited, and for none that is gone, contained or overdue")
    func alarms() {
        var shelf = BaselineShelf()
        let news = (1...3).map { BaselineShelf.News(id: Self.id($0), lag: 1, obstacle: nil) }
        for (index, one) in news.enumerated() {
            _ = shelf.decide(one, isFirst: false, isEager: false, knowsOthers: true, at: Self.start + .seconds(index))
        }
        #expect(shelf.nextTime == Self.start + .seconds(5))
        shelf.changed(Self.id(1), isThere: false)
        #expect(shelf.nextTime == Self.start + .seconds(6))
        shelf.contain(Self.id(2))
        #expect(shelf.nextTime == Self.start + .seconds(7))
        _ = shelf.decide(news[2], isFirst: false, isEager: false, knowsOthers: true, at: Self.start + .seconds(7))
        #expect(shelf.nextTime == nil && !shelf.awaitsLogs)
        _ = shelf.decide(news[0], isFirst: false, isEager: false, knowsOthers: true, at: Self.start)
        shelf.keepLater(of: [])
        #expect(!shelf.awaitsLogs)
    }

    @Test("a baseline that has changed is read again, and one that could not be used is when everything is listed")
    func headers() {
        var shelf = BaselineShelf()
        shelf.read(Self.header([:]), of: Self.id(1))
        shelf.fault(Self.id(2))
        shelf.verified = [Self.id(1)]
        shelf.refused = [Self.id(1)]
        shelf.trim(upTo: 9)
        shelf.relist()
        #expect(shelf.headers[Self.id(1)] != nil && shelf.headers[Self.id(2)] == nil)
        #expect(shelf.trimmed == 0)
        shelf.changed(Self.id(1), isThere: true)
        #expect(shelf.headers.isEmpty && shelf.verified.isEmpty && shelf.refused.isEmpty)
    }

    @Test(
        "own logs go up to where every peer has read and a baseline holds all, by the baseline that holds most",
        arguments: [
            ([5, 9], 7, 0, [7, 5]), ([5, 9], Int64.max, 0, [9, 5]), ([5, 9], 4, 0, [4, 4]), ([5, 9], 7, 7, []), ([5, 9], 8, 7, [8, 5]),
            ([], 7, 0, []), ([5], 0, 0, []), ([0], 7, 0, []),
        ] as [([Int64], Int64, Int64, [Int64])])
    func trimming(passed: [Int64], limit: Int64, trimmed: Int64, expected: [Int64]) {
        var shelf = BaselineShelf()
        shelf.trim(upTo: trimmed)
        let trims = shelf.trims(passed.map { (id: Self.id($0), sequence: $0) }, limit: limit)
        #expect(trims.map(\.limit) == expected)
        #expect(trims.map(\.id) == passed.sorted(by: >).prefix(trims.count).map { Self.id($0) })
    }

    @Test("an own baseline goes for one that holds more, or as much under a greater name")
    func superseded() {
        let all = Self.knowledge([Self.own: 9, Self.other: 9])
        let small = (id: Self.id(1), header: Self.header([Self.own: 3]))
        let large = (id: Self.id(2), header: Self.header([Self.own: 5]))
        let equal = (id: Self.id(3), header: Self.header([Self.own: 5]))
        let aside = (id: Self.id(4), header: Self.header([Self.other: 2]))
        let usable = [small, large, equal, aside]
        #expect(BaselineShelf.greater(than: small, among: usable, within: all).map(\.id) == [large.id, equal.id])
        #expect(BaselineShelf.greater(than: large, among: usable, within: all).map(\.id) == [equal.id])
        #expect(BaselineShelf.greater(than: equal, among: usable, within: all).isEmpty)
        #expect(BaselineShelf.greater(than: aside, among: usable, within: all).isEmpty)
        #expect(BaselineShelf.loose(all, besides: usable) == 13)
        #expect(BaselineShelf.loose(all, besides: []) == 18)
    }

    @Test("loose logs are measured once, and again when they seem to be enough for a baseline, which begins the count again")
    func measuring() {
        var shelf = BaselineShelf()
        let policy = BaselinePolicy(logs: 10, bytes: 100)
        #expect(shelf.needsMeasure(policy))
        shelf.measured(99)
        #expect(!shelf.needsMeasure(policy))
        shelf.looseBytes += 1
        #expect(shelf.needsMeasure(policy))
        shelf.rolled(Self.id(1))
        #expect(shelf.looseBytes == 0 && shelf.contained == [Self.id(1)])
        #expect(BaselineShelf.next(of: Self.own, among: [Self.id(4), Self.id(9, of: Self.other)]) == 5)
    }

    @Test("in another epoch nothing is known of its baselines")
    func epochs() {
        var shelf = BaselineShelf()
        shelf.read(Self.header([:]), of: Self.id(1))
        shelf.contained = [Self.id(1)]
        _ = shelf.decide(.init(id: Self.id(2), lag: 1, obstacle: nil), isFirst: false, isEager: false, knowsOthers: true, at: Self.start)
        shelf.looseBytes = 7
        shelf.forget()
        #expect(shelf.headers.isEmpty && shelf.contained.isEmpty && !shelf.awaitsLogs && shelf.looseBytes == 0)
    }
}
