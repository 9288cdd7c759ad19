internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// The store's own tables and their version.
enum StoreTables {
    /// The version of the store's own tables in a store file.
    ///
    /// A file with a newer version is refused and stays untouched.
    static let format = 1

    static let statements = [
        "CREATE TABLE ubiquity_state (format INTEGER NOT NULL, account TEXT NOT NULL, container TEXT NOT NULL, content TEXT NOT NULL, peer TEXT NOT NULL, epoch INTEGER NOT NULL, sequence INTEGER NOT NULL, predecessor BLOB, clock INTEGER NOT NULL, attached INTEGER NOT NULL, receipt INTEGER NOT NULL, successor TEXT, place TEXT NOT NULL, gathered INTEGER NOT NULL DEFAULT 0, given TEXT, paused INTEGER NOT NULL DEFAULT 0, request TEXT)",
        // Set only inside an import's transaction: an app's triggers may read it.
        "CREATE TABLE ubiquity_import (active INTEGER NOT NULL)",
        "INSERT INTO ubiquity_import VALUES (\(Capture.Mode.noting.rawValue))",
        "CREATE TABLE ubiquity_table (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, key TEXT NOT NULL, columns TEXT NOT NULL)",
        "CREATE TABLE ubiquity_peer (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
        // The last log of each branch of each other peer; `told`: whether one of this peer's logs has reported it.
        "CREATE TABLE ubiquity_knowledge (peer INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, told INTEGER NOT NULL, PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID",
        // Every log that was taken in or published, to look up exactly one; `time` is the highest stamp in it.
        "CREATE TABLE ubiquity_log (peer INTEGER NOT NULL, sequence INTEGER NOT NULL, hash BLOB NOT NULL, time INTEGER NOT NULL, PRIMARY KEY (peer, sequence, hash)) WITHOUT ROWID",
        // `open`: the log has not been released, and may be merged with the next.
        "CREATE TABLE ubiquity_outbox (sequence INTEGER PRIMARY KEY, hash BLOB NOT NULL, time INTEGER NOT NULL, open INTEGER NOT NULL, bytes BLOB NOT NULL)",
        "CREATE TABLE ubiquity_adoption (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL, whole INTEGER NOT NULL, columns INTEGER NOT NULL, place BLOB)",
        Retirements.statement,
        Holes.statement,
        LargeValues.statement,
        StoreJoin.statement,
        Rebirths.statement,
        ConflictHistory.statement,
        ConflictRecorder.statement,
        CheckInspector.statement,
        "CREATE TABLE ubiquity_quarantine (peer TEXT NOT NULL, file TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL, record TEXT, since REAL NOT NULL, PRIMARY KEY (peer, file)) WITHOUT ROWID",
    ]
}

extension StoreTables {
    /// Deletes every record and every log in an import's transaction; the store's own state stays.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables.
    ///   - keepingFacts: whether same-as facts and retirements stay.
    ///   - db: a connection with foreign keys off.
    /// - Throws: GRDB's errors.
    static func clearContent(_ shapes: [TableShape], keepingFacts: Bool, _ db: Database) throws {
        for shape in shapes {
            let tables =
                [
                    shape.name.quotedIdentifier, shape.clockTable, shape.deadTable, shape.captureTable, shape.asideTable, shape.unresolvedTable,
                ] + (shape.exclusives.isEmpty ? [] : [shape.movedTable])
            try CaptureTriggers(shape).suspended(db) {
                for table in tables + (keepingFacts ? [] : [shape.sameTable]) { try db.execute(sql: "DELETE FROM main.\(table)") }
            }
        }
        let others = ["knowledge", "log", "hole", "seen", "broken", "quarantine"] + (keepingFacts ? [] : ["retired"])
        for table in others { try db.execute(sql: "DELETE FROM ubiquity_\(table)") }
    }
}

/// The identity and position of a store in the exchange of logs: the one row of `ubiquity_state`.
struct StoreState {
    var account: String
    var container: String
    var content: String
    var peer: PeerIdentifier
    var epoch: Int64
    /// The sequence of the last sealed log.
    var sequence: Int64
    var predecessor: ContentHash?
    /// The highest stamp written or seen.
    var clock: HybridTime
    /// Whether this store's directory in the content has been created; after that, a missing one is never created
    /// again.
    var attached: Bool
    /// The number of the last receipt written.
    var receipt: Int64
    /// The identifier that replaces `peer`, from the moment it is chosen until its directory exists.
    var successor: PeerIdentifier?
    /// The purpose of the file; it never changes.
    var place = StoreFilePlace.store
    /// Whether the exchange is paused.
    var paused = false
    /// The unfinished request of another program.
    var request: StoreRequest?

    static func read(_ db: Database) throws -> StoreState {
        // A raw statement, because every save reads the row.
        let row = try RawStatement(
            "SELECT peer, epoch, sequence, predecessor, clock, attached, receipt, successor, account, container, content, place, paused, request FROM ubiquity_state",
            db)
        defer { row.reset() }
        guard try row.step(), let peer = row.text(0).flatMap({ PeerIdentifier($0) }), let account = row.text(8), let container = row.text(9),
            let content = row.text(10), let place = row.text(11).flatMap(StoreFilePlace.init)
        else {
            throw UbiquitousStoreError(
                .malformed, "The store's own state is damaged; move the file aside, and it is filled again from the container.")
        }
        return StoreState(
            account: account, container: container, content: content, peer: peer, epoch: row.integer(1), sequence: row.integer(2),
            predecessor: ContentHash(bytes: row.bytes(3)), clock: HybridTime(rawValue: row.integer(4)), attached: row.integer(5) != 0,
            receipt: row.integer(6), successor: row.text(7).flatMap { PeerIdentifier($0) }, place: place,
            paused: row.integer(12) != 0, request: row.text(13).flatMap(StoreRequest.init))
    }

    func insert(_ db: Database) throws {
        try db.execute(
            sql: "INSERT INTO ubiquity_state VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,0,NULL,0,NULL)",
            arguments: [
                StoreTables.format, account, container, content, peer.description, epoch, sequence, predecessor.map { Data($0.bytes) },
                clock.rawValue,
                attached, receipt, successor?.description, place.rawValue,
            ])
    }

    /// Saves the values that an exchange changes; the others stay as they are in the file.
    func update(_ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: "UPDATE ubiquity_state SET peer = ?, epoch = ?, sequence = ?, predecessor = ?, clock = ?, attached = ?, receipt = ?, successor = ?")
        try statement.execute(arguments: [
            peer.description, epoch, sequence, predecessor.map { Data($0.bytes) }, clock.rawValue, attached, receipt, successor?.description,
        ])
    }
}
