package import Foundation
internal import GRDB
package import StoreFormat
package import StoreRecords
package import SystemPackage
internal import UbiquityContainers

/// Writes the registers of a store as a baseline.
package struct BaselineWriter {
    /// The store's SQLite file.
    package let store: FilePath
    package let shapes: [TableShape]
    package let schemaVersion: String
    package let now: Date
    /// The part of the store that is written; nil for all records.
    var part: (any RecordPart)?
    /// Returns the greatest stamp that the baseline may hold, which its header says; nil for the store's clock.
    var clock: ((Database) throws -> HybridTime)?
    /// Whether a peer's logs are counted as held; nil for all peers.
    var holds: ((PeerIdentifier) -> Bool)?
    /// Whether deaths are written, with the keys of the dead records.
    var tellsDeaths = true

    package init(store: FilePath, shapes: [TableShape], schemaVersion: String, now: Date) {
        self.store = store
        self.shapes = shapes
        self.schemaVersion = schemaVersion
        self.now = now
    }

    /// Writes a draft from one snapshot of the store.
    ///
    /// It takes no lock that blocks a save, and memory for a few pages.
    ///
    /// - Parameters:
    ///   - draft: the path of a file that does not exist yet. A crash leaves the file unfinished.
    ///   - sequence: the number of the baseline.
    /// - Returns: the knowledge that the baseline holds. It is nil if the store has unpublished changes, which no other
    ///   peer's knowledge could name.
    /// - Throws: GRDB's errors.
    package func write(to draft: FilePath, sequence: Int64) throws -> Knowledge? {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // No other program knows the file. After a crash it is written again from the start.
            try db.execute(sql: "PRAGMA main.journal_mode = OFF; PRAGMA main.synchronous = OFF; PRAGMA main.locking_mode = EXCLUSIVE")
        }
        let queue = try DatabaseQueue(path: draft.string, configuration: configuration)
        let knowledge = try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA application_id = \(BaselineSchema.applicationID); PRAGMA user_version = \(BaselineSchema.format)")
            try db.execute(sql: "ATTACH DATABASE ? AS store", arguments: [AttachedDatabase.readOnly(store)])
            defer { try? db.execute(sql: "DETACH DATABASE store") }
            // Rows are read in the order of their keys, not of the pages. SQLite's default cache of 2 MB would read
            // pages again and again.
            try db.execute(sql: "PRAGMA store.cache_size = -65536")
            var knowledge: Knowledge?
            try db.inTransaction(.deferred) {
                knowledge = try write(sequence, db)
                return .commit
            }
            return knowledge
        }
        try queue.close()
        return knowledge
    }

    private func write(_ sequence: Int64, _ db: Database) throws -> Knowledge? {
        let state = try StoreState.read(db)
        let hasNotes = try shapes.contains { try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM store.\($0.captureTable))")! }
        guard state.attached, state.successor == nil, !hasNotes, try Outbox.isEmpty(db), try !Adopter.isPending(db),
            try !RelatedTables.hasUnresolved(shapes, db)
        else { return nil }
        let written = part?.shapes ?? shapes
        let tables = try written.map { shape in
            let form = try RecordForm.find(shape, in: "store", db)?.form
            return BaselineHeader.Table(number: shape.number, table: shape.logTable, form: form ?? .plain(shape))
        }
        for statement in BaselineSchema.statements(tables) { try db.execute(sql: statement) }
        var knowledge = try StoreKnowledge.all(state, db)
        if let holds { knowledge = knowledge.filtered(holds) }
        var peers = try StoreKnowledge.peers(db)
        if peers[state.peer] == nil {
            // The peer has written nothing yet, and has no number in the store.
            peers.insert(state.peer, as: PeerNumber(rawValue: (peers.all.map(\.number.rawValue).max() ?? 0) + 1))
        }
        for (shape, table) in zip(written, tables) {
            try db.execute(
                sql: "INSERT INTO main.synced_table VALUES (?,?,?,?)",
                arguments: [table.number, shape.name, try Self.list(shape.keyColumns), try Self.list(shape.columns)])
            try write(shape, in: table.form!, db)
        }
        // A part of a store with many contributors holds records of few of them.
        let stamped = try part.map { _ in try Self.stamped(tables, db) }
        let insert = try db.cachedStatement(sql: "INSERT INTO main.peer VALUES (?,?)")
        for (number, peer) in peers.all where stamped?.contains(number) ?? true || peer == state.peer || holds?(peer) ?? true {
            try insert.execute(arguments: [number.rawValue, peer.description])
        }
        for entry in knowledge.entries {
            try db.execute(
                sql: "INSERT INTO main.knowledge VALUES (?,?,?)",
                arguments: [peers[entry.peer]!.rawValue, entry.position.sequence, Data(entry.position.hash.bytes)])
        }
        let clock = try (clock?(db) ?? state.clock).rawValue
        // Logs also hold changes of other domains, with stamps that the clock of this one has not reached.
        let time = part == nil ? "time" : "min(time, \(clock))"
        let held = holds.map { holds in peers.all.filter { holds($0.peer) }.map { "\($0.number.rawValue)" }.joined(separator: ",") }
        if held != "" {
            let isHeld = held.map { " WHERE peer IN (\($0))" } ?? ""
            try db.execute(
                sql: """
                    INSERT INTO main.log SELECT peer, sequence, hash, \(time) FROM store.ubiquity_log\(isHeld);
                    INSERT INTO main.hole SELECT peer, sequence, hash, followed FROM store.ubiquity_hole\(isHeld);
                    INSERT INTO main.retired SELECT peer, receipt, sequence FROM store.ubiquity_retired\(isHeld.isEmpty ? " WHERE" : "\(isHeld) AND") told;
                    INSERT INTO main.seen SELECT author, peer, \(time) FROM store.ubiquity_seen\(held.map { " WHERE author IN (\($0)) AND peer IN (\($0))" } ?? "");
                    """)
        }
        try db.execute(
            sql: "INSERT INTO main.baseline VALUES (?,?,?,?,?,?,?)",
            arguments: [
                state.content, state.epoch, state.peer.description, sequence, schemaVersion, max(0, now.timeIntervalSince1970), clock,
            ])
        return knowledge
    }

    /// Returns the peers that the stamps in a baseline's tables name.
    private static func stamped(_ tables: [BaselineHeader.Table], _ db: Database) throws -> Set<PeerNumber> {
        var peers: Set<PeerNumber> = []
        for table in tables {
            for stamps in ["main.clock_\(table.number)", "main.other_\(table.number)"] {
                let rows = try RawStatement("SELECT peer, others FROM \(stamps)", db)
                defer { rows.reset() }
                while try rows.step() {
                    peers.insert(PeerNumber(rawValue: rows.integer(0)))
                    // No bytes where all columns have the same stamp.
                    peers.formUnion((RecordClock.unpack(rows.bytes(1)) ?? []).map(\.stamp.peer))
                }
            }
        }
        return peers
    }

    private static func list(_ names: [String]) throws -> String { String(decoding: try JSONEncoder().encode(names), as: UTF8.self) }

    private func write(_ shape: TableShape, in form: RecordForm, _ db: Database) throws {
        let number = shape.number
        let own = part?.ownKeyCondition(in: shape)
        if try own != nil || !copy(shape, in: form, db) { try writeShown(shape, in: form, where: part?.rowCondition(in: shape), db) }
        let keys = shape.ownKeyColumns
        let values = shape.columns.isEmpty ? "" : ", \(shape.ownValueColumns)"
        let (a, b) = (RelationTables(shape: shape).list("a"), RelationTables(shape: shape).list("b"))
        try db.execute(
            sql: """
                INSERT INTO main.other_\(number) SELECT \(keys), life, time, peer, columns, others\(values) FROM store.\(shape.asideTable) WHERE \(own ?? "1") ORDER BY \(keys);
                INSERT INTO main.dead_\(number) SELECT * FROM store.\(shape.deadTable) WHERE \(tellsDeaths ? own ?? "1" : "0");
                INSERT INTO main.same_\(number) SELECT \(a), la, \(b), lb FROM store.\(shape.sameTable) WHERE \(own == nil ? "1" : "0") AND (\(a), la) < (\(b), lb);
                """)
    }

    /// Copies the rows and the clocks as they are stored; returns false if not every row is its record's.
    ///
    /// SQLite copies all rows of a table into an empty one of the same form without reading their values
    /// (sqlite.org/src/doc/trunk/src/insert.c, the transfer optimization).
    private func copy(_ shape: TableShape, in form: RecordForm, _ db: Database) throws -> Bool {
        let (record, clock) = ("main.\(RecordForm.table(shape.number))", "main.clock_\(shape.number)")
        guard form != .plain(shape), try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM store.\(shape.asideTable))")! else { return false }
        try db.execute(
            sql: """
                INSERT INTO \(record) SELECT * FROM store.\(shape.name.quotedIdentifier);
                INSERT INTO \(clock) SELECT * FROM store.\(shape.clockTable);
                """)
        // A row that was inserted while a trigger was missing has no clock, and is nobody's record yet. Where SQLite does
        // not copy the rows as they are stored, as with a column's DEFAULT, it numbers them from 1: as many clocks with
        // the same first and last number belong to the same rows.
        let (rows, places) = form.hasRowid ? (", min(rowid), max(rowid)", ", min(rid), max(rid)") : ("", "")
        let isWhole = try Bool.fetchOne(
            db, sql: "SELECT (SELECT (count(*)\(rows)) IS (SELECT count(*)\(places) FROM \(clock)) FROM \(record))")!
        if !isWhole { try db.execute(sql: "DELETE FROM \(record); DELETE FROM \(clock)") }
        return isWhole
    }

    /// Writes the rows that show their own record with its own values.
    private func writeShown(_ shape: TableShape, in form: RecordForm, where condition: String?, _ db: Database) throws {
        let (record, clock) = (RecordForm.table(shape.number), "store.\(shape.clockTable)")
        let own = shape.keyColumns.map { "t.\($0.quotedIdentifier)" }
        let place = shape.hasRowid ? "c.rid = t.rowid" : shape.keyColumns.indices.map { "c.k\($0) = \(own[$0])" }.joined(separator: " AND ")
        let columns = own + shape.columns.map { "t.\($0.quotedIdentifier)" }
        let names = shape.keyColumns.indices.map { "k\($0)" } + shape.columns.indices.map { "v\($0)" }
        let hasOwnRowid = shape.hasRowid && !shape.isRowidKey
        let order = shape.hasRowid ? ["t.rowid"] : own
        // A row is computed if it shows other records, or shows its own record with other values.
        let isShown = shape.keyColumns.indices.map { "a.s\($0) = \(own[$0])" }.joined(separator: " AND ")
        let isWritten = shape.hasRowid ? "r.rowid = c.rid" : shape.keyColumns.indices.map { "r.k\($0) = c.k\($0)" }.joined(separator: " AND ")
        try db.execute(
            sql: """
                INSERT INTO main.\(record) (\(((hasOwnRowid ? ["rowid"] : []) + names).joined(separator: ", ")))
                SELECT \(((hasOwnRowid ? ["t.rowid"] : []) + columns).joined(separator: ", "))
                FROM store.\(shape.name.quotedIdentifier) t CROSS JOIN \(clock) c ON \(place)
                WHERE \(condition.map { "t.\($0)" } ?? "1") AND NOT EXISTS (SELECT 1 FROM store.\(shape.asideTable) a WHERE \(isShown) AND held IS NULL) ORDER BY \(order.joined(separator: ", "));
                INSERT INTO main.clock_\(shape.number) SELECT * FROM \(clock) c WHERE EXISTS (SELECT 1 FROM main.\(record) r WHERE \(isWritten));
                """)
    }
}
