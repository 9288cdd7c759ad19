internal import Foundation
public import GRDB
internal import StoreFormat
internal import UbiquityContainers

/// The history of a store file: the changes of its synced tables, in the order in which the file took them in.
///
/// It works on any connection to the file. In one read, it shows the changes and the records at the same moment:
///
/// ```swift
/// let (changes, notes) = try await store.read { db in
///     let changes = try ChangeHistory(db).changes(since: token)
///     return (changes, try Note.fetchAll(db, keys: …))
/// }
/// ```
///
/// Columns and tables that never leave the device are not in the history.
public struct ChangeHistory {
    let db: Database
    private let process: Int64

    /// Creates the history of a store file.
    ///
    /// - Parameter db: a connection to the file.
    public init(_ db: Database) { self.init(db, process: 0) }

    /// Creates the history, as the process with a number sees it.
    package init(_ db: Database, process: Int64) {
        self.db = db
        self.process = process
    }

    // MARK: Tokens

    /// The position after the last change.
    ///
    /// - Throws: `UbiquitousStoreError` with `unsupported` if the store keeps no history; GRDB's errors.
    public var currentToken: ChangeToken {
        get throws { try token(at: last(), standing()) }
    }

    /// The row of `ubiquity_tracking`.
    private struct Standing {
        var file: [UInt8]
        /// The number of the last change that is no longer kept, and its mark.
        var number: Int64
        var mark: Int64
    }

    private func standing() throws -> Standing {
        guard try ChangeJournal.isInstalled(db), let row = try Row.fetchOne(db, sql: "SELECT file, number, mark, active FROM ubiquity_tracking"),
            row["active"]
        else {
            throw UbiquitousStoreError(
                .unsupported,
                "This store keeps no history of its changes: set `historyRetention` in its options, and open it once with them.")
        }
        return Standing(file: [UInt8](row["file"] as Data), number: row["number"], mark: row["mark"])
    }

    /// The number of the last change; nil if none is kept.
    package func last() throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT max(number) FROM ubiquity_history"))
    }

    private func token(at number: Int64?, _ standing: Standing) throws -> ChangeToken {
        guard let number, number > standing.number else { return ChangeToken(file: standing.file, number: standing.number, mark: standing.mark) }
        return ChangeToken(file: standing.file, number: number, mark: try mark(of: number) ?? 0)
    }

    /// Returns the mark of the transaction that has a change.
    private func mark(of number: Int64) throws -> Int64? {
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT mark FROM ubiquity_history WHERE number >= ? ORDER BY number LIMIT 1"), arguments: [number])
    }

    /// Checks that a token belongs to this file, and that all changes after it are kept.
    private func check(_ token: ChangeToken, _ standing: Standing) throws {
        func refusal(_ code: UbiquitousStoreError.Code, _ reason: String) -> UbiquitousStoreError {
            UbiquitousStoreError(code, "\(reason) Read all records once, and continue with the current token.")
        }
        guard token.file == standing.file else {
            throw refusal(
                .foreignToken, "The token of changes belongs to another file: that of another account or device, or one that has been rebuilt.")
        }
        guard token.number >= standing.number else {
            throw refusal(.tokenExpired, "The token of changes has expired: changes after it are no longer kept.")
        }
        let mark = try token.number == standing.number ? standing.mark : mark(of: token.number)
        guard mark == token.mark else {
            throw refusal(.foreignToken, "The token of changes belongs to another copy of this file, such as one before a backup was restored.")
        }
    }

    // MARK: Changes

    /// Returns the changes after a token.
    ///
    /// - Parameters:
    ///   - token: the position after the changes that the caller has seen; nil for all changes that are kept.
    ///   - limit: the maximum number of changes; nil for all.
    /// - Returns: the changes, with the token to continue from.
    /// - Throws: `UbiquitousStoreError`: `tokenExpired` or `foreignToken` if the token cannot be used, `unsupported` if
    ///   the store keeps no history or the limit is less than 1, `malformed` if the history is damaged; GRDB's errors.
    public func changes(since token: ChangeToken? = nil, limit: Int? = nil) throws -> StoreChanges {
        guard limit ?? 1 >= 1 else { throw UbiquitousStoreError(.unsupported, "A limit of changes is a number from 1, not \(limit!).") }
        let standing = try standing()
        if let token { try check(token, standing) }
        var page = Page(start: token?.number ?? standing.number, limit: limit ?? .max)
        let peers = try peers
        try read(from: page.start) { row in
            guard page.count < page.limit else { return false }
            try page.add(row, peers: peers, process: process)
            return page.count < page.limit
        }
        let last = try last() ?? standing.number
        return StoreChanges(
            transactions: page.transactions, token: try self.token(at: page.position, standing), hasMore: page.position < last,
            isComplete: token != nil || standing.number == 0)
    }

    /// Returns the changes after a number that other processes have made.
    ///
    /// - Parameter start: the number of the last change that is known.
    /// - Returns: the changes; nil if they are not kept.
    /// - Throws: as ``changes(since:limit:)``.
    package func foreignChanges(since start: Int64) throws -> StoreChanges? {
        guard try ChangeJournal.isInstalled(db), try ChangeJournal.isActive(db) else { return nil }
        let standing = try standing()
        guard start >= standing.number else { return nil }
        var page = Page(start: start, limit: .max)
        let peers = try peers
        try read(from: start, where: "process <> \(process)") { row in
            try page.add(row, peers: peers, process: process)
            return true
        }
        return StoreChanges(transactions: page.transactions, token: try token(at: last(), standing), hasMore: false, isComplete: true)
    }

    /// Calls a body with the rows that have a change after a number, until the body returns false.
    func read(from start: Int64, where condition: String = "true", _ body: (HistoryRow) throws -> Bool) throws {
        let rows = try RawStatement(
            "SELECT number, count, time, process, origin, bytes FROM ubiquity_history WHERE number > ? AND (\(condition)) ORDER BY number", db,
            isCached: false)
        rows.bind(1, start)
        defer { rows.reset() }
        while try rows.step() {
            let row = HistoryRow(
                number: rows.integer(0), count: rows.integer(1), time: Date(timeIntervalSince1970: rows.real(2)), process: rows.integer(3),
                origin: rows.text(4).flatMap(ChangeTransaction.Origin.init) ?? .sync, changes: try Self.unpacked([UInt8](rows.bytes(5))))
            guard try body(row) else { return }
        }
    }

    /// Reads the stored changes of a transaction.
    static func unpacked(_ bytes: [UInt8]) throws -> PackedChanges {
        do {
            return try PackedChanges(decoding: bytes)
        } catch {
            throw damaged
        }
    }

    static let damaged = UbiquitousStoreError(
        .malformed, "The history of changes in the store file is damaged. Read all records once, and open the store once without a history.")

    /// The peers, and this store's own.
    var peers: Peers { get throws { try Peers(db) } }

    /// The peers that a store file knows.
    struct Peers {
        let table: PeerTable
        let own: PeerIdentifier?

        init(_ db: Database) throws {
            table = try StoreKnowledge.peers(db)
            own = try String.fetchOne(db, sql: "SELECT peer FROM ubiquity_state").flatMap { PeerIdentifier($0) }
        }

        func author(_ number: PeerNumber, isOwn: Bool = false) -> ChangeAuthor? {
            table[number].map { ChangeAuthor(peer: $0, isThisDevice: isOwn || $0 == own) }
        }
    }
}

/// A row of `ubiquity_history`.
struct HistoryRow {
    /// The number of its last change.
    var number: Int64
    var count: Int64
    var time: Date
    var process: Int64
    var origin: ChangeTransaction.Origin
    var changes: PackedChanges
}

/// Some changes of a history, while they are read.
private struct Page {
    /// The number of the last change before them.
    let start: Int64
    let limit: Int
    /// The number of the last change that has been read.
    private(set) var position: Int64
    private(set) var count = 0
    private(set) var transactions: [ChangeTransaction] = []

    init(start: Int64, limit: Int) {
        self.start = start
        self.limit = limit
        position = start
    }

    mutating func add(_ row: HistoryRow, peers: ChangeHistory.Peers, process: Int64) throws {
        var number = row.number - row.count
        var stamp: Stamp?
        var isFirst = true
        do {
            try row.changes.forEach { author, table, kind, columns, key in
                number += 1
                guard number > start else { return true }
                guard count < limit else { return false }
                position = number
                // A table that no longer syncs.
                guard !table.name.isEmpty else { return true }
                count += 1
                if isFirst || author != stamp {
                    (isFirst, stamp) = (false, author)
                    let time = author.flatMap { $0.time == .least ? nil : $0.time.date }
                    transactions.append(
                        ChangeTransaction(
                            origin: row.origin, author: author.flatMap { peers.author($0.peer, isOwn: row.origin == .save) }, written: time,
                            takenIn: row.time, isOwn: row.process == process, changes: []))
                }
                transactions[transactions.count - 1].changes.append(Self.change(table, kind, columns, key))
                return true
            }
        } catch is WireReader.Fault {
            throw ChangeHistory.damaged
        }
    }

    private static func change(_ table: PackedChanges.Table, _ kind: ChangeRun.Kind, _ columns: ColumnSet, _ key: [RecordValue])
        -> ChangeTransaction.Change
    {
        let record = ObjectID(table: table.name, key: key)
        return switch kind {
        case .inserted: .inserted(record)
        case .updated: .updated(record, columns: columns.numbers.compactMap { table.columns[$0] })
        case .deleted: .deleted(record)
        case .whole: .wholeTable(table.name)
        }
    }
}
