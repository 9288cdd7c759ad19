internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Gives records that are joined from another file of the store later lives, if they would lose to a greater life as a
/// whole.
///
/// The user who saved the record could not know that the account had deleted a record with its key: the record is
/// inserted at the next odd life. Nor could the user know that the account had inserted such a record again: the joined
/// record then has that record's life, so that their columns are merged by their stamps. The result for a record
/// applies to all of its changes, in every log, so it is stored.
struct Rebirths {
    private let source: PeerIdentifier
    private let shapes: [TableShape]
    private let origin: Database
    private let db: Database
    /// The last log of the other file that earlier transactions have joined.
    private let joined: Int64
    private var known: [ObjectID: Int64] = [:]

    /// Reads the stored results.
    ///
    /// - Parameters:
    ///   - source: the peer of the other file's saves.
    ///   - shapes: the synced tables of both files.
    ///   - origin: the other file.
    ///   - db: the file into which the other one is joined.
    ///   - joined: the last log that earlier transactions have joined.
    /// - Throws: GRDB's errors.
    init(of source: PeerIdentifier, _ shapes: [TableShape], origin: Database, _ db: Database, joined: Int64) throws {
        self.source = source
        self.joined = joined
        self.shapes = shapes
        self.origin = origin
        self.db = db
        // If none of the present logs has been joined, the stored results belong to earlier ones, which were joined and
        // removed.
        guard joined > 0 else {
            try db.execute(sql: "DELETE FROM ubiquity_rebirth WHERE source = ?", arguments: [source.description])
            return
        }
        for row in try Row.fetchAll(db, sql: "SELECT record, lives FROM ubiquity_rebirth WHERE source = ?", arguments: [source.description]) {
            if let record = ObjectID(text: row["record"]) { known[record] = row["lives"] }
        }
    }

    /// Returns the number of lives by which a record begins later than its file says; 0 for most records.
    ///
    /// - Parameters:
    ///   - table: the name of the record's table.
    ///   - key: its key.
    /// - Returns: an even number.
    /// - Throws: GRDB's errors.
    mutating func lives(_ table: String, _ key: [RecordValue]) throws -> Int64 {
        guard let shape = shapes.first(where: { $0.logTable.name == table }) else { return 0 }
        let record = ObjectID(table: table, key: key.map(\.detached))
        if let lives = known[record] { return lives }
        let there = try RelatedTable(shape, db).find(record.key)
        let death = try ClockTable(shape: shape, db).death(record.key)
        // A record that is alive in the account is this record: columns are merged by stamp, however often it was
        // deleted and inserted again.
        let next = there.registers?.clock.life ?? (death > 0 ? death + 1 : 0)
        var lives: Int64 = 0
        // A record that was joined alive and deleted later is dead like any other.
        if next > 0, let registers = try RelatedTable(shape, origin).find(record.key).registers {
            let more = next - registers.clock.life
            if more > 0, try !wasJoined(record) { lives = more }
        }
        known[record] = lives
        if lives > 0 {
            try db.execute(sql: "INSERT OR REPLACE INTO ubiquity_rebirth VALUES (?,?,?)", arguments: [source.description, record.text, lives])
        }
        return lives
    }

    /// Returns whether an earlier transaction has joined a change of a record.
    private func wasJoined(_ record: ObjectID) throws -> Bool {
        guard joined > 0 else { return false }
        let logs = try Row.fetchCursor(origin, sql: "SELECT bytes FROM ubiquity_outbox WHERE sequence <= ?", arguments: [joined])
        while let row = try logs.next() {
            let contents = try LogBody.decode(LogFile(decoding: [UInt8](row["bytes"] as Data)))
            var isFound = false
            for rows in contents.groups.flatMap(\.rows) where contents.tables[rows.table].name == record.table {
                try rows.forEach(in: contents.tables[rows.table], values: { _ in .null }) { isFound = isFound || $0.key == record.key }
            }
            if isFound { return true }
        }
        return false
    }

    /// Changes the lives in a log's contents.
    ///
    /// - Parameters:
    ///   - contents: the contents.
    ///   - values: writes values to them.
    /// - Throws: `LogFault`, or GRDB's errors.
    mutating func apply(to contents: inout LogBody.Contents, _ values: LargeValues) throws {
        for group in contents.groups.indices {
            for section in contents.groups[group].rows.indices {
                let table = contents.tables[contents.groups[group].rows[section].table]
                if let rows = try reborn(contents.groups[group].rows[section], of: table, values) { contents.groups[group].rows[section] = rows }
            }
            for index in contents.groups[group].same.indices {
                let same = contents.groups[group].same[index]
                let table = contents.tables[same.table].name
                func node(_ node: RecordNode) throws -> RecordNode { RecordNode(key: node.key, life: node.life + (try lives(table, node.key))) }
                contents.groups[group].same[index].fact = SameAs(try node(same.fact.first), try node(same.fact.second))
            }
        }
    }

    /// Returns the changes of one table with new lives; nil if no life changes.
    private mutating func reborn(_ rows: LogBody.Rows, of table: LogBody.Table, _ values: LargeValues) throws -> LogBody.Rows? {
        var isReborn = false
        var writer = WireWriter(reserving: rows.bytes.count)
        try rows.forEach(in: table, values: { try values.value($0) }) { change in
            let more = try lives(table.name, change.key)
            isReborn = isReborn || more > 0
            writer.varint(UInt64(change.life + more))
            for value in change.key { writer.recordValue(value) }
            guard !change.life.isMultiple(of: 2) else { return }
            writer.varint(UInt64(change.columns.rawValue))
            for value in change.values { try values.write(value, to: &writer) }
        }
        return isReborn ? LogBody.Rows(table: rows.table, count: rows.count, bytes: writer.bytes[...]) : nil
    }
}
