internal import Foundation
internal import GRDB
internal import StoreFormat
internal import StoreRecords
internal import UbiquityContainers

/// Gives records that are joined from another file of the store later lives, where they would lose to a greater one whole.
///
/// Who saved the record could not know that the account had deleted one of that key: it is inserted at the next odd life. Nor could they know that the
/// account had entered it again: it has the life of that record, so that its columns are merged by their stamps. What is found of a record holds for all
/// that is said of it, in whichever log, so it is kept.
struct Rebirths {
    private let source: PeerIdentifier
    private let shapes: [TableShape]
    private let origin: Database
    private let db: Database
    /// The last log of the other file that has been joined by earlier transactions.
    private let joined: Int64
    private var known: [ObjectID: Int64] = [:]

    /// Looks at both files.
    ///
    /// - Parameters:
    ///   - source: the peer that the other file's saves are of.
    ///   - shapes: the synced tables of both.
    ///   - origin: the other file.
    ///   - db: the file that it is joined into.
    ///   - joined: the last log that has been joined by earlier transactions.
    /// - Throws: GRDB's errors.
    init(of source: PeerIdentifier, _ shapes: [TableShape], origin: Database, _ db: Database, joined: Int64) throws {
        self.source = source
        self.joined = joined
        self.shapes = shapes
        self.origin = origin
        self.db = db
        // Where nothing has been joined of what is there now, those that are known are of others, which were joined and emptied before.
        guard joined > 0 else {
            try db.execute(sql: "DELETE FROM ubiquity_rebirth WHERE source = ?", arguments: [source.description])
            return
        }
        for row in try Row.fetchAll(db, sql: "SELECT record, lives FROM ubiquity_rebirth WHERE source = ?", arguments: [source.description]) {
            if let record = ObjectID(text: row["record"]) { known[record] = row["lives"] }
        }
    }

    /// How many lives later a record begins than its file says; 0 for most.
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
        // One that is alive there is the same record: columns are merged by their stamps, however often it has been deleted and entered again.
        let next = there.registers?.clock.life ?? (death > 0 ? death + 1 : 0)
        var lives: Int64 = 0
        // One that was joined alive, and has been deleted since, is dead as any other.
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

    /// Whether an earlier transaction has joined something of a record.
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

    /// Puts new lives into what a log says.
    ///
    /// - Parameters:
    ///   - contents: what it says.
    ///   - values: writes values to it.
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

    /// The changes of one table with new lives; nil where there are none.
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
