internal import GRDB
internal import StoreAuthority
internal import StoreFormat
package import StoreRecords

extension Moderation {
    /// Returns the decisions in a store, sorted by their subjects' text.
    ///
    /// - Parameter store: the store.
    /// - Returns: the decisions; none in a container of one account.
    /// - Throws: GRDB's errors.
    package static func decisions(in store: InspectedStore) throws -> [Decision] { try store.read { db in try Moderation(db).decisions } }

    /// Enters or withdraws a moderator's decision, which the app publishes with its next exchange.
    ///
    /// - Parameters:
    ///   - subject: the account or the record.
    ///   - reason: the reason, which everybody can read.
    ///   - isWithdrawn: whether a decision about the subject ends.
    ///   - store: the store.
    /// - Throws: `UbiquitousStoreError` with `unsupported` for a record of a table to which accounts do not contribute,
    ///   and in a container of one account; with `database` if the account is no moderator.
    package static func decide(_ subject: Subject, reason: String?, isWithdrawn: Bool, in store: InspectedStore) throws {
        try store.write { db in
            let moderation = Moderation(db)
            guard !isWithdrawn else { return try moderation.withdraw(from: subject) }
            switch subject {
            case .account(let account): try moderation.block(account, reason: reason)
            case .record(let record):
                try checkContributed(record.table, store, db)
                try moderation.veto(record, reason: reason)
            }
        }
    }

    private static func checkContributed(_ table: String, _ store: InspectedStore, _ db: Database) throws {
        guard let saved = try ScopeState.authority(db), let policy = Authority(saved: saved.bytes)?.policy?.value else { return }
        guard case .creator? = policy.access[table] else {
            let tables = policy.access.compactMap { name, access in if case .creator = access { name } else { nil } }.sorted().joined(separator: ", ")
            throw UbiquitousStoreError(
                .unsupported,
                "“\(table)” is no table to which accounts contribute; those are \(tables). A record of a role's table is deleted by the role.",
                path: store.file)
        }
    }
}
