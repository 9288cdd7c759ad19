internal import Foundation
package import GRDB
package import StoreFormat
package import UbiquityContainers

/// A task in a container with a scope for the app's next exchange, which another program requests.
///
/// Only the app has the store's schema, with which it writes the base that a removal names. Requests wait in the order in
/// which they came.
package enum ScopeRequest: Hashable, Sendable {
    /// Give a role to an account.
    case grant(role: String, AccountIdentifier)
    /// Take a role from an account.
    case remove(role: String, AccountIdentifier, takingBack: TakingBack)
    /// Remove a device of this device's account.
    case revoke(PeerIdentifier, takingBack: TakingBack)
    /// Merge two policies of one number.
    case merge
    /// Set the limits that are given.
    case limit(logs: Int64?, records: Int64?)
    /// Say who changes the records of a table that has no rule yet.
    case access(table: String, TableAccess)
    /// Let all accounts contribute, or those that one of the keys admits.
    case admission(Policy.Admission)
    /// Begin a term with this device as steward, after a policy; nil for the last.
    case succeed(after: StatementIdentifier?)

    /// The request in words.
    package var words: String {
        switch self {
        case .grant(let role, let account): "give the role \(role) to \(account)"
        case .remove(let role, let account, let takingBack): "take the role \(role) from \(account)\(Self.words(takingBack))"
        case .revoke(let peer, let takingBack): "remove the device \(peer)\(Self.words(takingBack))"
        case .merge: "merge the policies of one number"
        case .limit(let logs, let records):
            "limit "
                + [logs.map { "a device to \($0) logs" }, records.map { "an account to \($0) records in a table" }].compactMap(\.self)
                .joined(separator: " and ")
        case .access(let table, .creator(let column)): "let each account change the records of \(table) that name it in \(column)"
        case .access(let table, .role(let role)): "let the holders of the role \(role) change the records of \(table)"
        case .admission(.open): "let every account contribute"
        case .admission(.registrars(let keys)): "let the accounts contribute that one of \(keys.count) registrars admits"
        case .succeed(let policy): "make this device the steward\(policy.map { " after the policy \($0)" } ?? "")"
        }
    }

    private static func words(_ takingBack: TakingBack) -> String {
        takingBack == .nothing ? "" : ", taking back \(takingBack.description.replacing("\n", with: ", "))"
    }

    static let statement = "CREATE TABLE ubiquity_scope_request (number INTEGER PRIMARY KEY, request TEXT NOT NULL)"

    /// A request in a store's queue.
    package struct Waiting: Hashable, Sendable {
        /// The place in the queue.
        package var number: Int64
        /// The request; nil if a newer version has stored it.
        package var request: ScopeRequest?
    }

    /// Returns the requests of a store that wait, in their order.
    package static func list(_ db: Database) throws -> [Waiting] {
        guard try ScopeState.exists(db) else { return [] }
        return try Row.fetchAll(db, sql: "SELECT number, request FROM ubiquity_scope_request ORDER BY number").map { row in
            Waiting(
                number: row["number"], request: (try? JSONDecoder().decode(Form.self, from: Data((row["request"] as String).utf8)))?.request)
        }
    }

    /// Stores the request after the others.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a store without a scope; GRDB's errors.
    package func ask(_ db: Database) throws {
        guard try ScopeState.exists(db) else {
            throw UbiquitousStoreError(.unsupported, "The store lies in a container of one account, which has no policies.")
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(Form(self)), as: UTF8.self)
        try db.execute(sql: "INSERT INTO ubiquity_scope_request (request) VALUES (?)", arguments: [text])
    }

    /// Removes a request that is done, refused or withdrawn, and returns whether it was there.
    @discardableResult
    package static func drop(_ number: Int64, _ db: Database) throws -> Bool {
        guard try ScopeState.exists(db) else { return false }
        try db.execute(sql: "DELETE FROM ubiquity_scope_request WHERE number = ?", arguments: [number])
        return db.changesCount > 0
    }
}

extension ScopeRequest {
    /// The request as JSON; every value is text or a number.
    private struct Form: Codable {
        var kind: String
        var role: String?
        var account: String?
        var device: String?
        var logs: Int64?
        var records: Int64?
        var table: String?
        var creator: String?
        var registrars: [String]?
        var policy: String?
        var takingBack: TakingBack?

        init(_ request: ScopeRequest) {
            switch request {
            case .grant(let role, let account):
                kind = "grant"
                (self.role, self.account) = (role, account.description)
            case .remove(let role, let account, let takingBack):
                kind = "remove"
                (self.role, self.account, self.takingBack) = (role, account.description, takingBack)
            case .revoke(let peer, let takingBack):
                kind = "revoke"
                (device, self.takingBack) = (peer.description, takingBack)
            case .merge: kind = "merge"
            case .limit(let logs, let records):
                kind = "limit"
                (self.logs, self.records) = (logs, records)
            case .access(let table, let access):
                kind = "access"
                self.table = table
                switch access {
                case .creator(let column): creator = column
                case .role(let name): role = name
                }
            case .admission(let admission):
                kind = "admission"
                if case .registrars(let keys) = admission { registrars = keys.map(\.description).sorted() }
            case .succeed(let policy):
                kind = "succeed"
                self.policy = policy?.description
            }
        }

        /// The request; nil if this version does not know it.
        var request: ScopeRequest? {
            let account = account.flatMap { AccountIdentifier($0) }
            switch kind {
            case "grant": return role.flatMap { role in account.map { .grant(role: role, $0) } }
            case "remove": return role.flatMap { role in account.map { .remove(role: role, $0, takingBack: takingBack ?? .nothing) } }
            case "revoke": return device.flatMap { PeerIdentifier($0) }.map { .revoke($0, takingBack: takingBack ?? .nothing) }
            case "merge": return .merge
            case "limit": return .limit(logs: logs, records: records)
            case "access":
                let access = creator.map(TableAccess.creator) ?? role.map(TableAccess.role)
                return table.flatMap { table in access.map { .access(table: table, $0) } }
            case "admission":
                guard let registrars else { return .admission(.open) }
                let keys = registrars.compactMap { PublicKey($0) }
                return keys.count == registrars.count ? .admission(.registrars(Set(keys))) : nil
            case "succeed":
                guard let policy else { return .succeed(after: nil) }
                return ContentHash(hexadecimal: policy).map { .succeed(after: StatementIdentifier($0)) }
            default: return nil
            }
        }
    }
}
