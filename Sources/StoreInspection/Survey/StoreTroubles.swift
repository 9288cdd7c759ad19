package import Foundation
internal import GRDB
package import StoreRecords

/// The parts of a store that need attention, without any value of a record.
package struct StoreTroubles: Sendable {
    /// A held record.
    package struct Held: Sendable {
        /// Its table and key.
        package var subject: String
        package var reason: String
    }

    /// A value that lost to another device's value.
    package struct Lost: Sendable {
        /// The record's table and key, and the columns.
        package var subject: String
        package var reason: String
        package var author: String
        package var noticed: Date
    }

    /// The files in quarantine.
    package var quarantined: [QuarantinedLog]
    package var held: [Held]
    /// The newest conflicts.
    package var conflicts: [Lost]
}

extension InspectedStore {
    /// Returns the parts of the store that need attention.
    ///
    /// - Parameter limit: the maximum number of held records and of conflicts.
    /// - Returns: files, records and conflicts.
    /// - Throws: GRDB's errors.
    package func troubles(limit: Int) throws -> StoreTroubles {
        try read { db in
            let held = try RelationListing(db).held().prefix(limit).map { StoreTroubles.Held(subject: "\($0.record)", reason: $0.reason) }
            let conflicts = try ConflictHistory(db).list(limit: limit).map { conflict in
                let columns = conflict.lost.map(\.column).joined(separator: ", ")
                let winner = conflict.winner.map { " of \($0)" } ?? ""
                let reason =
                    switch conflict.reason {
                    case .laterWrite: "a later write\(winner) is shown instead"
                    case .earlierWrite: "an earlier write\(winner) is shown instead"
                    case .deletion: "the record was deleted\(winner.isEmpty ? "" : " by\(winner.dropFirst(3))")"
                    }
                return StoreTroubles.Lost(
                    subject: columns.isEmpty ? "\(conflict.record)" : "\(conflict.record): \(columns)", reason: reason, author: conflict.author,
                    noticed: conflict.noticed)
            }
            return StoreTroubles(quarantined: try QuarantinedLog.list(db), held: held, conflicts: conflicts)
        }
    }
}
