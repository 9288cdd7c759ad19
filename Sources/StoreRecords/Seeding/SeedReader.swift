internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage

/// Reads a seed file in batches, table after table, in the order in which the rows are stored.
package struct SeedReader: Sendable {
    private struct Table: Sendable {
        let name: String
        let columns: [String]
        /// The columns that order the rows.
        let order: [String]
        let rows: Int
    }

    /// The identity of the file, from its size and time.
    package let identity: String
    private let file: SeedFile
    private let queue: DatabaseQueue
    private let tables: [Table]
    private var place: (table: Int, last: [RecordValue]?, position: Int)?

    /// The number of records.
    package var total: Int { tables.reduce(0) { $0 + $1.rows } }

    /// Opens a file and checks that it fits the store.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - shapes: the store's synced tables.
    ///   - columns: all columns of each.
    ///   - migrations: the migrations of the app that the store has.
    /// - Throws: `UbiquitousStoreError` with everything that does not fit.
    package init(_ file: SeedFile, shapes: [TableShape], columns: [String: Set<String>], migrations: [String]) throws {
        self.file = file
        // A read-only connection reports a missing file less clearly.
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: file.path.string),
            let size = attributes[.size] as? Int, let time = attributes[.modificationDate] as? Date
        else { throw UbiquitousStoreError(.fileSystem, "There is no seed at \(file.path), or its attributes cannot be read.", path: file.path) }
        identity = "\(size) \(time.timeIntervalSince1970)"
        queue = try file.open()
        tables = try file.explaining { [queue] in
            try queue.unsafeRead { db in
                var inspector = SeedInspector(file: file, columns: columns, db: db)
                return try inspector.shapes(among: shapes, migrations: migrations).map { shape in
                    let name = shape.name.quotedIdentifier
                    let hasRowid = (try? db.makeStatement(sql: "SELECT rowid FROM \(name)")) != nil
                    return Table(
                        name: shape.name, columns: shape.keyColumns + shape.columns,
                        order: hasRowid ? ["rowid"] : shape.keyColumns.map(\.quotedIdentifier),
                        rows: try Int.fetchOne(db, sql: "SELECT count(*) FROM \(name)")!)
                }
            }
        }
    }

    package func close() throws { try queue.close() }

    /// Reads the records from a position on, which is usually the end of the last batch.
    package mutating func batch(at position: Int) throws -> SeedBatch {
        let start = place.flatMap { $0.position == position ? $0 : nil }
        var (table, last, _) = try start ?? (file.explaining { [queue] in try queue.unsafeRead { db in try find(position, db) } })
        var batch = SeedBatch()
        try file.explaining { [queue] in
            try queue.unsafeRead { db in
                while table < tables.count, !batch.isFull {
                    last = try fill(&batch, from: tables[table], after: last, db)
                    if !batch.isFull { (table, last) = (table + 1, nil) }
                }
            }
        }
        batch.isLast = table == tables.count
        place = (table, last, position + batch.rows.count)
        return batch
    }

    /// Finds the table of a record, and the order values of the row before it.
    private func find(_ position: Int, _ db: Database) throws -> (table: Int, last: [RecordValue]?, position: Int) {
        var left = position
        for (index, table) in tables.enumerated() {
            if left < table.rows {
                guard left > 0 else { return (index, nil, position) }
                let list = table.order.joined(separator: ", ")
                let statement = try RawStatement(
                    "SELECT \(list) FROM \(table.name.quotedIdentifier) ORDER BY \(list) LIMIT 1 OFFSET \(left - 1)", db)
                defer { statement.reset() }
                _ = try statement.step()
                return (index, table.order.indices.map { statement.value($0) }, position)
            }
            left -= table.rows
        }
        return (tables.count, nil, position)
    }

    /// Reads rows of a table into a batch, and returns the order values of the last row.
    private func fill(_ batch: inout SeedBatch, from table: Table, after last: [RecordValue]?, _ db: Database) throws -> [RecordValue]? {
        let list = table.order.joined(separator: ", ")
        let after = last == nil ? "" : "WHERE (\(list)) > (\(table.order.map { _ in "?" }.joined(separator: ", ")))"
        let columns = table.columns.map(\.quotedIdentifier).joined(separator: ", ")
        let statement = try RawStatement("SELECT \(list), \(columns) FROM \(table.name.quotedIdentifier) \(after) ORDER BY \(list)", db)
        defer { statement.reset() }
        for (index, value) in (last ?? []).enumerated() { statement.bind(index + 1, value) }
        var reached = last
        while !batch.isFull, try statement.step() {
            reached = table.order.indices.map { statement.value($0) }
            batch.append(
                SeedBatch.Row(
                    table: table.name, columns: table.columns, values: table.columns.indices.map { statement.value(table.order.count + $0) }))
        }
        return reached
    }
}

/// Checks whether a seed file fits a store, and lists the faults.
struct SeedInspector {
    let file: SeedFile
    /// All columns of the store's synced tables.
    let columns: [String: Set<String>]
    let db: Database
    private var faults: [String] = []

    init(file: SeedFile, columns: [String: Set<String>], db: Database) {
        self.file = file
        self.columns = columns
        self.db = db
    }

    /// Returns the shapes of the tables to read.
    ///
    /// - Throws: `UbiquitousStoreError`.
    mutating func shapes(among shapes: [TableShape], migrations: [String]) throws -> [TableShape] {
        if try db.tableExists("ubiquity_state") {
            throw UbiquitousStoreError(
                .unsupported, "\(file.path) is a synced store itself: seed from a plain copy of it (UbiquitousStore.writePlainCopy).", path: file.path
            )
        }
        if try db.tableExists("grdb_migrations") {
            let unknown = try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations").filter { !migrations.contains($0) }
            if !unknown.isEmpty {
                throw UbiquitousStoreError(
                    .newerFormat,
                    "The seed \(file.path) was made by a newer version of the app, with the migrations \(unknown.joined(separator: ", ")): update this program.",
                    path: file.path)
            }
        }
        let synced = shapes.filter { !SyncedSchema.isOwn($0.name) }
        var taken: [TableShape] = []
        for name in file.tables ?? Self.parentsFirst(shapes).map(\.name).filter({ !SyncedSchema.isOwn($0) }) {
            if let shape = synced.first(where: { $0.name == name }) {
                try inspect(shape)
                taken.append(shape)
            } else {
                faults.append("“\(name)” is no synced table of the store: name those that are.")
            }
        }
        guard faults.isEmpty else {
            let list = faults.map { "  - \($0)" }.joined(separator: "\n")
            throw UbiquitousStoreError(.unsupported, "The seed \(file.path) does not fit the store:\n\(list)", path: file.path)
        }
        return taken
    }

    /// Returns the tables in an order in which few records wait for others.
    private static func parentsFirst(_ shapes: [TableShape]) -> [TableShape] {
        var taken: [Int] = []
        while taken.count < shapes.count {
            let rest = shapes.indices.filter { !taken.contains($0) }
            let next = rest.first { index in shapes[index].foreignKeys.allSatisfy { $0.parent == index || taken.contains($0.parent) } }
            taken.append(next ?? rest[0])
        }
        return taken.map { shapes[$0] }
    }

    private mutating func inspect(_ shape: TableShape) throws {
        guard try db.tableExists(shape.name) else {
            return faults.append("It has no table “\(shape.name)”: make it with the app's migrator, or name the tables that it has.")
        }
        let here = try db.columns(in: shape.name).map(\.name)
        let missing = (shape.keyColumns + shape.columns).filter { !here.contains($0) }
        if !missing.isEmpty { faults.append("“\(shape.name)” has no \(missing.joined(separator: ", ")): make it with the app's migrator.") }
        let unknown = here.filter { columns[shape.name]?.contains($0) != true }
        if !unknown.isEmpty { faults.append("“\(shape.name)” has \(unknown.joined(separator: ", ")), which the store lacks: leave them out.") }
        let key = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [shape.name])
        if key != shape.keyColumns {
            faults.append(
                "“\(shape.name)” has the key (\(key.joined(separator: ", "))), and the store's (\(shape.keyColumns.joined(separator: ", "))): use one key for both."
            )
        }
    }
}
