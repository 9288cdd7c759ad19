package import GRDB
package import StoreFormat

/// The lives and stamps of one table's records, by place for living records and by key for dead ones.
///
/// A rowid takes a third of the space of the record's own key, because rows and clocks grow at the same end.
package struct ClockTable {
    private let keyCount: Int
    private let placeCount: Int
    private let get: RawStatement
    private let put: RawStatement
    private let drop: RawStatement
    private let dead: RawStatement
    private let deadPut: RawStatement
    private let deadDrop: RawStatement
    private let shape: TableShape
    /// The tables with dead records; nil if this table is always asked.
    private let deadRecords: DeadRecords?
    private let forgotten: ForgottenDeaths?

    package init(shape: TableShape, deadRecords: DeadRecords? = nil, _ db: Database) throws {
        self.shape = shape
        self.deadRecords = deadRecords
        forgotten = try ForgottenDeaths(in: shape, db)
        keyCount = shape.keyColumns.count
        let condition = shape.keyColumns.indices.map { "k\($0) = ?" }.joined(separator: " AND ")
        let places = Array(repeating: "?", count: keyCount + 1).joined(separator: ",")
        placeCount = shape.hasRowid ? 1 : keyCount
        let parameters = Array(repeating: "?", count: placeCount + 5).joined(separator: ",")
        get = try RawStatement("SELECT life, time, peer, columns, others FROM \(shape.clockTable) WHERE \(shape.ownPlaceCondition)", db)
        put = try RawStatement("INSERT OR REPLACE INTO \(shape.clockTable) VALUES (\(parameters))", db)
        drop = try RawStatement("DELETE FROM \(shape.clockTable) WHERE \(shape.ownPlaceCondition)", db)
        dead = try RawStatement("SELECT life FROM \(shape.deadTable) WHERE \(condition)", db)
        deadPut = try RawStatement("INSERT OR REPLACE INTO \(shape.deadTable) VALUES (\(places))", db)
        deadDrop = try RawStatement("DELETE FROM \(shape.deadTable) WHERE \(condition)", db)
    }

    package func clock(at place: Place) throws -> RecordClock? {
        place.bind(to: get)
        defer { get.reset() }
        return try get.step() ? Self.clock(get, from: 0) : nil
    }

    /// Reads a clock from five columns of a row.
    static func clock(_ row: RawStatement, from column: Int) throws -> RecordClock {
        var clock = RecordClock(
            life: row.integer(column), stamp: Stamp(HybridTime(rawValue: row.integer(column + 1)), PeerNumber(rawValue: row.integer(column + 2))),
            columns: ColumnSet(rawValue: row.integer(column + 3)))
        if !row.isNull(column + 4) {
            guard let others = RecordClock.unpack(row.bytes(column + 4)) else {
                throw UbiquitousStoreError(.malformed, "A record's stamps are damaged in the store file.")
            }
            clock.others = others
        }
        return clock
    }

    /// Binds a clock to five columns.
    static func bind(_ clock: RecordClock, to statement: RawStatement, from index: Int) {
        statement.bind(index, clock.life)
        statement.bind(index + 1, clock.stamp.time.rawValue)
        statement.bind(index + 2, clock.stamp.peer.rawValue)
        statement.bind(index + 3, clock.columns.rawValue)
        statement.bind(index + 4, clock.packedOthers)
    }

    func set(_ clock: RecordClock, at place: Place) throws {
        Self.bind(clock, to: put, from: place.bind(to: put))
        try put.run()
    }

    /// Removes a living record's clock and returns it.
    func take(_ place: Place) throws -> RecordClock? {
        let clock = try clock(at: place)
        place.bind(to: drop)
        try drop.run()
        return clock
    }

    /// Returns the life at which a key died, or 0 if it did not.
    package func death(_ key: [RecordValue]) throws -> Int64 {
        let forgotten = try forgotten?.life(key) ?? 0
        if let deadRecords, try !deadRecords.exist(in: shape) { return forgotten }
        bind(key, to: dead)
        defer { dead.reset() }
        return max(forgotten, try dead.step() ? dead.integer(0) : 0)
    }

    /// Removes a key from the dead ones, and returns the life at which it died, or 0 if it did not.
    func revive(_ key: [RecordValue]) throws -> Int64 {
        let life = try death(key)
        if life > 0 {
            bind(key, to: deadDrop)
            try deadDrop.run()
        }
        return life
    }

    func bury(_ key: [RecordValue], life: Int64) throws {
        deadRecords?.note(in: shape)
        bind(key, to: deadPut)
        deadPut.bind(keyCount + 1, life)
        try deadPut.run()
    }

    private func bind(_ key: [RecordValue], to statement: RawStatement) {
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
    }
}
