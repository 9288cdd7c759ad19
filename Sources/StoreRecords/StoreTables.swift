internal import Foundation
package import GRDB

/// The store's own tables and their version.
package enum StoreTables {
    /// The version of the store's own tables in a store file.
    package static let format = StoreState.format

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
        // How far what was saved in another file of the store has been joined into this one.
        "CREATE TABLE ubiquity_joined (source TEXT PRIMARY KEY, sequence INTEGER NOT NULL, hash BLOB, conflict INTEGER NOT NULL) WITHOUT ROWID",
        // How many lives later a record from another file of the store begins than that says.
        "CREATE TABLE ubiquity_rebirth (source TEXT NOT NULL, record TEXT NOT NULL, lives INTEGER NOT NULL, PRIMARY KEY (source, record)) WITHOUT ROWID",
        ConflictHistory.statement,
        ChangeJournal.trackingStatement,
        ChangeJournal.beginStatement,
        ChangeJournal.historyStatement,
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
    package static func clearContent(_ shapes: [TableShape], keepingFacts: Bool, _ db: Database) throws {
        for shape in shapes {
            try CaptureTriggers(shape).suspended(db) {
                for table in records(of: shape, withFacts: !keepingFacts) { try db.execute(sql: "DELETE FROM main.\(table.quotedIdentifier)") }
            }
        }
        for table in knowledge(withFacts: !keepingFacts) { try db.execute(sql: "DELETE FROM \(table)") }
    }

    /// Returns the tables whose rows ``clearContent(_:keepingFacts:_:)`` deletes.
    package static func content(_ shapes: [TableShape], keepingFacts: Bool) -> [String] {
        shapes.flatMap { records(of: $0, withFacts: !keepingFacts) } + knowledge(withFacts: !keepingFacts)
    }

    /// Returns the names of the tables that hold the records of a synced table.
    private static func records(of shape: TableShape, withFacts: Bool) -> [String] {
        [shape.name, shape.clockTable, shape.deadTable, shape.captureTable, shape.asideTable, shape.unresolvedTable]
            + (shape.exclusives.isEmpty ? [] : [shape.movedTable]) + (withFacts ? [shape.sameTable] : [])
    }

    /// Returns the names of the tables that tell which logs the records come from, and what is wrong with others.
    private static func knowledge(withFacts: Bool) -> [String] {
        ["knowledge", "log", "hole", "seen", "broken", "quarantine"].map { "ubiquity_\($0)" } + (withFacts ? ["ubiquity_retired"] : [])
    }
}
