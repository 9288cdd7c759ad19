internal import Foundation
package import GRDB
package import StoreFormat
internal import UbiquityContainers

/// The position of a store in a container with a scope: the one row of `ubiquity_scope`.
///
/// A store in a plain container has no such table.
package struct ScopeState: Hashable, Sendable {
    /// The container.
    package var container: ScopeIdentifier
    /// The policy that is in effect here.
    package var policy: StatementIdentifier?
    /// The statement or enrolment that names this store's device and key; nil while the store only reads.
    package var certificate: StatementIdentifier?
    /// The greatest stamp written or seen in the tables that role holders write.
    package var clock: HybridTime

    package init(container: ScopeIdentifier, policy: StatementIdentifier? = nil, certificate: StatementIdentifier? = nil, clock: HybridTime = .least)
    {
        (self.container, self.policy, self.certificate, self.clock) = (container, policy, certificate, clock)
    }

    static let statements = [
        // `authority`: what an earlier version saved in place of `ubiquity_statement`; NULL since the next save.
        "CREATE TABLE ubiquity_scope (container BLOB NOT NULL, policy BLOB, certificate BLOB, clock INTEGER NOT NULL, authority BLOB, generation INTEGER NOT NULL)",
        statementTable,
        // The logs that the base of a domain holds: the last one of each branch, by the domain's account, empty for the roles.
        "CREATE TABLE ubiquity_held (account BLOB NOT NULL, peer TEXT NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, PRIMARY KEY (account, peer, sequence, hash)) WITHOUT ROWID",
        RejectedLog.statement,
        ScopeRequest.statement,
    ]

    /// The verified statements, and which are in effect: the entries of an `Authority`.
    ///
    /// What has been in effect cannot be taken back by removing a file.
    static let statementTable = "CREATE TABLE IF NOT EXISTS ubiquity_statement (key BLOB PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID"

    /// Creates the tables of a store in a container with a scope.
    package static func create(_ container: ScopeIdentifier, _ db: Database) throws {
        for statement in statements { try db.execute(sql: statement) }
        try db.execute(sql: "INSERT INTO ubiquity_scope VALUES (?,NULL,NULL,0,NULL,0)", arguments: [Data(container.hash.bytes)])
    }

    /// Returns whether a store lies in a container with a scope.
    package static func exists(_ db: Database) throws -> Bool { try db.tableExists("ubiquity_scope", in: "main") }

    /// Reads the row.
    package static func read(_ db: Database) throws -> ScopeState {
        let row = try RawStatement("SELECT container, policy, certificate, clock FROM ubiquity_scope", db)
        defer { row.reset() }
        guard try row.step(), let container = ContentHash(bytes: row.bytes(0)) else {
            throw UbiquitousStoreError(
                .malformed, "The store's own state is damaged; move the file aside, and it is filled again from the container.")
        }
        return ScopeState(
            container: ScopeIdentifier(container), policy: ContentHash(bytes: row.bytes(1)).map(StatementIdentifier.init),
            certificate: ContentHash(bytes: row.bytes(2)).map(StatementIdentifier.init), clock: HybridTime(rawValue: row.integer(3)))
    }

    /// Saves the row.
    package func update(_ db: Database) throws {
        try db.cachedStatement(sql: "UPDATE ubiquity_scope SET policy = ?, certificate = ?, clock = ?").execute(arguments: [
            policy.map { Data($0.hash.bytes) }, certificate.map { Data($0.hash.bytes) }, clock.rawValue,
        ])
    }

    /// Returns the rights that this store's logs claim.
    ///
    /// - Throws: `UbiquitousStoreError` with `readOnly` if the store only reads.
    static func rights(_ db: Database) throws -> LogRights {
        let state = try read(db)
        guard let policy = state.policy, let certificate = state.certificate else {
            throw UbiquitousStoreError(
                .readOnly,
                "This device is not enrolled in the container \(state.container), so nothing can be saved there; enrol it with: ubcontrol account")
        }
        return LogRights(container: state.container, policy: policy, certificate: certificate)
    }
}

extension ScopeState {
    /// Returns the saved statements, as `Authority(saved:)` reads them; nil before the first.
    package static func authority(_ db: Database) throws -> (bytes: [UInt8], generation: Int64)? {
        let row = try RawStatement("SELECT authority, generation FROM ubiquity_scope", db)
        defer { row.reset() }
        guard try row.step(), case let generation = row.integer(1), generation > 0 else { return nil }
        if !row.isNull(0) { return (Array(row.bytes(0)), generation) }
        var bytes: [UInt8] = []
        let entries = try RawStatement("SELECT entry FROM ubiquity_statement ORDER BY key", db)
        defer { entries.reset() }
        while try entries.step() { bytes += entries.bytes(0) }
        return (bytes, generation)
    }

    /// Returns the number of times that the statements have been saved.
    package static func generation(_ db: Database) throws -> Int64 {
        let row = try RawStatement("SELECT generation FROM ubiquity_scope", db)
        defer { row.reset() }
        return try row.step() ? row.integer(0) : 0
    }

    /// Returns the number of times that the statements had been saved when their entries were last written; nil if there
    /// are none, as in a file of an earlier version.
    package static func entriesGeneration(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db, sql: "SELECT generation FROM ubiquity_scope WHERE generation > 0 AND authority IS NULL")
    }

    /// Saves changed statements.
    ///
    /// - Parameters:
    ///   - added: the new entries of the authority, each with its key.
    ///   - removed: the keys of entries that go.
    ///   - isWhole: whether the new entries are all.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    package static func save(
        added: some Sequence<(key: [UInt8], entry: [UInt8])>, removed: some Sequence<[UInt8]>, isWhole: Bool, _ db: Database
    ) throws {
        if isWhole { try db.execute(sql: "DELETE FROM ubiquity_statement") }
        let remove = try RawStatement("DELETE FROM ubiquity_statement WHERE key = ?", db)
        for key in removed {
            remove.bind(1, key)
            try remove.run()
        }
        let add = try RawStatement("INSERT INTO ubiquity_statement VALUES (?,?) ON CONFLICT DO UPDATE SET entry = excluded.entry", db)
        for (key, entry) in added {
            add.bind(1, key)
            add.bind(2, entry)
            try add.run()
        }
        try db.cachedStatement(sql: "UPDATE ubiquity_scope SET authority = NULL, generation = generation + 1").execute()
    }

    /// Returns the logs that the bases of the domains hold.
    package static func held(_ db: Database) throws -> [Domain: Knowledge] {
        try Row.fetchAll(db, sql: "SELECT * FROM ubiquity_held").reduce(into: [:]) { held, row in
            guard let peer = PeerIdentifier(row["peer"] as String), let hash = ContentHash(bytes: row["hash"] as Data) else { return }
            let account = ContentHash(bytes: row["account"] as Data).map(AccountIdentifier.init)
            held[account.map(Domain.slice) ?? .roles, default: Knowledge()].insert(.init(sequence: row["sequence"], hash: hash), of: peer)
        }
    }

    /// Records the logs that the base of a domain holds; none without a base.
    package static func setHeld(_ knowledge: Knowledge, of domain: Domain, _ db: Database) throws {
        let account: [UInt8] = if case .slice(let account) = domain { account.hash.bytes } else { [] }
        try db.execute(sql: "DELETE FROM ubiquity_held WHERE account = ?", arguments: [Data(account)])
        for (peer, position) in knowledge.entries {
            try db.execute(
                sql: "INSERT INTO ubiquity_held VALUES (?,?,?,?)",
                arguments: [Data(account), peer.description, position.sequence, Data(position.hash.bytes)])
        }
    }
}
