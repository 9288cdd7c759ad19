internal import GRDB
internal import StoreFormat

/// Finds the clock of a record without the app's schema.
struct RecordClockSearch {
    enum Standing {
        /// The record is alive; it has no clock until its insertion is sealed or adopted.
        case alive(RecordClock?)
        case dead
    }

    private let table: KnownTable
    private let db: Database

    init(_ table: KnownTable, _ db: Database) throws { (self.table, self.db) = (table, db) }

    /// Returns whether a record is alive or dead; nil if it has never been here.
    func standing(of key: [RecordValue]) throws -> Standing? {
        let number = table.number
        let own = table.keyColumns.indices.map { "k\($0) = ?" }.joined(separator: " AND ")
        // The row of a record that is held aside shows other values, or there is none.
        if let clock = try clock("SELECT life, time, peer, columns, others FROM ubiquity_aside_\(number) WHERE \(own)", key) { return .alive(clock) }
        let name = table.name.quotedIdentifier
        let keys = table.keyColumns.map { "\($0.quotedIdentifier) = ?" }.joined(separator: " AND ")
        let hasRowid = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM pragma_table_info('ubiquity_clock_\(number)') WHERE name = 'rid')")!
        let place = hasRowid ? "rid = (SELECT rowid FROM \(name) WHERE \(keys))" : own
        let stamps = "SELECT life, time, peer, columns, others FROM ubiquity_clock_\(number) WHERE \(place)"
        if let clock = try clock(stamps, key) { return .alive(clock) }
        if try exists("SELECT 1 FROM \(name) WHERE \(keys)", key) { return .alive(nil) }
        return try exists("SELECT 1 FROM ubiquity_dead_\(number) WHERE \(own)", key) ? .dead : nil
    }

    private func clock(_ sql: String, _ key: [RecordValue]) throws -> RecordClock? {
        let statement = try RawStatement(sql, db, isCached: false)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
        return try statement.step() ? ClockTable.clock(statement, from: 0) : nil
    }

    private func exists(_ sql: String, _ key: [RecordValue]) throws -> Bool {
        let statement = try RawStatement(sql, db, isCached: false)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
        return try statement.step()
    }
}
