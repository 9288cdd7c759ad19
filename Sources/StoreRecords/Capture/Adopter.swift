internal import Foundation
package import GRDB
internal import StoreFormat

/// Takes over what was in the tables before it was synced, a batch at a time, with the least stamp: it never beats an edit (DESIGN §5).
///
/// That is the rows of a table that syncs from now on, as insertions, and the values that a migration has put into new columns of one that did before.
/// Tables that are not done are listed in `ubiquity_adoption`. Each batch is a transaction of
/// clocks, a log, and the place of the last row, where it goes on after a crash. Until all
/// is taken over nothing is imported, and until all rows are, nothing else is sealed: what is written meanwhile is noted, and follows.
package struct Adopter {
    /// How far it has come.
    package struct Progress: Equatable {
        package var rows: Int
        package var total: Int
        package var isDone: Bool
    }

    private static let bytesPerBatch = 4 << 20

    package let sealer: Sealer

    package init(sealer: Sealer) { self.sealer = sealer }

    /// Lists a table whose rows are to be taken over, or, where columns are given, only the values of these.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - rows: how many rows it has, or how many more.
    ///   - columns: the columns whose values are told.
    ///   - adding: whether more rows have come to a table that may be listed already.
    ///   - db: in a transaction.
    /// - Throws: GRDB's errors.
    static func enlist(_ shape: TableShape, rows: Int, columns: ColumnSet = [], adding: Bool = false, _ db: Database) throws {
        // Rows of a table that is listed already begin again: those that have been taken over are told apart by their clocks.
        try db.execute(
            sql: """
                INSERT INTO ubiquity_adoption VALUES (?, 0, ?, ?, ?, NULL)
                ON CONFLICT (number) DO UPDATE SET rows = 0, total = \(adding ? "total + " : "")excluded.total, whole = whole OR \(adding ? 1 : 0),
                columns = columns | excluded.columns, place = NULL
                """, arguments: [shape.number, rows, columns.isEmpty, columns.rawValue])
    }

    /// Whether something is listed.
    package static func isPending(_ db: Database) throws -> Bool { try finds("SELECT 1 FROM ubiquity_adoption", db) }

    /// Whether rows are to be taken over, and not values only.
    static func isTakingRows(_ db: Database) throws -> Bool { try finds("SELECT 1 FROM ubiquity_adoption WHERE whole", db) }

    private static func finds(_ query: String, _ db: Database) throws -> Bool {
        let statement = try RawStatement(query, db)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Takes a table off the list.
    static func remove(_ number: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM ubiquity_adoption WHERE number = ?", arguments: [number])
    }

    /// Follows columns to their new numbers, and rows to new places.
    static func renumber(_ number: Int64, _ renumbering: ColumnRenumbering, _ db: Database) throws {
        guard let listed = try Listed(number, db) else { return }
        try db.execute(
            sql: "UPDATE ubiquity_adoption SET columns = ?, rows = 0, place = NULL WHERE number = ?",
            arguments: [renumbering.renumbered(listed.columns).rawValue, number])
    }

    /// How far it has come; nil where nothing is listed.
    package static func progress(_ db: Database) throws -> Progress? {
        guard try isPending(db) else { return nil }
        return try Row.fetchOne(db, sql: "SELECT sum(rows), sum(total) FROM ubiquity_adoption").map {
            Progress(rows: $0[0], total: $0[1], isDone: false)
        }
    }

    /// Whether a table is listed.
    package static func isAdopting(_ number: Int64, _ db: Database) throws -> Bool {
        try Listed(number, db) != nil
    }

    /// Takes over some rows, in the transaction that it is called in.
    ///
    /// - Returns: how far it has come by then.
    package func adoptBatch(_ db: Database) throws -> Progress {
        // A row that is another record by now, since its key was changed, has the clock of what it was until that is sealed.
        if try !Self.isTakingRows(db) { try sealer.seal(db) }
        var state = try StoreState.read(db)
        var body = LogBodyBuilder()
        let related = RelatedTables(sealer.shapes, db)
        var isDone = true
        for shape in sealer.shapes {
            guard let listed = try Listed(shape.number, db) else { continue }
            let places = try nextPlaces(of: shape, after: listed.place)
            guard let first = places.first else { continue }
            var table = try TableSealer(shape: shape, stamp: .least, values: sealer.values(db), related: related, db)
            var (last, rows) = (first, 0)
            for place in places where table.rows.bytes.count < Self.bytesPerBatch {
                try table.adopt(place, isWhole: listed.isWhole, columns: listed.columns)
                (last, rows) = (place, rows + 1)
            }
            body.add(shape.logTable, count: table.count, rows: table.rows)
            try db.execute(
                sql: "UPDATE ubiquity_adoption SET rows = rows + ?, place = ? WHERE number = ?", arguments: [rows, last.packed, shape.number])
            isDone = false
            break
        }
        if !body.isEmpty { try sealer.post(body, at: .least, state: &state, db) }
        var progress = try Self.progress(db) ?? Progress(rows: 0, total: 0, isDone: true)
        if isDone {
            progress.isDone = true
            try db.execute(sql: "DELETE FROM ubiquity_adoption")
        }
        return progress

        /// The places of the next rows.
        func nextPlaces(of shape: TableShape, after last: Data?) throws -> [Place] {
            let columns = shape.hasRowid ? ["rowid"] : shape.keyColumns.map(\.quotedIdentifier)
            func list(_ names: [String]) -> String { names.joined(separator: ", ") }
            let after = last == nil ? "" : "WHERE (\(list(columns))) > (\(list(columns.map { _ in "?" })))"
            let next = try RawStatement(
                "SELECT \(list(columns)) FROM \(shape.name.quotedIdentifier) \(after) ORDER BY \(list(columns)) LIMIT \(BatchSize.rows)", db)
            if let last { try Place(packed: last, hasRowid: shape.hasRowid).bind(to: next) }
            defer { next.reset() }
            var places: [Place] = []
            while try next.step() {
                places.append(shape.hasRowid ? .rowid(next.integer(0)) : .key(columns.indices.map { next.value($0).detached }))
            }
            return places
        }
    }

    /// A table on the list.
    private struct Listed {
        /// Whether rows without a clock are taken over; else they are new, and are sealed as saves.
        var isWhole: Bool
        /// The columns whose values are told of rows that have a clock.
        var columns: ColumnSet
        /// The last row that has been looked at.
        var place: Data?

        init?(_ number: Int64, _ db: Database) throws {
            guard let row = try Row.fetchOne(db, sql: "SELECT whole, columns, place FROM ubiquity_adoption WHERE number = ?", arguments: [number])
            else { return nil }
            (isWhole, columns, place) = (row["whole"], ColumnSet(rawValue: row["columns"]), row["place"])
        }
    }
}

extension Place {
    /// The place as it is kept.
    fileprivate var packed: Data {
        var writer = WireWriter()
        switch self {
        case .rowid(let rowid): writer.recordValue(.integer(rowid))
        case .key(let key): for value in key { writer.recordValue(value) }
        }
        return Data(writer.bytes)
    }

    fileprivate init(packed: Data, hasRowid: Bool) throws {
        var reader = WireReader([UInt8](packed)[...])
        var values: [RecordValue] = []
        while !reader.isAtEnd { values.append(try reader.recordValue()) }
        if hasRowid, case .integer(let rowid)? = values.first { self = .rowid(rowid) } else { self = .key(values) }
    }
}
