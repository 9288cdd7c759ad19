internal import GRDB

/// The lives and stamps of one table's records: of the living by place, of the dead by key.
///
/// A rowid costs a third of what the record's own key would: rows and clocks grow at the same end.
struct ClockTable {
    private let keyCount: Int
    private let placeCount: Int
    private let get: RawStatement
    private let put: RawStatement
    private let drop: RawStatement
    private let dead: RawStatement
    private let deadPut: RawStatement
    private let deadDrop: RawStatement

    init(shape: TableShape, _ db: Database) throws {
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

    func clock(at place: Place) throws -> RecordClock? {
        place.bind(to: get)
        defer { get.reset() }
        guard try get.step() else { return nil }
        var clock = RecordClock(
            life: get.integer(0), stamp: Stamp(HybridTime(rawValue: get.integer(1)), PeerNumber(rawValue: get.integer(2))),
            columns: ColumnSet(rawValue: get.integer(3)))
        if !get.isNull(4) {
            guard let others = RecordClock.unpack(get.bytes(4)) else {
                throw UbiquitousStoreError(.malformed, "A record's stamps are damaged in the store file.")
            }
            clock.others = others
        }
        return clock
    }

    func set(_ clock: RecordClock, at place: Place) throws {
        let next = place.bind(to: put)
        put.bind(next, clock.life)
        put.bind(next + 1, clock.stamp.time.rawValue)
        put.bind(next + 2, clock.stamp.peer.rawValue)
        put.bind(next + 3, clock.columns.rawValue)
        put.bind(next + 4, clock.packedOthers)
        try put.run()
    }

    /// Removes a living record's clock and returns it.
    func take(_ place: Place) throws -> RecordClock? {
        let clock = try clock(at: place)
        place.bind(to: drop)
        try drop.run()
        return clock
    }

    /// The life at which a key died, 0 for none.
    func death(_ key: [RecordValue]) throws -> Int64 {
        bind(key, to: dead)
        defer { dead.reset() }
        return try dead.step() ? dead.integer(0) : 0
    }

    /// Takes a key from among the dead; returns the life at which it died, 0 for none.
    func revive(_ key: [RecordValue]) throws -> Int64 {
        let life = try death(key)
        if life > 0 {
            bind(key, to: deadDrop)
            try deadDrop.run()
        }
        return life
    }

    func bury(_ key: [RecordValue], life: Int64) throws {
        bind(key, to: deadPut)
        deadPut.bind(keyCount + 1, life)
        try deadPut.run()
    }

    private func bind(_ key: [RecordValue], to statement: RawStatement) {
        for (index, value) in key.enumerated() { statement.bind(index + 1, value) }
    }
}
