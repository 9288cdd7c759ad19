internal import Foundation
internal import GRDB
internal import StoreFormat

/// Upgrades the package's own tables after the app's migrations, in the copy: numbers, names, notes, and new columns to
/// adopt.
struct StoreUpgrade {
    private let shapes: [TableShape]
    private let local: Set<String>
    private let db: Database

    /// Creates an upgrade.
    ///
    /// - Parameters:
    ///   - shapes: the present synced tables.
    ///   - local: the tables that stay on the device.
    ///   - db: the copy, in a transaction.
    init(shapes: [TableShape], local: Set<String>, _ db: Database) {
        self.shapes = shapes
        self.local = local
        self.db = db
    }

    /// Upgrades all of the package's own tables.
    ///
    /// - Parameter tables: the former synced tables.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func run(from tables: [KnownTable]) throws {
        for (table, shape) in KnownTable.matched(tables, shapes) {
            if var shape {
                shape.number = table.number
                try upgrade(table, to: shape)
            } else {
                try forget(table)
            }
        }
        let listsChanges = try ChangeJournal.isInstalled(db)
        if listsChanges { try ChangeJournal.rename(KnownTable.matched(tables, shapes), db) }
        let installed = try StoreInstaller.install(shapes, local: local, isMigrated: true, db)
        for shape in installed { try RelationTables(shape: shape).markOrphans(db) }
        // New columns have values, and duplicate rows may have been set aside.
        if listsChanges { try ChangeJournal.ofOpening.append(whole: installed, .migration, now: Date(), db) }
    }

    /// Drops the package's own tables for a table that was dropped or has become local.
    private func forget(_ table: KnownTable) throws {
        for name in ["clock", "dead", "capture", "aside", "same", "unresolved"] {
            try db.execute(sql: "DROP TABLE ubiquity_\(name)_\(table.number)")
        }
        try db.execute(sql: "DROP TABLE IF EXISTS ubiquity_moved_\(table.number)")
        try db.execute(sql: "DELETE FROM ubiquity_table WHERE number = ?", arguments: [table.number])
        try db.execute(sql: "DELETE FROM ubiquity_broken WHERE name = ?", arguments: [table.name])
        try Adopter.remove(table.number, db)
    }

    private func upgrade(_ table: KnownTable, to shape: TableShape) throws {
        let renumbering = table.renumbering(to: shape)
        if !table.isCurrent(shape) {
            try renumberClocks(of: shape, renumbering)
            try copyNotes(of: shape, renumbering)
            try rename(table, to: shape)
            try StoreInstaller.enter(shape, db)
            try Adopter.renumber(shape.number, renumbering, db)
            try tellNewColumns(of: shape, renumbering)
        }
        try copyAsides(table, to: shape, renumbering)
        try CaptureTriggers(shape).install(db)
    }

    /// Removes the bits of dropped columns from the clocks.
    ///
    /// It uses functions of this connection, so that SQLite reads the table once, and holds only a page of it at a
    /// time.
    private func renumberClocks(of shape: TableShape, _ renumbering: ColumnRenumbering) throws {
        guard !renumbering.isIdentity else { return }
        try withFunctions(renumbering) {
            try db.execute(sql: "UPDATE \(shape.clockTable) SET columns = ubiquity_mask(columns), others = ubiquity_others(others)")
            try db.execute(sql: "UPDATE \(shape.captureTable) SET columns = ubiquity_mask(columns) WHERE columns IS NOT NULL")
            // Notes about dropped columns only are deleted.
            try db.execute(
                sql: "DELETE FROM \(shape.captureTable) WHERE operation = \(CaptureTriggers.Operation.updated.rawValue) AND columns = 0")
        }
    }

    /// Runs a body with functions that renumber the parts of a clock.
    private func withFunctions(_ renumbering: ColumnRenumbering, _ body: () throws -> Void) throws {
        let mask = DatabaseFunction("ubiquity_mask", argumentCount: 1) { values in
            Int64.fromDatabaseValue(values[0]).map { renumbering.renumbered(ColumnSet(rawValue: $0)).rawValue }
        }
        let others = DatabaseFunction("ubiquity_others", argumentCount: 1) { values in
            guard let bytes = Data.fromDatabaseValue(values[0]), let others = bytes.withUnsafeBytes(RecordClock.unpack) else { return nil }
            var clock = RecordClock(life: 1, stamp: .least, columns: [])
            clock.others = others
            return renumbering.renumbered(clock).packedOthers.map { Data($0) }
        }
        for function in [mask, others] { db.add(function: function) }
        defer { for function in [mask, others] { db.remove(function: function) } }
        try body()
    }

    /// Copies the aside records: the registers of records whose row does not show exactly these.
    ///
    /// A value that a migration wrote to a new column of a row counts for every record that the row shows. A record
    /// that is not shown gets the unwritten value. References and rules may have changed, so every aside record must be
    /// resolved again.
    private func copyAsides(_ table: KnownTable, to shape: TableShape, _ renumbering: ColumnRenumbering) throws {
        let former = "ubiquity_former_\(shape.number)"
        let relations = RelationTables(shape: shape)
        try db.execute(sql: "ALTER TABLE \(shape.asideTable) RENAME TO \(former)")
        for statement in relations.statements { try db.execute(sql: statement) }
        let key = shape.keyCondition { index, _ in "\(former).s\(index)" }
        let values = shape.columns.enumerated().map { column, name in
            renumbering.former(column).map { "v\($0)" }
                ?? "CASE WHEN held IS NULL THEN (SELECT \(name.quotedIdentifier) FROM \(shape.name.quotedIdentifier) WHERE \(key)) ELSE ? END"
        }
        let local = shape.localColumns.map { name in table.localColumns.firstIndex(of: name).map { "x\($0)" } ?? "?" }
        let columns = [shape.ownKeyColumns, "life", "time", "peer", "ubiquity_mask(columns)", "ubiquity_others(others)"] + values + local
        try withFunctions(renumbering) {
            let copy = try RawStatement(
                "INSERT INTO \(shape.asideTable) SELECT \(columns.joined(separator: ", ")), \(relations.list("s")), held FROM \(former)", db)
            var index = 0
            for (column, value) in zip(values + local, (shape.columns.indices.map { shape.unwritten($0) }) + shape.localDefaults)
            where column.contains("?") {
                index += 1
                copy.bind(index, value)
            }
            try copy.run()
        }
        try db.execute(sql: "DROP TABLE \(former)")
        try db.execute(
            sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable)")
        try relations.checkStillRelated(among: shapes, db)
    }

    /// Copies the unsealed notes to a table with a place for each column's former value.
    ///
    /// A value that the migration wrote to a new column is not an edit. If a row comes back under its key, the value
    /// counts as its former value.
    private func copyNotes(of shape: TableShape, _ renumbering: ColumnRenumbering) throws {
        let former = "ubiquity_former_\(shape.number)"
        let table = shape.name.quotedIdentifier
        let key = shape.keyCondition { index, _ in "\(former).k\(index)" }
        let values = shape.columns.enumerated().map { column, name in
            renumbering.former(column).map { "v\($0)" } ?? "(SELECT \(name.quotedIdentifier) FROM \(table) WHERE \(key))"
        }
        let names = ["id", "operation", "rid", "columns", shape.ownKeyColumns]
        let sources = (names + values).joined(separator: ", ")
        try db.execute(sql: "ALTER TABLE \(shape.captureTable) RENAME TO \(former)")
        for statement in CaptureTriggers(shape).tables { try db.execute(sql: statement) }
        try db.execute(
            sql: """
                INSERT INTO \(shape.captureTable) (\((names + shape.columns.indices.map { "v\($0)" }).joined(separator: ", ")))
                SELECT \(sources) FROM \(former) ORDER BY id;
                DROP TABLE \(former);
                """)
    }

    /// Applies new names to the lists that people read and restore from.
    private func rename(_ table: KnownTable, to shape: TableShape) throws {
        try db.execute(sql: "UPDATE ubiquity_broken SET name = ? WHERE name = ?", arguments: [shape.name, table.name])
        let conflicts = try Row.fetchCursor(
            db, sql: "SELECT number, lost, others FROM ubiquity_conflict WHERE name = ?", arguments: [table.name])
        var renamed: [(number: Int64, lost: [UInt8], others: [UInt8])] = []
        while let row = try conflicts.next() {
            renamed.append((row["number"], try Self.renamed(row["lost"], shape), try Self.renamed(row["others"], shape)))
        }
        for (number, lost, others) in renamed {
            try db.execute(
                sql: "UPDATE ubiquity_conflict SET name = ?, lost = ?, others = ? WHERE number = ?",
                arguments: [shape.name, Data(lost), Data(others), number])
        }
    }

    private static func renamed(_ fields: Data, _ shape: TableShape) throws -> [UInt8] {
        ConflictHistory.packed(
            try ConflictHistory.fields(fields).map { field in
                Conflict.Field(column: shape.number(of: field.column).map { shape.columns[$0] } ?? field.column, value: field.value)
            })
    }

    /// Lists the table for adoption if new columns hold values, because no log holds these.
    ///
    /// They go out with the least stamp.
    private func tellNewColumns(of shape: TableShape, _ renumbering: ColumnRenumbering) throws {
        var filled: ColumnSet = []
        // Whether a zero differs from the default, only adoption can tell, which a store with a scope does not do.
        func mayBeFilled(_ value: String) -> String { shape.access == nil ? " OR (\(ExactComparison.isZero(value)))" : "" }
        for (column, name) in shape.columns.enumerated() where renumbering.former(column) == nil {
            let value = name.quotedIdentifier
            let statement = try RawStatement(
                """
                SELECT EXISTS (SELECT 1 FROM \(shape.name.quotedIdentifier)
                WHERE \(ExactComparison.differ(value, "?1"))\(mayBeFilled(value)))
                """, db)
            defer { statement.reset() }
            statement.bind(1, shape.unwritten(column))
            if try statement.step(), statement.integer(0) == 1 { filled.insert(ColumnSet(column: column)) }
        }
        guard !filled.isEmpty else { return }
        let names = filled.numbers.map { shape.columns[$0] }.joined(separator: ", ")
        try StoreInstaller.refuseAdoption(of: shape, "has values in the new columns (\(names))")
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(shape.name.quotedIdentifier)")!
        try Adopter.enlist(shape, rows: rows, columns: filled, db)
    }
}
