internal import GRDB
internal import UbiquityContainers

/// What another program asks the app for, which alone has the store's schema: it is done with the app's next exchange.
package enum StoreRequest: String, Sendable {
    /// ``UbiquitousStore/rebuildFromUbiquitousContent()``.
    case rebuild
    /// What ``WipePolicy/Answer/republish`` does.
    case republish
    /// What ``WipePolicy/Answer/follow`` does.
    case follow
}

extension StoreEngine {
    /// Does what another program has asked for.
    ///
    /// One that cannot be done stays, and is tried again with each exchange until it can, or is withdrawn.
    ///
    /// - Returns: whether there was anything.
    /// - Throws: what stands in the way.
    @discardableResult
    func fulfilRequest() throws -> Bool {
        guard container != nil, !isPaused, let request else { return false }
        switch request {
        case .rebuild: try rebuild()
        case .republish: try answerWipe(.republish)
        case .follow: try answerWipe(.follow)
        }
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET request = NULL WHERE request = ?", arguments: [request.rawValue]) }
        self.request = nil
        return true
    }

    /// Lets nothing go out or in from now on, or everything again.
    func setPaused(_ paused: Bool) throws {
        guard container != nil else {
            throw UbiquitousStoreError(
                .unsupported, "Nobody is signed in: \(file.path) does not exchange anything that could be paused.", path: file.path)
        }
        try file.pool.write { db in try db.execute(sql: "UPDATE ubiquity_state SET paused = ?", arguments: [paused]) }
        // An exchange under way has ended, for the engine does one thing at a time; another process's ends by itself.
        isPaused = paused
        if !paused { inventory = nil }
    }
}
