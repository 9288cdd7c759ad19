import Testing
import UbiquityContainers
import UbiquityStores

/// Small worlds, in full: every history of a few writes and exchanges of one record with two columns, compared at each step with the rules as
/// they are written down.
struct ExhaustiveTests {
    @Test(
        "all interleavings of up to four writes of two peers come to what the rules say, at each peer and each step",
        arguments: [[0, 0], [0, 1000], [1000, 0]])
    func twoPeers(walls: [Int64]) {
        var world = World(walls: walls)
        let search = Search(writes: 4)
        search.explore(&world)
        #expect(search.fault == nil)
        #expect(search.histories > 10_000, "\(search.histories) histories")
    }

    @Test("all interleavings of up to three writes of three peers come to what the rules say, at each peer and each step")
    func threePeers() {
        var world = World(walls: [0, 0, 0])
        let search = Search(writes: 3)
        search.explore(&world)
        #expect(search.fault == nil)
        #expect(search.histories > 10_000, "\(search.histories) histories")
    }
}

/// A change as a log tells it.
///
/// Its value is its number, so that no two writes are alike.
private struct Change {
    var life: Int64
    var columns: ColumnSet
    var stamp: Stamp
    var value: Int
}

/// What a peer has of the record, by the code under test.
private struct Replica {
    var clock: RecordClock?
    var values: [Int] = [0, 0]
    var seen = HybridTime.least

    var isAlive: Bool { clock.map { !$0.life.isMultiple(of: 2) } ?? false }

    mutating func join(_ change: Change, _ peers: PeerTable) {
        seen = max(seen, change.stamp.time)
        let values = values
        let outcome = RecordJoin.join(life: change.life, columns: change.columns, stamp: change.stamp, into: clock, peers: peers) {
            (.integer(Int64(change.value)), .integer(Int64(values[$0])))
        }
        switch outcome {
        case .superseded: break
        case .begins(let clock):
            self.clock = clock
            self.values = [0, 0]
            change.columns.forEach { self.values[$0] = change.value }
        case .ends(let life):
            clock = RecordClock(life: life, stamp: .least, columns: [])
            self.values = [0, 0]
        case .merges(let columns, let clock):
            self.clock = clock
            columns.forEach { self.values[$0] = change.value }
        }
    }
}

/// Peers, what each has written, and how far each has read the others.
private struct World {
    static let first = ColumnSet(column: 0)
    static let second = ColumnSet(column: 1)

    let walls: [Int64]
    let peers: PeerTable
    var replicas: [Replica]
    /// What each peer has written, in order.
    var logs: [[Change]]
    /// For each log, how much of the others' its writer had read.
    var needs: [[[Int]]]
    /// For each peer, how many logs of each it has taken in.
    var known: [[Int]]
    var writes = 0

    init(walls: [Int64]) {
        self.walls = walls
        // Names in another order than numbers, for names decide.
        peers = PeerTable(
            Dictionary(
                uniqueKeysWithValues: walls.indices.map {
                    (PeerNumber(rawValue: Int64($0 + 1)), PeerIdentifier("alice~00000000-0000-0000-0000-00000000000\(9 - $0)")!)
                }))
        replicas = walls.map { _ in Replica() }
        logs = walls.map { _ in [] }
        needs = walls.map { _ in [] }
        known = walls.map { _ in walls.map { _ in 0 } }
    }

    /// What a peer can write now: columns and whether they are a new life; no columns for a deletion.
    func options(_ peer: Int) -> [(columns: ColumnSet, isBirth: Bool)] {
        replicas[peer].isAlive
            ? [(Self.first, false), (Self.second, false), ([], false)] : [(Self.first, true), ([Self.first, Self.second], true)]
    }

    mutating func write(_ peer: Int, _ columns: ColumnSet, isBirth: Bool) {
        writes += 1
        let stamp = Stamp(
            .next(after: replicas[peer].seen, wall: HybridTime(milliseconds: walls[peer])), PeerNumber(rawValue: Int64(peer + 1)))
        let life = replicas[peer].clock?.life ?? 0
        replicas[peer].seen = stamp.time
        let change = Change(life: isBirth || columns.isEmpty ? life + 1 : life, columns: columns, stamp: stamp, value: writes)
        // What sealing does: a birth and a death are given, an edit sets its columns' stamps.
        if isBirth {
            replicas[peer].clock = RecordClock(life: change.life, stamp: stamp, columns: columns)
            replicas[peer].values = [0, 0]
        } else if columns.isEmpty {
            replicas[peer].clock = RecordClock(life: change.life, stamp: .least, columns: [])
            replicas[peer].values = [0, 0]
        } else {
            replicas[peer].clock!.set(columns, to: stamp)
        }
        columns.forEach { replicas[peer].values[$0] = writes }
        logs[peer].append(change)
        known[peer][peer] += 1
        needs[peer].append(known[peer])
    }

    /// Whether a peer has all that the next log of another follows.
    func canRead(_ reader: Int, _ writer: Int) -> Bool {
        let next = known[reader][writer]
        guard reader != writer, next < logs[writer].count else { return false }
        return walls.indices.allSatisfy { $0 == writer || needs[writer][next][$0] <= known[reader][$0] }
    }

    mutating func read(_ reader: Int, _ writer: Int) {
        replicas[reader].join(logs[writer][known[reader][writer]], peers)
        known[reader][writer] += 1
    }

    /// What a peer should have, from the logs it knows, by the rules alone: the largest life, and in it the latest write of each column.
    func expected(_ peer: Int) -> (life: Int64, values: [Int]) {
        let changes = logs.indices.flatMap { logs[$0].prefix(known[peer][$0]) }
        let life = changes.map(\.life).max() ?? 0
        let values = (0..<2).map { column in
            changes.filter { $0.life == life && $0.columns.contains(ColumnSet(column: column)) }.max { left, right in
                if left.stamp.time != right.stamp.time { return left.stamp.time < right.stamp.time }
                // The larger number has the smaller name here.
                return left.stamp.peer.rawValue > right.stamp.peer.rawValue
            }?.value ?? 0
        }
        return (life, values)
    }

    /// The first peer that has something else than it should, in words.
    var fault: String? {
        for peer in replicas.indices {
            let (life, values) = expected(peer)
            let replica = replicas[peer]
            guard (replica.clock?.life ?? 0) == life, replica.values == values else {
                return "peer \(peer) has life \(replica.clock?.life ?? 0) and \(replica.values), the rules say \(life) and \(values), of \(logs)"
            }
        }
        return nil
    }
}

/// Goes through every history, depth first.
private final class Search {
    let writes: Int
    private(set) var histories = 0
    private(set) var fault: String?

    init(writes: Int) { self.writes = writes }

    /// Tries each write, and each reading, that can come next.
    ///
    /// - Parameters:
    ///   - world: where the history has come to.
    ///   - lastReader: who has read since the last write: readings of different peers do not meet, and are tried in one order only.
    func explore(_ world: inout World, after lastReader: Int = 0) {
        guard fault == nil else { return }
        if let found = world.fault {
            fault = found
            return
        }
        var next = world
        if world.writes == writes {
            histories += 1
            heal(&next)
            return
        }
        for peer in world.walls.indices {
            for option in world.options(peer) {
                next = world
                next.write(peer, option.columns, isBirth: option.isBirth)
                explore(&next)
            }
        }
        for reader in lastReader..<world.walls.count {
            for writer in world.walls.indices where world.canRead(reader, writer) {
                next = world
                next.read(reader, writer)
                explore(&next, after: reader)
            }
        }
    }

    /// Everybody reads everything, the last peer first.
    private func heal(_ world: inout World) {
        let peers = world.walls.indices
        var goesOn = true
        while goesOn {
            goesOn = false
            for reader in peers.reversed() {
                for writer in peers where world.canRead(reader, writer) {
                    world.read(reader, writer)
                    goesOn = true
                }
            }
        }
        let shown = world.replicas.map { "\($0.clock?.life ?? 0) \($0.values)" }
        if let found = world.fault ?? (Set(shown).count == 1 ? nil : "the peers differ: \(shown)") { fault = found }
    }
}
