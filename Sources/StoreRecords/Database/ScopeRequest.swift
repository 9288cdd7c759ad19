internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// A task in a container with a scope for the app's next exchange, which another program requests.
///
/// Only the app has the store's schema, with which it writes the base that a removal names.
package enum ScopeRequest: Hashable, Sendable, LosslessStringConvertible {
    /// Give a role to an account.
    case grant(role: String, AccountIdentifier)
    /// Take a role from an account.
    case remove(role: String, AccountIdentifier)
    /// Remove a device of this device's account.
    case revoke(PeerIdentifier)
    /// Merge two policies of one number.
    case merge

    /// Reads a request; nil for anything else.
    package init?(_ text: String) {
        let words = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        switch (words.first, words.count) {
        case ("grant", 3):
            guard let account = AccountIdentifier(words[2]) else { return nil }
            self = .grant(role: words[1], account)
        case ("remove", 3):
            guard let account = AccountIdentifier(words[2]) else { return nil }
            self = .remove(role: words[1], account)
        case ("revoke", 2):
            guard let peer = PeerIdentifier(words[1]) else { return nil }
            self = .revoke(peer)
        case ("merge", 1): self = .merge
        default: return nil
        }
    }

    package var description: String {
        switch self {
        case .grant(let role, let account): "grant\n\(role)\n\(account)"
        case .remove(let role, let account): "remove\n\(role)\n\(account)"
        case .revoke(let peer): "revoke\n\(peer)"
        case .merge: "merge"
        }
    }

    /// Reads the request of a store.
    package static func read(_ db: Database) throws -> ScopeRequest? {
        guard try ScopeState.exists(db) else { return nil }
        return try String.fetchOne(db, sql: "SELECT request FROM ubiquity_scope").flatMap(ScopeRequest.init)
    }

    /// Stores the request in place of an earlier one.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a store without a scope; GRDB's errors.
    package func ask(_ db: Database) throws {
        guard try ScopeState.exists(db) else {
            throw UbiquitousStoreError(.unsupported, "The store lies in a container of one account, which has no policies.")
        }
        try db.execute(sql: "UPDATE ubiquity_scope SET request = ?", arguments: [description])
    }

    /// Removes the request, because it is done; another one that has come since stays.
    package func drop(_ db: Database) throws {
        try db.execute(sql: "UPDATE ubiquity_scope SET request = NULL WHERE request = ?", arguments: [description])
    }
}
