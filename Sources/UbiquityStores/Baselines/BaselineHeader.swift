internal import Foundation
internal import UbiquityContainers

/// The description of a baseline, as the file states it.
struct BaselineHeader: Sendable {
    /// A synced table as the writer had it, and its number in the baseline.
    struct Table: Sendable {
        var number: Int64
        var table: LogBody.Table
    }

    var contentName: String
    var epoch: Int64
    var peer: PeerIdentifier
    var sequence: Int64
    /// The writer's last migration.
    var schema: String
    var created: Date
    /// The clock of the writer.
    ///
    /// No stamp in the baseline is later.
    var clock: HybridTime
    /// The peers by their numbers in the baseline.
    var peers: [Int64: PeerIdentifier]
    /// The knowledge that the baseline holds.
    var knowledge: Knowledge
    /// The peers that are retired.
    var retired: [PeerIdentifier: Retirement]
    /// The number of logs that the baseline holds.
    var logs: Int64
    var tables: [Table]
}

extension Knowledge {
    /// Returns how many logs this knowledge names and another does not, computed from the sequences.
    func count(beyond other: Knowledge) -> Int64 {
        heads.keys.reduce(0) { $0 + max(0, sequence(of: $1) - other.sequence(of: $1)) }
    }
}
