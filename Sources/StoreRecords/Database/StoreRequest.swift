package import GRDB

/// A task for the app's next exchange: a request of another program, or the rest of an interrupted task.
///
/// Other programs can only request it, because only the app has the store's schema.
package enum StoreRequest: String, Sendable {
    /// Run ``UbiquitousStore/rebuildFromUbiquitousContent()``.
    case rebuild
    /// Act as ``WipePolicy/Answer/republish`` does.
    case republish
    /// Act as ``WipePolicy/Answer/follow`` does.
    case follow
    /// Finish ``republish``: the place exists again, but its baseline may still be missing.
    ///
    /// Only the exchange sets and removes this task.
    case finishRepublishing = "finish-republishing"

    /// Removes the task, because it is done or withdrawn; a different task that has come since stays.
    ///
    /// - Returns: whether the task was set.
    @discardableResult
    package func drop(_ db: Database) throws -> Bool {
        try db.cachedStatement(sql: "UPDATE ubiquity_state SET request = NULL WHERE request = ?").execute(arguments: [rawValue])
        return db.changesCount > 0
    }
}
