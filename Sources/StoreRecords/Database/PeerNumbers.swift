internal import Foundation
internal import GRDB
internal import StoreFormat

/// The numbers in this store of a baseline's peers.
struct PeerNumbers {
    private let numbers: [Int64: Int64]
    /// Whether all numbers are equal to those of the baseline.
    private let isIdentity: Bool

    init(_ numbers: [Int64: Int64]) {
        self.numbers = numbers
        isIdentity = numbers.allSatisfy { $0.key == $0.value }
    }

    /// Replaces the peer numbers of the baseline in a clock by those of this store.
    func apply(to clock: inout RecordClock) throws {
        guard !isIdentity else { return }
        func here(_ stamp: Stamp) throws -> Stamp {
            if stamp.peer == .nobody { return stamp }
            guard let number = numbers[stamp.peer.rawValue] else { throw LogFault.damaged("a stamp names no peer") }
            return Stamp(stamp.time, PeerNumber(rawValue: number))
        }
        clock.stamp = try here(clock.stamp)
        for index in clock.others.indices { clock.others[index].stamp = try here(clock.others[index].stamp) }
    }

    /// Runs a body with expressions that translate a column of peers, and a column of packed stamps, to this store's
    /// numbers.
    func withFunctions<Result>(_ db: Database, _ body: (_ peer: (String) -> String, _ others: (String) -> String) throws -> Result) throws -> Result {
        guard !isIdentity else { return try body({ $0 }, { $0 }) }
        let peer = DatabaseFunction("ubiquity_peer_here", argumentCount: 1) { values in
            Int64.fromDatabaseValue(values[0]).map { numbers[$0] ?? 0 }
        }
        let others = DatabaseFunction("ubiquity_others_here", argumentCount: 1) { values in
            guard let bytes = Data.fromDatabaseValue(values[0]), let others = bytes.withUnsafeBytes(RecordClock.unpack) else { return nil }
            var clock = RecordClock(life: 1, stamp: .least, columns: [])
            clock.others = others
            try apply(to: &clock)
            return clock.packedOthers.map { Data($0) }
        }
        for function in [peer, others] { db.add(function: function) }
        defer { for function in [peer, others] { db.remove(function: function) } }
        return try body({ "ubiquity_peer_here(\($0))" }, { "iif(\($0) IS NULL, NULL, ubiquity_others_here(\($0)))" })
    }
}
