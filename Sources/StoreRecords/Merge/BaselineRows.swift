package import GRDB
package import StoreFormat

/// Checks that the rows of a baseline are well-formed.
///
/// It reads each row once, in Swift code. There may be millions of rows, and SQL that asks for types takes twice as
/// long.
package struct BaselineRows {
    let header: BaselineHeader
    /// The largest life that a record can have reached.
    private let lastLife: Int64

    /// Prepares to check the rows of a baseline.
    ///
    /// - Parameters:
    ///   - header: the baseline's header.
    ///   - lives: the largest life that a record can have; nil for the limit that follows from the baseline's knowledge.
    package init(header: BaselineHeader, lives: LifeLimit? = nil) {
        self.header = header
        lastLife = (lives ?? LifeLimit(header.knowledge)).last
    }

    /// Checks the rows of a table.
    ///
    /// - Parameters:
    ///   - table: the table.
    ///   - db: the baseline.
    /// - Throws: `LogFault`, or GRDB's errors.
    package func verify(_ table: BaselineHeader.Table, _ db: Database) throws {
        let (number, keys) = (table.number, table.table.keyColumns.count)
        let columns = ColumnSet(first: table.table.columns.count)
        func list(_ letter: String) -> String { (0..<keys).map { "\(letter)\($0)" }.joined(separator: ", ") }
        func each(_ sql: String, isSound: (RawStatement) -> Bool) throws {
            let rows = try RawStatement("SELECT \(sql)_\(number)", db)
            defer { rows.reset() }
            while try rows.step() {
                guard isSound(rows) else { throw LogFault.damaged("a record of “\(table.table.name)” is malformed") }
            }
        }
        let joined = table.form == nil ? ["record", "other"] : ["other"]
        for name in joined {
            try each("\(list("k")), life, time, peer, columns, others FROM \(name)") { row in
                isNode(row, at: 0, keys, isAlive: true) && isClock(row, at: keys + 1, columns)
            }
        }
        if let form = table.form { try verify(table, form, db) }
        try each("\(list("k")), life FROM dead") { row in isNode(row, at: 0, keys, isAlive: false) }
        try each("\(list("a")), la, \(list("b")), lb FROM same") { row in
            isNode(row, at: 0, keys, isAlive: true) && isNode(row, at: keys + 1, keys, isAlive: true)
        }
    }

    /// Checks that each record of a table has a key and a valid clock, and each clock a record.
    private func verify(_ table: BaselineHeader.Table, _ form: RecordForm, _ db: Database) throws {
        let (record, clock) = (RecordForm.table(table.number), "clock_\(table.number)")
        func check(_ isSound: Bool) throws {
            guard isSound else { throw LogFault.damaged("a record of “\(table.table.name)” is malformed") }
        }
        try check(Bool.fetchOne(db, sql: "SELECT (SELECT count(*) FROM \(record)) = (SELECT count(*) FROM \(clock))")!)
        // `quick_check` has seen that other columns hold no NULL. Each key is asked for by itself, because an index finds
        // the NULLs of one column at once.
        for column in form.columns where column.name.hasPrefix("k") && !column.isNotNull && column.type != .rowid && form.hasRowid {
            try check(!Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM \(record) WHERE \(column.name) IS NULL)")!)
        }
        let columns = ColumnSet(first: table.table.columns.count)
        let found = form.hasRowid ? "r.rowid" : "r.k0"
        let rows = try RawStatement(
            """
            SELECT c.life, c.time, c.peer, c.columns, c.others, \(found) FROM \(clock) c
            LEFT JOIN \(record) r ON \(BaselineTables(header).isClock(of: form, table))
            """, db)
        defer { rows.reset() }
        while try rows.step() {
            try check(isLife(row: rows, at: 0, isAlive: true) && isClock(rows, at: 1, columns) && !rows.isNull(5))
        }
    }

    /// Returns whether a row has a valid key and life.
    private func isNode(_ row: RawStatement, at start: Int, _ keys: Int, isAlive: Bool) -> Bool {
        for key in start..<start + keys where row.isNull(key) { return false }
        return isLife(row: row, at: start + keys, isAlive: isAlive)
    }

    private func isLife(row: RawStatement, at place: Int, isAlive: Bool) -> Bool {
        guard row.isInteger(place) else { return false }
        let life = row.integer(place)
        return life > 0 && life <= lastLife && life.isMultiple(of: 2) != isAlive
    }

    /// Returns whether a row has a valid stamp, the columns with that stamp, and valid stamps of the other columns.
    private func isClock(_ row: RawStatement, at start: Int, _ columns: ColumnSet) -> Bool {
        guard row.isInteger(start), row.isInteger(start + 1), row.isInteger(start + 2),
            isStamp(Stamp(HybridTime(rawValue: row.integer(start)), PeerNumber(rawValue: row.integer(start + 1))))
        else { return false }
        var rest = columns
        guard rest.isSuperset(of: ColumnSet(rawValue: row.integer(start + 2))) else { return false }
        if row.isNull(start + 3) { return true }
        guard row.isBlob(start + 3), let others = RecordClock.unpack(row.bytes(start + 3)) else { return false }
        rest.subtract(ColumnSet(rawValue: row.integer(start + 2)))
        // Each column has one stamp.
        return others.allSatisfy { rest.remove(ColumnSet(column: $0.column)) != nil && isStamp($0.stamp) }
    }

    /// Returns whether the writer of the baseline can have seen a stamp.
    private func isStamp(_ stamp: Stamp) -> Bool {
        stamp.time >= .least && stamp.time <= header.clock && (stamp.peer == .nobody || header.peers[stamp.peer.rawValue] != nil)
    }
}
