internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords

extension StoreBase {
    /// The time by which a clock may be ahead of this device's to be adopted, in seconds.
    ///
    /// A clock that is further ahead is wrong, and is not adopted.
    private static let patience: TimeInterval = 86_400

    /// Makes the stamps of future saves here later than all stamps that another file has seen.
    ///
    /// - Parameter other: the file in use until now. The user who saves here next knows its content.
    /// - Throws: GRDB's errors.
    package func takeClock(of other: StoreBase) async throws {
        let seen = try await other.pool.read { db in try StoreState.read(db).clock }
        let limit = HybridTime(sealer.now().addingTimeInterval(Self.patience))
        try await pool.write { db in
            try db.execute(sql: "UPDATE ubiquity_state SET clock = max(clock, ?)", arguments: [min(seen, limit).rawValue])
        }
    }
}
