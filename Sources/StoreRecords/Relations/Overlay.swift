internal import GRDB
internal import StoreFormat

/// The records of contributed tables that are not shown, although their accounts have written them: those of blocked
/// accounts, vetoed ones, and those beyond an account's limit.
///
/// It is a function of the records that are here and of the policy: no device writes anything for it. Such a record is
/// held, as one whose parent is missing is.
final class Overlay {
    private let tables: RelatedTables
    private let limit: RecordLimit
    /// The statement that finds a decision; nil if there is none at all.
    private let decision: RawStatement?
    private var accounts: [RecordValue: String?] = [:]

    /// Returns nil in a store without contributed tables.
    init?(_ tables: RelatedTables, _ db: Database) throws {
        guard tables.shapes.contains(where: { $0.ownerPlace != nil }) else { return nil }
        (self.tables, limit) = (tables, tables.limit!)
        decision = try Self.hasDecisions(db) ? RawStatement("SELECT coalesce(reason, '') FROM \(Moderation.table) WHERE subject = ?", db) : nil
    }

    /// Returns whether a moderator has decided anything.
    static func hasDecisions(_ db: Database) throws -> Bool {
        let any = try RawStatement("SELECT 1 FROM \(Moderation.table) LIMIT 1", db)
        defer { any.reset() }
        return try any.step()
    }

    /// Returns why the record of a key is not shown, or nil if it is.
    func reason(_ table: Int, _ key: [RecordValue]) throws -> String? {
        let shape = tables.shapes[table]
        guard let place = shape.ownerPlace else { return nil }
        if decision != nil {
            if let reason = try accounts[key[place]] ?? block(of: key[place]) { return "its account is blocked\(reason)" }
            if let reason = try find(Array(ObjectID(table: shape.name, key: key).text.utf8)) { return "it is vetoed\(reason)" }
        }
        guard try limit.isBeyond(key, in: table) else { return nil }
        return "its account has more records in “\(shape.name)” than the \(try limit.most) that the policy allows"
    }

    private func block(of account: RecordValue) throws -> String? {
        guard case .text(let name) = account else { return nil }
        let found = try find(Array(name))
        accounts[account.detached] = .some(found)
        return found
    }

    /// Returns the reason of a decision as the end of a sentence, or nil if there is no decision.
    private func find(_ subject: [UInt8]) throws -> String? {
        guard let decision else { return nil }
        decision.bind(1, .text(subject[...]))
        defer { decision.reset() }
        guard try decision.step() else { return nil }
        let reason = decision.text(0) ?? ""
        return reason.isEmpty ? "" : ": \(reason)"
    }

    // MARK: Marking

    /// Marks the records that decisions concern, after the decisions have changed.
    ///
    /// - Parameters:
    ///   - subjects: the keys of the changed decisions.
    ///   - shapes: the synced tables.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    static func mark(_ subjects: some Sequence<String>, _ shapes: [TableShape], _ db: Database) throws {
        for subject in subjects {
            switch Moderation.Subject(subject) {
            case .account(let account):
                for shape in shapes { try OwnedRows(shape)?.mark(all: WriteRights.value(of: account), db) }
            case .record(let record):
                guard let shape = shapes.first(where: { $0.name == record.table }), shape.ownerPlace != nil,
                    record.key.count == shape.keyColumns.count
                else { continue }
                try RelatedTable(shape, db).markUnresolved(record.key)
            case nil: continue
            }
        }
    }

    /// Marks the records that decisions hide, among those that have begun a life.
    ///
    /// - Parameters:
    ///   - owners: the tables and accounts of the records.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    static func mark(begunBy owners: some Sequence<(TableShape, RecordValue)>, _ db: Database) throws {
        guard try hasDecisions(db) else { return }
        for (shape, account) in owners {
            guard case .text(let name) = account else { continue }
            let isBlocked = try Bool.fetchOne(
                db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(Moderation.table) WHERE subject = ?)"),
                arguments: [String(decoding: name, as: UTF8.self)])!
            if isBlocked { try OwnedRows(shape)?.mark(rows: account, db) }
            for record in try vetoed(of: account, in: shape, db) { try RelatedTable(shape, db).markUnresolved(record.key) }
        }
    }

    /// Returns the vetoed records of an account in a table.
    private static func vetoed(of account: RecordValue, in shape: TableShape, _ db: Database) throws -> [ObjectID] {
        guard let place = shape.ownerPlace else { return [] }
        // The subjects of a table, or of an account if its column is the key's first, follow each other.
        let prefix = place == 0 ? ObjectID(table: shape.name, key: [account]).text : ObjectID(table: shape.name, key: []).text
        let statement = try db.cachedStatement(sql: "SELECT subject FROM \(Moderation.table) WHERE subject >= ?1 || '/' AND subject < ?1 || '0'")
        return try String.fetchAll(statement, arguments: [prefix]).compactMap { ObjectID(text: $0) }.filter { record in
            record.key.count == shape.keyColumns.count && record.key[place] == account
        }
    }

    /// Marks all records that are held, before the decisions are read again.
    static func markHeld(_ shapes: [TableShape], _ db: Database) throws {
        for shape in shapes where shape.ownerPlace != nil {
            try db.execute(
                sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable) WHERE held > ''")
        }
    }
}
