import Foundation
import Testing
import UbiquityContainers
import UbiquityStores

struct RecordJoinTests {
    static let peers = PeerTable([
        PeerNumber(rawValue: 1): PeerIdentifier("alice~00000000-0000-0000-0000-000000000002")!,
        PeerNumber(rawValue: 2): PeerIdentifier("alice~00000000-0000-0000-0000-000000000001")!,
    ])

    static func stamp(_ time: Int64, _ peer: Int64 = 1) -> Stamp { Stamp(HybridTime(rawValue: time), PeerNumber(rawValue: peer)) }

    static let both: ColumnSet = [ColumnSet(column: 0), ColumnSet(column: 1)]
    static let first = ColumnSet(column: 0)
    static let second = ColumnSet(column: 1)

    static func join(_ life: Int64, _ columns: ColumnSet, _ stamp: Stamp, into local: RecordClock?) -> RecordJoin {
        RecordJoin.join(life: life, columns: columns, stamp: stamp, into: local, peers: peers) { _ in (.null, .null) }
    }

    @Test("the larger life wins whole")
    func lives() {
        let alive = RecordClock(life: 1, stamp: Self.stamp(10), columns: Self.both)
        #expect(Self.join(2, [], Self.stamp(1), into: alive) == .ends(life: 2))
        let dead = RecordClock(life: 2, stamp: .least, columns: [])
        #expect(Self.join(1, Self.first, Self.stamp(99), into: dead) == .superseded)
        #expect(Self.join(2, [], Self.stamp(99), into: dead) == .superseded)
        let reborn = RecordClock(life: 3, stamp: Self.stamp(1), columns: Self.first)
        #expect(Self.join(3, Self.first, Self.stamp(1), into: dead) == .begins(reborn))
        #expect(Self.join(3, Self.first, Self.stamp(1), into: alive) == .begins(reborn))
        #expect(Self.join(1, Self.first, Self.stamp(1), into: nil) == .begins(RecordClock(life: 1, stamp: Self.stamp(1), columns: Self.first)))
    }

    @Test("within a life each column's later stamp wins, by itself")
    func columns() {
        var clock = RecordClock(life: 1, stamp: Self.stamp(10), columns: Self.both)
        clock.set(Self.first, to: Self.stamp(30))
        var merged = clock
        merged.set(Self.second, to: Self.stamp(20))
        #expect(Self.join(1, Self.both, Self.stamp(20), into: clock) == .merges(Self.second, merged))
        #expect(Self.join(1, Self.both, Self.stamp(5), into: clock) == .superseded)
    }

    @Test("stamps of one time are ordered by the peers' names, not by their numbers in this store")
    func peerOrder() {
        let clock = RecordClock(life: 1, stamp: Self.stamp(10, 2), columns: Self.first)
        guard case .merges = Self.join(1, Self.first, Self.stamp(10, 1), into: clock) else {
            Issue.record("the larger name did not win")
            return
        }
        let other = RecordClock(life: 1, stamp: Self.stamp(10, 1), columns: Self.first)
        #expect(Self.join(1, Self.first, Self.stamp(10, 2), into: other) == .superseded)
    }

    @Test("equal stamps are decided by the values")
    func equalStamps() {
        let clock = RecordClock(life: 1, stamp: Self.stamp(10), columns: Self.both)
        let outcome = RecordJoin.join(life: 1, columns: Self.both, stamp: Self.stamp(10), into: clock, peers: Self.peers) {
            $0 == 1 ? (.integer(2), .integer(1)) : (.integer(1), .integer(2))
        }
        #expect(outcome == .merges(Self.second, clock))
    }

    /// A record as a model: everything that a peer knows, and the join as defined.
    private struct Model: Hashable {
        var clock: RecordClock?
        var values: [Int: Int] = [:]

        struct Change: Hashable {
            var life: Int64
            var columns: ColumnSet
            var stamp: Stamp
            var value: Int
        }

        mutating func join(_ change: Change, _ rules: ColumnRules) {
            let values = values
            let outcome = RecordJoin.join(
                life: change.life, columns: change.columns, stamp: change.stamp, into: clock, rules: rules, peers: RecordJoinTests.peers
            ) { (.integer(Int64(change.value)), values[$0].map { .integer(Int64($0)) } ?? .null) }
            switch outcome {
            case .superseded: break
            case .begins(let clock):
                self.clock = clock
                self.values = [:]
                change.columns.forEach { self.values[$0] = change.value }
            case .ends(let life):
                clock = RecordClock(life: life, stamp: .least, columns: [])
                self.values = [:]
            case .merges(let columns, let clock):
                self.clock = clock
                columns.forEach { self.values[$0] = change.value }
            }
        }

        /// What a reader sees, and what decides later joins.
        var shown: [String] {
            guard let clock else { return [] }
            return ["\(clock.life)"] + (0..<2).map { "\(values[$0].map(String.init) ?? "–") \(clock.stamp(of: $0))" }
        }
    }

    @Test(
        "any four changes of one record with two columns come to the same in all orders, and with one of them twice, also where the columns are a group here and were none to a writer",
        arguments: [ColumnRules.plain, ColumnRules(groups: [both])])
    func everyOrder(rules: ColumnRules) {
        var changes: [Model.Change] = []
        for life in Int64(1)...3 {
            for time in Int64(1)...2 {
                for peer in Int64(1)...2 {
                    let stamp = Self.stamp(time, peer)
                    let value = Int(time * 10 + peer)
                    if life == 2 {
                        if time == 1, peer == 1 { changes.append(.init(life: life, columns: [], stamp: stamp, value: 0)) }
                    } else {
                        // A peer's stamp stands for one save, so columns of one stamp belong to one change.
                        for columns in [Self.first, Self.second, Self.both] {
                            changes.append(.init(life: life, columns: columns, stamp: stamp, value: value))
                        }
                    }
                }
            }
        }
        var compared = 0
        for a in changes.indices {
            for b in changes.indices where b > a {
                for c in changes.indices where c > b {
                    for d in changes.indices where d > c {
                        let four = [changes[a], changes[b], changes[c], changes[d]]
                        var outcomes: Set<[String]> = []
                        for order in Self.orders {
                            var model = Model()
                            for index in order { model.join(four[index], rules) }
                            model.join(four[order[1]], rules)
                            outcomes.insert(model.shown)
                        }
                        compared += 1
                        if outcomes.count != 1 {
                            Issue.record("\(four) came to \(outcomes)")
                            return
                        }
                    }
                }
            }
        }
        #expect(compared == 12_650)
    }

    @Test("any three saves of a group of two columns come to one of them, whole, in all orders, whatever their stamps")
    func wholeGroups() {
        struct Save: Hashable {
            var stamp: Stamp
            var values: [Int64]
        }
        let stamps = [Stamp.least, Self.stamp(10), Self.stamp(10, 2), Self.stamp(20)]
        let saves = stamps.flatMap { stamp in [[1, 1], [1, 2], [2, 1], [2, 2]].map { Save(stamp: stamp, values: $0) } }
        func outcome(_ saves: [Save], _ policy: MergePolicy) -> Save? {
            let rules = ColumnRules(policies: [0: policy, 1: policy], groups: [Self.both])
            var clock: RecordClock?
            var there: [Int64] = [0, 0]
            for save in saves {
                let before = there
                let outcome = RecordJoin.join(life: 1, columns: Self.both, stamp: save.stamp, into: clock, rules: rules, peers: Self.peers) {
                    (.integer(save.values[$0]), .integer(before[$0]))
                }
                switch outcome {
                case .begins(let begun): (clock, there) = (begun, save.values)
                case .merges(let columns, let merged):
                    clock = merged
                    for column in columns.numbers { there[column] = save.values[column] }
                default: continue
                }
            }
            return clock.flatMap { $0.stamp(of: 0) == $0.stamp(of: 1) ? Save(stamp: $0.stamp(of: 0), values: there) : nil }
        }
        for policy in [MergePolicy.lastWriter, .firstWriter] {
            for one in saves {
                for two in saves {
                    for three in saves {
                        let orders = [
                            [one, two, three], [one, three, two], [two, one, three], [two, three, one], [three, one, two], [three, two, one],
                        ]
                        let outcomes = Set(orders.map { outcome($0, policy) })
                        #expect(outcomes.count == 1 && [one, two, three].contains(outcomes.first!), "\(one) \(two) \(three) came to \(outcomes)")
                    }
                }
            }
        }
    }

    private static let orders: [[Int]] = {
        func permutations(_ rest: [Int]) -> [[Int]] {
            rest.isEmpty ? [[]] : rest.flatMap { first in permutations(rest.filter { $0 != first }).map { [first] + $0 } }
        }
        return permutations([0, 1, 2, 3])
    }()
}

struct RecordValueTests {
    @Test("values are ordered by type, numbers by value across types, and equal only where type and bytes are")
    func order() {
        let ascending: [RecordValue] = [
            .null, .real((-Double.infinity).bitPattern), .integer(.min), .real((-1.5).bitPattern), .integer(-1), .integer(0),
            .real((-0.0).bitPattern), .real(0.0.bitPattern), .real(0.5.bitPattern), .integer(1),
            .real(1.0.bitPattern), .integer(9_007_199_254_740_993), .integer(.max), .real(0x1p63.bitPattern), .real(Double.infinity.bitPattern),
            .real(Double.nan.bitPattern), .text(""), .text([0]), .text([0, 0]), .text("X"), .text("x"),
            .text([0x78, 0]), .text("xa"), .text([0xFF]),
            .blob([]), .blob([0]), .blob([0, 0]), .blob([1]),
        ]
        for (i, left) in ascending.enumerated() {
            for (j, right) in ascending.enumerated() {
                #expect(left.compare(right) == (i < j ? .less : i == j ? .equal : .greater), "\(left) against \(right)")
            }
        }
    }
}

struct RecordClockTests {
    @Test("stamps survive packing, whatever columns have stamps of their own")
    func packing() {
        var clock = RecordClock(life: 5, stamp: RecordJoinTests.stamp(10), columns: RecordJoinTests.both)
        clock.set([ColumnSet(column: 62), ColumnSet(column: 3)], to: RecordJoinTests.stamp(.max, 2))
        clock.set(ColumnSet(column: 1), to: RecordJoinTests.stamp(11, 2))
        let bytes = clock.packedOthers!
        #expect(bytes.withUnsafeBytes { RecordClock.unpack($0) } == clock.others)
        #expect(bytes.dropLast().withUnsafeBytes { RecordClock.unpack($0) } == nil)
        #expect([1, 3, 62, 0, 4].map { clock.stamp(of: $0).time.rawValue } == [11, .max, .max, 10, 0])
    }

    @Test("a clock whose columns are all written again holds one stamp again")
    func normal() {
        var clock = RecordClock(life: 1, stamp: RecordJoinTests.stamp(10), columns: RecordJoinTests.both)
        clock.set(RecordJoinTests.first, to: RecordJoinTests.stamp(20))
        #expect(clock.others.count == 1)
        clock.set(RecordJoinTests.both, to: RecordJoinTests.stamp(30))
        #expect(clock == RecordClock(life: 1, stamp: RecordJoinTests.stamp(30), columns: RecordJoinTests.both))
    }
}

struct HybridTimeTests {
    @Test("a stamp is above all seen, though the wall clock runs behind, and counts on past a full millisecond")
    func next() {
        let wall = HybridTime(milliseconds: 1000)
        #expect(HybridTime.next(after: .least, wall: wall) == wall)
        #expect(HybridTime.next(after: wall, wall: .latest) == .latest)
        #expect(HybridTime.next(after: wall, wall: HybridTime(rawValue: .max)) == HybridTime(milliseconds: 1000, counter: 1))
        #expect(HybridTime.next(after: wall, wall: wall) == HybridTime(milliseconds: 1000, counter: 1))
        #expect(HybridTime.next(after: HybridTime(milliseconds: 2000), wall: wall) == HybridTime(milliseconds: 2000, counter: 1))
        #expect(HybridTime.next(after: HybridTime(milliseconds: 1000, counter: .max), wall: wall) == HybridTime(milliseconds: 1001))
    }
}
