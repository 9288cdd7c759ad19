package import Foundation
internal import GRDB
package import StoreRecords

/// What in a store needs somebody's attention, without any value of a record.
package struct StoreTroubles: Sendable {
    /// A record that is not shown.
    package struct Held: Sendable {
        /// Its table and key.
        package var subject: String
        package var reason: String
    }

    /// A value that lost against another device's.
    package struct Lost: Sendable {
        /// The record's table and key, and the columns.
        package var subject: String
        package var reason: String
        package var author: String
        package var noticed: Date
    }

    /// Files that cannot be used.
    package var quarantined: [QuarantinedLog]
    package var held: [Held]
    /// The newest.
    package var conflicts: [Lost]
}

extension StoreInspection {
    /// What in the store needs somebody's attention.
    ///
    /// - Parameter limit: how many held records and conflicts are named at most.
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
                    case .laterWrite: "a later write\(winner) stands there instead"
                    case .earlierWrite: "an earlier write\(winner) stays there"
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
