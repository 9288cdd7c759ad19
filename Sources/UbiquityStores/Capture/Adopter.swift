internal import GRDB

/// Takes over the rows that were in a table before it was synced, a batch at a time, as insertions with the least stamp: they never beat an
/// edit (DESIGN §5).
///
/// Tables that are not done are listed in `ubiquity_adoption`, which is there for as long as there are any. Each batch is a transaction of
/// clocks and a log; rows are taken in the order of their places, so that the last clock says where to go on after a crash. Until all
/// is taken over nothing else is sealed, and nothing goes out: what is written meanwhile is noted, and follows.
struct Adopter {
    /// How far it has come.
    struct Progress: Equatable {
        var rows: Int
        var total: Int
        var isDone: Bool
    }

    private static let rowsPerBatch = 10_000
    private static let bytesPerBatch = 4 << 20

    let sealer: Sealer

    /// Lists a table whose rows are to be taken over.
    static func enlist(_ shape: TableShape, rows: Int, _ db: Database) throws {
        try db.execute(
            sql: "CREATE TABLE IF NOT EXISTS ubiquity_adoption (number INTEGER PRIMARY KEY, rows INTEGER NOT NULL, total INTEGER NOT NULL)")
        try db.execute(sql: "INSERT INTO ubiquity_adoption VALUES (?, 0, ?)", arguments: [shape.number, rows])
    }

    /// How far it has come; nil where nothing is listed.
    static func progress(_ db: Database) throws -> Progress? {
        guard try db.tableExists("ubiquity_adoption") else { return nil }
        return try Row.fetchOne(db, sql: "SELECT sum(rows), sum(total) FROM ubiquity_adoption").map {
            Progress(rows: $0[0], total: $0[1], isDone: false)
        }
    }

    /// Whether a table is listed.
    static func isAdopting(_ number: Int64, _ db: Database) throws -> Bool {
        guard try db.tableExists("ubiquity_adoption") else { return false }
        return try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM ubiquity_adoption WHERE number = ?)", arguments: [number])!
    }

    /// Takes over some rows, in the transaction that it is called in.
    ///
    /// - Returns: how far it has come by then.
    func adoptBatch(_ db: Database) throws -> Progress {
        var state = try StoreState.read(db)
        var body = LogBodyBuilder()
        let related = RelatedTables(sealer.shapes, db)
        for shape in sealer.shapes where try Self.isAdopting(shape.number, db) {
            var table = try TableSealer(shape: shape, stamp: .least, values: LargeValues(limit: sealer.largeValueSize, db), related: related, db)
            let places = try nextPlaces(of: shape, db)
            for place in places where table.rows.bytes.count < Self.bytesPerBatch { try table.adopt(place) }
            body.add(shape.logTable, count: table.count, rows: table.rows)
            try db.execute(sql: "UPDATE ubiquity_adoption SET rows = rows + ? WHERE number = ?", arguments: [table.count, shape.number])
            guard places.isEmpty else { break }
        }
        if !body.isEmpty { try sealer.post(body, at: .least, state: &state, db) }
        var progress = try Self.progress(db) ?? Progress(rows: 0, total: 0, isDone: true)
        if body.isEmpty {
            progress.isDone = true
            try db.execute(sql: "DROP TABLE IF EXISTS ubiquity_adoption")
        }
        return progress
    }

    /// The places of the next rows after the last that was taken over.
    private func nextPlaces(of shape: TableShape, _ db: Database) throws -> [Place] {
        let columns = shape.hasRowid ? ["rowid"] : shape.keyColumns.map(\.quotedIdentifier)
        let own = shape.hasRowid ? ["rid"] : shape.keyColumns.indices.map { "k\($0)" }
        func list(_ names: [String], _ suffix: String = "") -> String { names.map { $0 + suffix }.joined(separator: ", ") }
        let last = try RawStatement("SELECT \(list(own)) FROM \(shape.clockTable) ORDER BY \(list(own, " DESC")) LIMIT 1", db)
        let hasLast = try last.step()
        defer { last.reset() }
        let after = hasLast ? "WHERE (\(list(columns))) > (\(list(columns.map { _ in "?" })))" : ""
        let next = try RawStatement(
            "SELECT \(list(columns)) FROM \(shape.name.quotedIdentifier) \(after) ORDER BY \(list(columns)) LIMIT \(Self.rowsPerBatch)", db)
        if hasLast { for index in columns.indices { next.bind(index + 1, last.value(index).detached) } }
        defer { next.reset() }
        var places: [Place] = []
        while try next.step() {
            places.append(shape.hasRowid ? .rowid(next.integer(0)) : .key(columns.indices.map { next.value($0).detached }))
        }
        return places
    }
}
