internal import Foundation
package import GRDB
internal import StoreFormat

/// Adopts existing data in batches, with the least stamp, so that it never wins over an edit.
///
/// It adopts the rows of a table that begins to sync, as insertions, and the values that a migration put into new
/// columns of a table that already syncs.
///
/// `ubiquity_adoption` lists the tables that are not finished. Each batch is one transaction with clocks, a log, and
/// the place of the last row, so that adoption continues there after a crash. Nothing is imported until all is adopted.
/// Nothing else is sealed until all rows are adopted: writes in the meantime are captured, and follow.
package struct Adopter {
    /// The progress of adoption.
    package struct Progress: Equatable {
        package var rows: Int
        package var total: Int
        package var isDone: Bool
    }

    private static let bytesPerBatch = 4 << 20

    package let sealer: Sealer

    package init(sealer: Sealer) { self.sealer = sealer }

    /// Lists a table for adoption of its rows or, if columns are given, only of the values of these columns.
    ///
    /// - Parameters:
    ///   - shape: the table.
    ///   - rows: the number of rows, or of additional rows.
    ///   - columns: the columns whose values are adopted.
    ///   - adding: whether rows were added to a table that may be listed already.
    ///   - db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    static func enlist(_ shape: TableShape, rows: Int, columns: ColumnSet = [], adding: Bool = false, _ db: Database) throws {
        // A table that is listed already starts again from its first row. Rows that were adopted are recognised by
        // their clocks.
        try db.execute(
            sql: """
                INSERT INTO ubiquity_adoption VALUES (?, 0, ?, ?, ?, NULL)
                ON CONFLICT (number) DO UPDATE SET rows = 0, total = \(adding ? "total + " : "")excluded.total, whole = whole OR \(adding ? 1 : 0),
                columns = columns | excluded.columns, place = NULL
                """, arguments: [shape.number, rows, columns.isEmpty, columns.rawValue])
    }

    /// Returns whether any table is listed.
    package static func isPending(_ db: Database) throws -> Bool { try finds("SELECT 1 FROM ubiquity_adoption", db) }

    /// Returns whether rows remain to be adopted, and not only values.
    static func isTakingRows(_ db: Database) throws -> Bool { try finds("SELECT 1 FROM ubiquity_adoption WHERE whole", db) }

    private static func finds(_ query: String, _ db: Database) throws -> Bool {
        let statement = try RawStatement(query, db)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Removes a table from the list.
    static func remove(_ number: Int64, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM ubiquity_adoption WHERE number = ?", arguments: [number])
    }

    /// Applies new column numbers to a listed table, and restarts it because rows may have moved.
    static func renumber(_ number: Int64, _ renumbering: ColumnRenumbering, _ db: Database) throws {
        guard let listed = try Listed(number, db) else { return }
        try db.execute(
            sql: "UPDATE ubiquity_adoption SET columns = ?, rows = 0, place = NULL WHERE number = ?",
            arguments: [renumbering.renumbered(listed.columns).rawValue, number])
    }

    /// Returns the progress of adoption, or nil if nothing is listed.
    package static func progress(_ db: Database) throws -> Progress? {
        guard try isPending(db) else { return nil }
        return try Row.fetchOne(db, sql: "SELECT sum(rows), sum(total) FROM ubiquity_adoption").map {
            Progress(rows: $0[0], total: $0[1], isDone: false)
        }
    }

    /// Returns whether a table is listed.
    package static func isAdopting(_ number: Int64, _ db: Database) throws -> Bool {
        try Listed(number, db) != nil
    }

    /// Adopts some rows, inside the caller's transaction.
    ///
    /// - Returns: the progress after this batch.
    package func adoptBatch(_ db: Database) throws -> Progress {
        // A row whose key was changed is another record. It has the clock of the former record until the change is
        // sealed.
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

        /// Returns the places of the next rows.
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

    /// An entry of the list.
    private struct Listed {
        /// Whether rows without a clock are adopted.
        ///
        /// If not, such rows are new, and are sealed as saves.
        var isWhole: Bool
        /// The columns whose values are adopted in rows that have a clock.
        var columns: ColumnSet
        /// The place of the last row that was examined.
        var place: Data?

        init?(_ number: Int64, _ db: Database) throws {
            guard let row = try Row.fetchOne(db, sql: "SELECT whole, columns, place FROM ubiquity_adoption WHERE number = ?", arguments: [number])
            else { return nil }
            (isWhole, columns, place) = (row["whole"], ColumnSet(rawValue: row["columns"]), row["place"])
        }
    }
}

extension Place {
    /// The encoded place, as it is stored.
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
