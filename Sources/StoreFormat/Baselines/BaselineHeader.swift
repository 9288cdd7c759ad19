internal import Foundation
internal import UbiquityContainers

/// What a baseline says of itself.
struct BaselineHeader: Sendable {
    /// A synced table as the writer had it, and the number that stands for it in the baseline.
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
    /// The highest stamp in it, or before it.
    var clock: HybridTime
    /// The peers by their numbers in the baseline.
    var peers: [Int64: PeerIdentifier]
    /// What it holds.
    var knowledge: Knowledge
    /// The peers that are retired.
    var retired: [PeerIdentifier: Retirement]
    /// How many logs it holds.
    var logs: Int64
    var tables: [Table]
}

extension Knowledge {
    /// How many logs this names that another does not, as far as sequences tell.
    func count(beyond other: Knowledge) -> Int64 {
        heads.keys.reduce(0) { $0 + max(0, sequence(of: $1) - other.sequence(of: $1)) }
    }
}
