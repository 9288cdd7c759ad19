internal import GRDB
internal import StoreFormat

/// Compares a store with its migrated copy, which is attached as `migrated`, and lists forbidden changes with their
/// remedies.
///
/// A migration may create, rename and drop tables and columns, and fill the columns that it creates. Existing rows and
/// values must stay, because they have stamps: a value that changed without a new stamp would differ from the other
/// devices.
struct MigrationCheck {
    private let db: Database
    private(set) var violations: [String] = []

    init(_ db: Database) { self.db = db }

    /// Finds tables and columns that no longer sync although the version of the schema is unchanged.
    ///
    /// A log names its author's last migration. If a log names something unknown, its author's version shows whether
    /// this app is older than the author, so that the log waits, or newer, so that the unknown thing has been dropped.
    mutating func compareDeclarations(_ table: KnownTable, _ shape: TableShape?) {
        let remedy = "register a migration with this change (an empty one is enough), so that other devices can tell which logs are older"
        guard let shape else {
            violations.append("Table “\(table.name)” is no longer declared as synced, but the schema version is unchanged: \(remedy).")
            return
        }
        let missing = zip(table.columns, table.renumbering(to: shape).numbers).filter { $1 == nil }.map(\.0)
        guard !missing.isEmpty else { return }
        violations.append(
            "The columns (\(missing.joined(separator: ", "))) of “\(shape.name)” no longer sync, but the schema version is unchanged: \(remedy).")
    }

    /// Compares one table, and moves its clocks to the new rowids of their rows.
    ///
    /// - Parameters:
    ///   - table: the former table.
    ///   - shape: the present table.
    ///   - setAside: the number of its rows that were set aside before.
    /// - Throws: GRDB's errors.
    mutating func compare(_ table: KnownTable, _ shape: TableShape, setAside: Int = 0) throws {
        guard shape.presentKey(table.keyColumns) == shape.keyColumns else {
            violations.append(
                "The primary key of “\(shape.name)” was (\(table.keyColumns.joined(separator: ", "))) and is (\(shape.keyColumns.joined(separator: ", "))), but it identifies records on every device. Make a new table with the new key, and move the records by ordinary saves."
            )
            return
        }
        let old = try columns(of: table.name, in: "main")
        let new = try columns(of: shape.name, in: "migrated")
        var pairs = Array(zip(table.keyColumns, shape.keyColumns))
        for (name, number) in zip(table.columns, table.renumbering(to: shape).numbers) {
            if let number { pairs.append((name, shape.columns[number])) }
        }
        let former = Set(pairs.map(\.1))
        for (before, name) in pairs { compare(name, of: shape, old[before], new[name]) }
        for name in shape.columns where !former.contains(name) { check(name, of: shape, new[name]) }
        guard try hasRowid(table.name, in: "main") == shape.hasRowid else {
            violations.append("Table “\(shape.name)” has become a table with or without rowid: undo that.")
            return
        }
        try compareRows(table, shape, pairs, setAside)
    }

    /// Checks that an existing column keeps the properties that decide which values it holds.
    private mutating func compare(_ name: String, of shape: TableShape, _ old: Column?, _ new: Column?) {
        guard let old, let new else { return }
        if old.affinity != new.affinity {
            violations.append(
                "Column “\(name)” of “\(shape.name)” was of type \(old.affinity.rawValue) and is \(new.affinity.rawValue), which would change values from other devices: make a new column."
            )
        }
        if new.isRequired, !old.isRequired {
            violations.append(
                "Column “\(name)” of “\(shape.name)” has become NOT NULL, but devices on an older version write NULL: make a new column with a DEFAULT."
            )
        }
        if old.defaultValue != new.defaultValue, !shape.keyColumns.contains(name) {
            violations.append(
                "The default of “\(name)” of “\(shape.name)” has changed, but other devices show it for records from older versions: keep it, and let the app write the new value."
            )
        }
    }

    /// Checks that a new column has a value in records from devices without the column, equal on every device.
    private mutating func check(_ name: String, of shape: TableShape, _ new: Column?) {
        guard let new, new.isRequired else { return }
        if new.defaultValue.map({ $0.uppercased() == "NULL" }) ?? true {
            violations.append(
                "The new column “\(name)” of “\(shape.name)” is NOT NULL without a DEFAULT, but records from devices on an older version have no value for it: give it a DEFAULT, or allow NULL."
            )
        } else if let expression = new.defaultValue, ColumnDefault.varies(expression) {
            violations.append(
                "The new column “\(name)” of “\(shape.name)” has the default \(expression), which is not the same on every device: use a constant.")
        }
    }

    /// Reads both tables side by side, once: each row of the store, with the row of the copy that has its key.
    private mutating func compareRows(_ table: KnownTable, _ shape: TableShape, _ pairs: [(String, String)], _ setAside: Int) throws {
        let (before, after) = ("main.\(table.name.quotedIdentifier)", "migrated.\(shape.name.quotedIdentifier)")
        let same = zip(table.keyColumns, shape.keyColumns).map { "n.\($1.quotedIdentifier) = o.\($0.quotedIdentifier)" }.joined(separator: " AND ")
        let differing = pairs.map { pair in
            let (old, new) = ("o.\(pair.0.quotedIdentifier)", "n.\(pair.1.quotedIdentifier)")
            let zero = "\(ExactComparison.isZero(old)) AND ubiquity_bits(\(old)) IS NOT ubiquity_bits(\(new))"
            return "total(\(ExactComparison.differ(old, new)) OR (\(zero)))"
        }
        let bits = DatabaseFunction("ubiquity_bits", argumentCount: 1, pure: true) { values in
            if case .double(let real) = values[0].storage { Int64(bitPattern: real.bitPattern) } else { nil }
        }
        db.add(function: bits)
        defer { db.remove(function: bits) }
        let moved = shape.hasRowid ? "total(o.rowid <> n.rowid)" : "0"
        let counts = try Row.fetchOne(
            db, sql: "SELECT count(*), \(moved), \(differing.joined(separator: ", ")) FROM \(before) o CROSS JOIN \(after) n WHERE \(same)")!
        let found: Int = counts[0]
        let there = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(before)")!
        let now = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(after)")!
        for (what, count) in [("removes", there - setAside - found), ("adds", now - found)] where count > 0 {
            violations.append(
                "A migration \(what) \(count) \(count == 1 ? "row" : "rows") of “\(shape.name)”, or changes keys there: other devices would not receive the change. Remove it from the migration, and make it by an ordinary save."
            )
        }
        for (index, pair) in pairs.enumerated() {
            let count = Int(counts[index + 2] as Double)
            guard count > 0 else { continue }
            violations.append(
                "A migration changes “\(pair.1)” of “\(shape.name)” in \(count) \(count == 1 ? "row" : "rows"): it may fill only columns that it makes. Remove the change from the migration, and make it by an ordinary save."
            )
        }
        if violations.isEmpty, Int(counts[1] as Double) > 0 { try moveClocks(table, before, after, same) }
    }

    /// Moves clocks and notes to the new rowids in a table that was created again and filled from the old one.
    ///
    /// Notes and clocks of deleted rows, whose deletion is not sealed yet, get places without a row.
    private func moveClocks(_ table: KnownTable, _ before: String, _ after: String, _ same: String) throws {
        func place(_ rid: String) -> String {
            """
            coalesce((SELECT n.rowid FROM \(before) o CROSS JOIN \(after) n WHERE o.rowid = \(rid) AND \(same)),             CASE WHEN \(rid) < 0 THEN \(rid) ELSE \(rid) - (1 << 62) END)
            """
        }
        let (clock, capture) = ("ubiquity_clock_\(table.number)", "ubiquity_capture_\(table.number)")
        try db.execute(
            sql: """
                CREATE TEMP TABLE ubiquity_moving AS SELECT rid FROM migrated.\(clock);
                DELETE FROM migrated.\(clock);
                INSERT INTO migrated.\(clock) SELECT \(place("c.rid")), life, time, peer, columns, others FROM main.\(clock) c
                WHERE rid IN (SELECT rid FROM temp.ubiquity_moving);
                DROP TABLE temp.ubiquity_moving;
                UPDATE migrated.\(capture) SET rid = \(place("\(capture).rid")) WHERE rid IS NOT NULL;
                """)
        // Adoption in progress starts again. Rows that have a clock are recognised by it.
        try db.execute(sql: "UPDATE migrated.ubiquity_adoption SET place = NULL, rows = 0 WHERE number = ?", arguments: [table.number])
    }
}

extension MigrationCheck {
    private struct Column {
        var affinity: ColumnAffinity
        var isRequired: Bool
        /// The default value, as an expression.
        var defaultValue: String?
    }

    private func columns(of table: String, in database: String) throws -> [String: Column] {
        var columns: [String: Column] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT * FROM pragma_table_xinfo(?, ?)", arguments: [table, database]) {
            columns[row["name"]] = Column(affinity: ColumnAffinity(row["type"]), isRequired: row["notnull"], defaultValue: row["dflt_value"])
        }
        return columns
    }

    private func hasRowid(_ table: String, in database: String) throws -> Bool {
        (try? db.makeStatement(sql: "SELECT rowid FROM \(database).\(table.quotedIdentifier)")) != nil
    }
}
