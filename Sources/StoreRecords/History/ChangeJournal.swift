package import Foundation
package import GRDB
internal import StoreFormat

/// Writes the history of a store file: one row for each transaction that changes records.
///
/// The row is written in the transaction of the changes. It holds the keys and the updated columns of the records, and
/// no values: a reader reads the records themselves.
///
/// The history cannot be derived from what the store holds besides:
///
/// - A clock holds the last stamp of each column, and a dead record none. Stamps are not in the order of taking in, and
///   the clocks have no index by time: finding the newest would read all clocks, or cost each write an index.
/// - The published logs are trimmed, hold changes of registers and not of rows, and a baseline replaces them.
/// - Rows that relations show or hide have no stamp of their own.
///
/// The cost is two short statements for each transaction, and about the bytes of its keys.
package struct ChangeJournal: Sendable {
    /// One row: which file it is, and whether its changes are listed; `number` and `mark` of the last change that is no
    /// longer kept.
    static let trackingStatement =
        "CREATE TABLE ubiquity_tracking (file BLOB NOT NULL, number INTEGER NOT NULL, mark INTEGER NOT NULL, active INTEGER NOT NULL)"
    static let beginStatement = "INSERT INTO ubiquity_tracking VALUES (randomblob(16), 0, random(), 1)"
    /// A row for each transaction: `number` is that of the last of its `count` changes.
    static let historyStatement = """
        CREATE TABLE ubiquity_history (number INTEGER PRIMARY KEY, count INTEGER NOT NULL, time REAL NOT NULL, mark INTEGER NOT NULL, \
        process INTEGER NOT NULL, origin TEXT NOT NULL, bytes BLOB NOT NULL)
        """

    /// Removed changes are looked for whenever this number of changes has been added.
    private static let batch: Int64 = 256

    /// The journal of what happens before a file is open.
    static let ofOpening = ChangeJournal(retention: HistoryRetention(), process: 0)

    /// The number of the process that has made the changes: another number for each opening, and 0 for programs without
    /// one, such as `sqlite3`.
    package let process: Int64
    /// The limits of the history; nil if this process needs none.
    let retention: HistoryRetention?

    /// Creates a journal for one opening of a file.
    package init(retention: HistoryRetention?, process: Int64 = .random(in: 1...Int64.max)) {
        self.retention = retention
        self.process = process
    }

    /// The journal of what other programs have written.
    var ofOthers: ChangeJournal { ChangeJournal(retention: retention, process: 0) }

    /// Returns whether the file lists changes, which another process may have asked for.
    func isActive(_ db: Database) throws -> Bool { try retention != nil || Self.isActive(db) }

    /// Adds the changes of the present transaction.
    ///
    /// - Parameters:
    ///   - draft: the changes.
    ///   - origin: the occasion.
    ///   - now: the time of taking in.
    ///   - db: the store, in the transaction of the changes.
    /// - Throws: GRDB's errors.
    func append(_ draft: ChangeDraft, _ origin: ChangeTransaction.Origin, now: Date, _ db: Database) throws {
        guard draft.count > 0 else { return }
        // One statement that does both would need a temporary table, which takes longer than the two.
        let end = try RawStatement(
            "SELECT coalesce((SELECT max(number) FROM ubiquity_history), number) FROM ubiquity_tracking WHERE active", db)
        defer { end.reset() }
        guard try end.step() else { return }
        let (count, bytes) = draft.encoded
        let last = end.integer(0) + Int64(count)
        end.reset()
        let insert = try RawStatement("INSERT INTO ubiquity_history VALUES (?,?,?,?,?,?,?)", db)
        insert.bind(1, last)
        insert.bind(2, Int64(count))
        insert.bind(3, .real(now.timeIntervalSince1970.bitPattern))
        insert.bind(4, Int64.random(in: .min ... .max))
        insert.bind(5, process)
        insert.bind(6, .text(origin.rawValue))
        insert.bind(7, bytes)
        try insert.run()
        guard let retention, last / Self.batch != (last - Int64(count)) / Self.batch else { return }
        try Self.prune(retention, now: now, db)
    }

    /// Adds whole tables that have changed in the present transaction.
    package func append(whole shapes: [TableShape], _ origin: ChangeTransaction.Origin, now: Date, _ db: Database) throws {
        guard try isActive(db) else { return }
        var draft = ChangeDraft()
        draft.add(whole: shapes)
        try append(draft, origin, now: now, db)
    }

    // MARK: On and off

    /// Returns whether a file has the tables of the history, which an older version has not created.
    static func isInstalled(_ db: Database) throws -> Bool { try db.tableExists("ubiquity_tracking") }

    /// Returns whether a file lists its changes.
    static func isActive(_ db: Database) throws -> Bool {
        let statement = try RawStatement("SELECT active FROM ubiquity_tracking", db)
        defer { statement.reset() }
        return try statement.step() && statement.integer(0) != 0
    }

    /// Creates the tables in a file of an older version.
    private static func install(_ db: Database) throws {
        guard try !isInstalled(db) else { return }
        for statement in [trackingStatement, beginStatement, historyStatement] { try db.execute(sql: statement) }
    }

    /// Begins to list the changes of a file.
    ///
    /// The rows that are there count as one change of their tables. Earlier tokens expire.
    func begin(_ shapes: [TableShape], now: Date, _ db: Database) throws {
        try Self.install(db)
        try db.execute(sql: "UPDATE ubiquity_tracking SET number = number + 1, mark = random(), active = 1 WHERE NOT active")
        let filled = try shapes.filter { try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \($0.name.quotedIdentifier))")! }
        try append(whole: filled, .beginning, now: now, db)
    }

    /// Ends the history of a file: its changes are removed, and no more are listed.
    static func end(_ db: Database) throws {
        try install(db)
        try db.execute(
            sql: """
                UPDATE ubiquity_tracking SET number = coalesce((SELECT max(number) FROM ubiquity_history), number), active = 0;
                DELETE FROM ubiquity_history;
                """)
    }
}

extension ChangeJournal {
    // MARK: Names

    /// Changes the heads of all transactions.
    private static func rewrite(_ db: Database, _ change: (inout PackedChanges) throws -> Void) throws {
        let rows = try RawStatement("SELECT number, bytes FROM ubiquity_history ORDER BY number", db)
        let update = try RawStatement("UPDATE ubiquity_history SET bytes = ? WHERE number = ?", db)
        defer { rows.reset() }
        while try rows.step() {
            let bytes = [UInt8](rows.bytes(1))
            var changes = try ChangeHistory.unpacked(bytes)
            try change(&changes)
            let rewritten = changes.encoded
            guard rewritten != bytes else { continue }
            update.bind(1, rewritten)
            update.bind(2, rows.integer(0))
            try update.run()
        }
    }

    /// Applies new names of tables and columns, after a migration.
    ///
    /// - Parameters:
    ///   - tables: the former tables, each with its present shape; nil if it no longer syncs.
    ///   - db: the store, in a transaction.
    /// - Throws: `UbiquitousStoreError` with `malformed`, or GRDB's errors.
    static func rename(_ tables: [(table: KnownTable, shape: TableShape?)], _ db: Database) throws {
        let changed = tables.filter { table, shape in shape.map { !table.isCurrent($0) } ?? true }
        guard !changed.isEmpty else { return }
        try rewrite(db) { changes in
            for index in changes.tables.indices {
                guard let (_, shape) = changed.first(where: { $0.table.name == changes.tables[index].name }) else { continue }
                changes.tables[index].name = shape?.name ?? ""
                changes.tables[index].columns = changes.tables[index].columns.compactMapValues { name in
                    shape.flatMap { shape in shape.number(of: name).map { shape.columns[$0] } }
                }
            }
        }
    }

    /// Applies new numbers of peers, which a closure returns.
    static func renumberPeers(_ db: Database, _ number: (PeerNumber) throws -> PeerNumber?) throws {
        try rewrite(db) { changes in
            for index in changes.stamps.indices {
                guard let stamp = changes.stamps[index] else { continue }
                changes.stamps[index] = try number(stamp.peer).map { Stamp(stamp.time, $0) }
            }
        }
    }
}
