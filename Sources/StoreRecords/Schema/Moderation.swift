public import GRDB
public import StoreFormat
internal import UbiquityContainers

/// The moderators' decisions in a store with a scope: blocked accounts, and vetoed records.
///
/// ```swift
/// try await store.write { db in try Moderation(db).block(spammer, reason: "advertises") }
/// try await store.write { db in try Moderation(db).withdraw(from: record) }
/// ```
///
/// Nobody writes another account's record. A decision is a row of a curated table that every such store has, and each
/// device hides what the rows name: the records of a blocked account in tables that accounts contribute to, or one
/// record of such a table. A hidden record keeps all that it holds, goes on being merged, and is shown again once the
/// decision is withdrawn. `UbiquitousStore.held()` lists it with the reason. The accounts that hold the role
/// ``role`` decide.
public struct Moderation {
    /// The table's name, as observations and import notices use it.
    public static let table = "ubiquity_moderation"
    /// The role whose holders decide.
    public static let role = "moderator"

    static let statement = "CREATE TABLE IF NOT EXISTS \(table) (subject TEXT NOT NULL PRIMARY KEY, reason TEXT) WITHOUT ROWID"

    static let shape: TableShape = {
        var shape = TableShape(number: 0, name: table, keyColumns: ["subject"], columns: ["reason"], hasRowid: false)
        shape.access = .role(role)
        return shape
    }()

    /// What a decision is about.
    public enum Subject: Hashable, Sendable {
        /// An account, all of whose records are hidden.
        case account(AccountIdentifier)
        /// A record that an account has contributed.
        case record(ObjectID)

        /// The subject as the table holds it: the account's identifier, or the record's ``ObjectID/text``.
        public var text: String {
            switch self {
            case .account(let account): account.description
            case .record(let record): record.text
            }
        }

        /// Reads a subject; nil for anything else.
        public init?(_ text: String) {
            if let account = AccountIdentifier(text) {
                self = .account(account)
            } else if let record = ObjectID(text: text) {
                self = .record(record)
            } else {
                return nil
            }
        }
    }

    /// A decision.
    public struct Decision: Hashable, Sendable {
        /// What it is about.
        public var subject: Subject
        /// The reason that the moderator gave.
        public var reason: String?
    }

    private let db: Database

    /// Opens the decisions of a store file.
    ///
    /// - Parameter db: a connection to the file; changes need a transaction.
    public init(_ db: Database) { self.db = db }

    /// Hides all records of an account, also later ones.
    ///
    /// - Parameters:
    ///   - account: the account.
    ///   - reason: the reason, which everybody can read.
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a store without a scope; `DatabaseError` if this account
    ///   does not hold ``role``.
    public func block(_ account: AccountIdentifier, reason: String? = nil) throws { try enter(.account(account), reason) }

    /// Hides a record.
    ///
    /// - Parameters:
    ///   - record: a record of a table that accounts contribute to; it need not be here yet.
    ///   - reason: the reason, which everybody can read.
    /// - Throws: `UbiquitousStoreError` with `unsupported` in a store without a scope; `DatabaseError` if this account
    ///   does not hold ``role``.
    public func veto(_ record: ObjectID, reason: String? = nil) throws { try enter(.record(record), reason) }

    /// Withdraws a decision, so that what it hid is shown again.
    ///
    /// - Parameter subject: the account or the record; nothing happens if there is no decision about it.
    /// - Throws: as ``block(_:reason:)``.
    public func withdraw(from subject: Subject) throws {
        try check()
        try db.execute(sql: "DELETE FROM \(Self.table) WHERE subject = ?", arguments: [subject.text])
    }

    /// The decisions, sorted by their subjects' text.
    ///
    /// It is empty in a store without a scope.
    public var decisions: [Decision] {
        get throws {
            guard try db.tableExists(Self.table, in: "main") else { return [] }
            return try Row.fetchAll(db, sql: "SELECT subject, reason FROM \(Self.table) ORDER BY subject").compactMap { row in
                Subject(row["subject"]).map { Decision(subject: $0, reason: row["reason"]) }
            }
        }
    }

    private func enter(_ subject: Subject, _ reason: String?) throws {
        try check()
        try db.execute(
            sql: "INSERT INTO \(Self.table) VALUES (?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason", arguments: [subject.text, reason])
    }

    private func check() throws {
        guard try db.tableExists(Self.table, in: "main") else {
            throw UbiquitousStoreError(
                .unsupported, "The store lies in a container of one account, which nobody moderates; open it with a scope, as in a public container.")
        }
    }
}
