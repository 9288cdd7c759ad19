package import Foundation
package import UbiquityContainers

/// The description of a baseline, as the file states it.
package struct BaselineHeader: Sendable {
    /// A synced table as the writer had it, and its number in the baseline.
    package struct Table: Sendable {
        package var number: Int64
        package var table: LogBody.Table
        /// The form of the table of records; nil in format 1, where a record and its clock are in one row.
        package var form: RecordForm?

        package init(number: Int64, table: LogBody.Table, form: RecordForm? = nil) {
            self.number = number
            self.table = table
            self.form = form
        }
    }

    package var contentName: String
    package var epoch: Int64
    package var peer: PeerIdentifier
    package var sequence: Int64
    /// The writer's last migration.
    package var schema: String
    package var created: Date
    /// The clock of the writer.
    ///
    /// No stamp in the baseline is later.
    package var clock: HybridTime
    /// The peers by their numbers in the baseline.
    package var peers: [Int64: PeerIdentifier]
    /// The knowledge that the baseline holds.
    package var knowledge: Knowledge
    /// The peers that are retired.
    package var retired: [PeerIdentifier: Retirement]
    /// The number of logs that the baseline holds.
    package var logs: Int64
    package var tables: [Table]

    package init(
        contentName: String, epoch: Int64, peer: PeerIdentifier, sequence: Int64, schema: String, created: Date, clock: HybridTime,
        peers: [Int64: PeerIdentifier], knowledge: Knowledge, retired: [PeerIdentifier: Retirement], logs: Int64, tables: [Table]
    ) {
        self.contentName = contentName
        self.epoch = epoch
        self.peer = peer
        self.sequence = sequence
        self.schema = schema
        self.created = created
        self.clock = clock
        self.peers = peers
        self.knowledge = knowledge
        self.retired = retired
        self.logs = logs
        self.tables = tables
    }
}

extension Knowledge {
    /// Returns how many logs this knowledge names and another does not, computed from the sequences.
    package func count(beyond other: Knowledge) -> Int64 {
        heads.keys.reduce(0) { $0 + max(0, sequence(of: $1) - other.sequence(of: $1)) }
    }
}
