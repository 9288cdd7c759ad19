package import GRDB
internal import StoreFormat

/// The limit of an account's living records in a table: the first ones, in the order of their keys, are shown.
///
/// Which ones these are follows from the records that are here, and only the account can influence it. The number of an
/// account's records is kept as an upper bound, in `ubiquity_population`, and counted only where it could exceed the
/// limit, so that a save does not count rows. A bound that is missing is unknown.
package final class RecordLimit {
    private struct Owner: Hashable {
        var table: Int
        var account: RecordValue
    }

    static let statement = """
        CREATE TABLE IF NOT EXISTS ubiquity_population (number INTEGER NOT NULL, account TEXT NOT NULL, records INTEGER NOT NULL, \
        PRIMARY KEY (number, account)) WITHOUT ROWID
        """

    private let shapes: [TableShape]
    private let db: Database
    /// The number of records that have begun a life in this transaction and are not in the bounds yet.
    private var begun: [Owner: Int64] = [:]
    /// The owner of the last one; most follow one of the same owner.
    private var latest: (owner: Owner, count: Int64)?
    private var ended: Set<Owner> = []
    /// The last key within the limit, of each account that was asked for.
    private var last: [Owner: [RecordValue]?] = [:]
    private var cachedMost: Int64?

    init(_ shapes: [TableShape], _ db: Database) { (self.shapes, self.db) = (shapes, db) }

    /// The number of records of an account that are shown in a table.
    var most: Int64 {
        get throws {
            if let cachedMost { return cachedMost }
            let most = try AuthorityRow.limit(db)
            cachedMost = most
            return most
        }
    }

    // MARK: What changes

    /// Notes that a record has begun a life.
    func begin(_ key: [RecordValue], in table: Int) { if let place = shapes[table].ownerPlace { begin(ownedBy: key[place], in: table) } }

    /// Notes that a record of an account has begun a life.
    func begin(ownedBy account: RecordValue, in table: Int) {
        if let latest, latest.owner.table == table, latest.owner.account == account {
            self.latest!.count += 1
            return
        }
        endRun()
        // Values from a statement are valid only for a moment.
        latest = (Owner(table: table, account: account.detached), 1)
    }

    private func endRun() {
        if let latest { begun[latest.owner, default: 0] += latest.count }
        latest = nil
    }

    /// Notes that a record has ended its life.
    func end(_ key: [RecordValue], in table: Int) { if let owner = owner(of: key, in: table) { ended.insert(owner) } }

    private func owner(of key: [RecordValue], in table: Int) -> Owner? {
        guard let place = shapes[table].ownerPlace else { return nil }
        return Owner(table: table, account: key[place].detached)
    }

    /// Enters what was noted into the bounds, and marks the records that may come to be hidden or shown by it.
    func settle() throws {
        endRun()
        guard !begun.isEmpty || !ended.isEmpty else { return }
        try Overlay.mark(begunBy: begun.keys.map { (shapes[$0.table], $0.account) }, db)
        let counted = try Set(begun.keys.map(\.table)).filter(countAtOnce)
        for owner in Set(begun.keys).union(ended) where !counted.contains(owner.table) {
            if let new = begun[owner] {
                if try raise(by: new, of: owner) { continue }
            } else if let bound = try bound(of: owner), bound <= (try most) {
                continue
            }
            try count(owner)
        }
        (begun, ended, last) = ([:], [], [:])
    }

    /// The number of accounts from which on their records are counted in one pass.
    private static let many = 64

    /// Counts the records of all accounts in a table in one pass, and returns whether it has: if many accounts' records have
    /// begun whose bounds are unknown, as in a table that has just been filled.
    private func countAtOnce(_ table: Int) throws -> Bool {
        let shape = shapes[table]
        let owners = begun.keys.filter { $0.table == table }
        guard owners.count >= Self.many, let rows = OwnedRows(shape), try owners.count(where: { try bound(of: $0) == nil }) >= Self.many else {
            return false
        }
        try Self.forget([shape], db)
        try rows.enterBounds(db)
        for account in try rows.accounts(withBoundAbove: most, db) { try count(Owner(table: table, account: account)) }
        try rows.markAsides(db)
        return true
    }

    private func count(_ owner: Owner) throws {
        let rows = OwnedRows(shapes[owner.table])!
        let before = try bound(of: owner)
        var now = try rows.bound(owner.account, db)
        if now > (try most) { now = try rows.count(owner.account, db) }
        try set(now, of: owner)
        if now > (try most) {
            guard try most > 0, let last = try rows.key(at: most - 1, of: owner.account, db) else { return try rows.mark(all: owner.account, db) }
            try rows.mark(rowsAfter: last, owner.account, db)
        } else if try before.map({ try $0 > most }) ?? true {
            // Some may be hidden from the time before the bound was forgotten.
            try rows.mark(asides: owner.account, db)
        }
    }

    /// Returns an account's bound; nil if it is unknown.
    private func bound(of owner: Owner) throws -> Int64? {
        let statement = try RawStatement("SELECT records FROM ubiquity_population WHERE number = ? AND account = ?", db)
        bind(owner, to: statement)
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    /// Raises an account's bound, and returns false if it is unknown or would exceed the limit.
    private func raise(by count: Int64, of owner: Owner) throws -> Bool {
        let statement = try RawStatement(
            """
            UPDATE ubiquity_population SET records = records + ?3 WHERE number = ?1 AND account = ?2
            AND records + ?3 <= (SELECT records FROM \(AuthorityRow.table) WHERE number = \(AuthorityRow.number))
            """, db)
        bind(owner, to: statement)
        statement.bind(3, count)
        try statement.run()
        return db.changesCount > 0
    }

    private func set(_ records: Int64, of owner: Owner) throws {
        let statement = try RawStatement("INSERT OR REPLACE INTO ubiquity_population VALUES (?,?,?)", db)
        bind(owner, to: statement)
        statement.bind(3, records)
        try statement.run()
    }

    private func bind(_ owner: Owner, to statement: RawStatement) {
        statement.bind(1, shapes[owner.table].number)
        statement.bind(2, owner.account)
    }

    // MARK: What is hidden

    /// Returns whether a record comes after the last one that the limit lets be shown.
    func isBeyond(_ key: [RecordValue], in table: Int) throws -> Bool {
        guard let owner = owner(of: key, in: table) else { return false }
        if last[owner] == nil { last[owner] = .some(try lastKey(of: owner)) }
        guard let last = last[owner]! else { return false }
        return try most == 0 || RecordValue.precedes(last, key)
    }

    /// Returns the last key that is shown; nil if the account is within its limit.
    private func lastKey(of owner: Owner) throws -> [RecordValue]? {
        if let bound = try bound(of: owner), bound <= (try most) { return nil }
        let rows = OwnedRows(shapes[owner.table])!
        guard try rows.count(owner.account, db) > most else { return nil }
        return try rows.key(at: max(0, most - 1), of: owner.account, db)
    }

    // MARK: Other occasions

    /// Marks what is to be hidden in a table, or in a part of one, that had no record until it was filled.
    ///
    /// `accounts` is a condition without the name of its column; nil for all. Only the bounds of accounts beyond the limit
    /// are entered. The records aside are marked already.
    func examine(filled accounts: String?, in table: Int) throws {
        let shape = shapes[table]
        let rows = OwnedRows(shape)!
        for account in try rows.accounts(accounts, withMoreThan: most, db) { try count(Owner(table: table, account: account)) }
        if try Overlay.hasDecisions(db) { try Overlay.mark(begunBy: rows.owners(accounts, db).map { (shape, $0) }, db) }
    }

    /// Forgets how many records accounts have, because they are replaced.
    ///
    /// `accounts` is a condition without the name of its column; nil for all.
    static func forget(_ shapes: [TableShape], accounts: String? = nil, _ db: Database) throws {
        let condition = accounts.map { " AND account \($0)" } ?? ""
        for shape in shapes where shape.ownerPlace != nil {
            try db.execute(sql: "DELETE FROM ubiquity_population WHERE number = ?\(condition)", arguments: [shape.number])
        }
    }

    /// Sets the limit of a policy, and marks the records that may come to be hidden or shown by it.
    ///
    /// - Parameters:
    ///   - limit: the number of living records of an account in a table that are shown.
    ///   - shapes: the synced tables.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    package static func set(_ limit: Int64, _ shapes: [TableShape], _ db: Database) throws {
        let before = try AuthorityRow.limit(db)
        guard before != limit else { return }
        try AuthorityRow.setLimit(limit, db)
        for rows in shapes.compactMap(OwnedRows.init) {
            for account in try rows.accounts(withMoreThan: min(before, limit), db) { try rows.mark(all: account, db) }
        }
        // A bound says nothing about accounts that were counted against another limit.
        try forget(shapes, db)
    }
}
