internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords

extension StoreBase {
    /// How far beyond the wall's time a clock is taken over: a clock that is more than that ahead is wrong, and stays where it is.
    private static let patience: TimeInterval = 86_400

    /// Gives later stamps to what is saved here from now on than to all that has been seen in another file.
    ///
    /// - Parameter other: the file that was in use until now: its content is known to the person who saves here next.
    /// - Throws: GRDB's errors.
    package func takeClock(of other: StoreBase) async throws {
        let seen = try await other.pool.read { db in try StoreState.read(db).clock }
        let limit = HybridTime(sealer.now().addingTimeInterval(Self.patience))
        try await pool.write { db in
            try db.execute(sql: "UPDATE ubiquity_state SET clock = max(clock, ?)", arguments: [min(seen, limit).rawValue])
        }
    }
}
