internal import GRDB
internal import UbiquityContainers

/// What is to be done with the app's next exchange: what another program asks for, since the app alone has the store's schema, or what was cut short.
package enum StoreRequest: String, Sendable {
    /// ``UbiquitousStore/rebuildFromUbiquitousContent()``.
    case rebuild
    /// What ``WipePolicy/Answer/republish`` does.
    case republish
    /// What ``WipePolicy/Answer/follow`` does.
    case follow
    /// What is left of ``republish``: the place is there, and the baseline that belongs in it may not be. Nobody asks for it but the engine, and nobody else takes it back.
    case finishRepublishing = "finish-republishing"

    /// What it says of content that is gone; nil where that is another matter.
    var wipeAnswer: WipePolicy.Answer? {
        switch self {
        case .rebuild: nil
        case .republish, .finishRepublishing: .republish
        case .follow: .follow
        }
    }

    /// Takes it back, or notes that it is done; another that has come since stands.
    ///
    /// - Returns: whether it was there.
    @discardableResult
    func drop(_ db: Database) throws -> Bool {
        try db.execute(sql: "UPDATE ubiquity_state SET request = NULL WHERE request = ?", arguments: [rawValue])
        return db.changesCount > 0
    }
}
