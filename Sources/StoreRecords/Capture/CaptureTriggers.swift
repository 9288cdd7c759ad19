internal import GRDB
internal import StoreFormat

/// The tables and triggers that capture changes of a synced table, by any program, and its ``GuardTriggers``.
///
/// They call only built-in functions, so that writes by the `sqlite3` shell are captured too. A note holds the place of
/// the row, the operation, the changed columns, and their former values. The new values are read when the save is
/// sealed.
package struct CaptureTriggers {
    /// The operation that a note reports.
    package enum Operation: Int64 {
        /// A row was inserted.
        case inserted = 1
        /// Columns of a row changed, in type or in bytes.
        case updated = 2
        /// A row was about to be inserted while another blocked it.
        ///
        /// If REPLACE removed that row, no delete trigger ran.
        case challenged = 3
        /// A row was deleted, or its key changed.
        case deleted = 4
    }

    private let shape: TableShape
    private let table: String
    private let keys: [String]

    package init(_ shape: TableShape) {
        self.shape = shape
        table = shape.name.quotedIdentifier
        keys = shape.keyColumns.map(\.quotedIdentifier)
    }

    /// The statements that create the package's tables for one synced table.
    package var tables: [String] {
        let keys = shape.ownKeyColumns
        let clock = "life INTEGER NOT NULL, time INTEGER NOT NULL, peer INTEGER NOT NULL, columns INTEGER NOT NULL, others BLOB"
        let values = shape.columns.isEmpty ? "" : ", \(shape.ownValueColumns)"
        return [
            "CREATE TABLE IF NOT EXISTS \(shape.clockTable) "
                + (shape.hasRowid ? "(rid INTEGER PRIMARY KEY, \(clock))" : "(\(keys), \(clock), PRIMARY KEY (\(keys))) WITHOUT ROWID"),
            "CREATE TABLE IF NOT EXISTS \(shape.deadTable) (\(keys), life INTEGER NOT NULL, PRIMARY KEY (\(keys))) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS \(shape.captureTable) (id INTEGER PRIMARY KEY, operation INTEGER NOT NULL, rid INTEGER, columns INTEGER, \(keys)\(values))",
        ]
    }

    /// The statements that drop and create the triggers.
    package var triggers: [String] {
        var triggers: [(name: String, body: String)] = [
            (
                "challenge",
                "BEFORE INSERT ON \(table) WHEN \(idle) AND EXISTS (SELECT 1 FROM \(table) WHERE \(victims)) BEGIN \(challenge(victims)) END"
            ),
            (
                "challenge_update",
                "BEFORE UPDATE ON \(table) WHEN \(idle) AND (\(mayReplace)) BEGIN \(challenge("(\(victims)) AND NOT (\(isOldRow))")) END"
            ),
            ("insert", "AFTER INSERT ON \(table) WHEN \(idle) BEGIN \(born) END"),
            ("delete", "AFTER DELETE ON \(table) WHEN \(idle) BEGIN \(ended("\(Operation.deleted.rawValue)")) END"),
            ("move", "AFTER UPDATE ON \(table) WHEN \(idle) AND (\(moved)) BEGIN \(left) \(born) END"),
        ]
        if !shape.columns.isEmpty { triggers.append(("update", "AFTER UPDATE ON \(table) WHEN \(idle) AND NOT (\(moved)) BEGIN \(updated) END")) }
        if !shape.rules.policies.isEmpty { triggers.append(("obey", obey)) }
        triggers += GuardTriggers(shape).triggers
        return triggers.flatMap { trigger in
            let name = "ubiquity_\(trigger.name)_\(shape.number)"
            return ["DROP TRIGGER IF EXISTS main.\(name)", "CREATE TRIGGER \(name) \(trigger.body)"]
        }
    }

    /// Drops the triggers and creates them again.
    ///
    /// SQLite runs the trigger that was created last first. If a capture trigger puts a value back, a trigger of the
    /// app that computes a derived table from the row must run before that. The app's trigger is therefore created
    /// again after the capture triggers.
    ///
    /// - Parameter db: the store, in a transaction.
    /// - Throws: GRDB's errors.
    func install(_ db: Database) throws {
        for statement in triggers { try db.execute(sql: statement) }
        guard !shape.rules.policies.isEmpty, !shape.derived.isEmpty else { return }
        let derived = Set(shape.derived.map { $0.lowercased() })
        for trigger in try AppTrigger.all(db) where trigger.table == shape.name.lowercased() && !trigger.written.isDisjoint(with: derived) {
            try db.execute(sql: "DROP TRIGGER \(trigger.name.quotedIdentifier)")
            try db.execute(sql: trigger.sql)
        }
    }

    /// Runs a body that changes a whole table without capture.
    ///
    /// Even a trigger that writes nothing runs for each row, and prevents SQLite from emptying a table at once
    /// (sqlite.org/lang_delete.html#truncateopt).
    ///
    /// - Parameters:
    ///   - db: the store, in a transaction that is rolled back if the body throws.
    ///   - body: the change.
    /// - Returns: the result of the body.
    /// - Throws: the error of the body, or GRDB's errors.
    func suspended<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        for statement in triggers where statement.hasPrefix("DROP") { try db.execute(sql: statement) }
        let result = try body()
        try install(db)
        return result
    }
}

extension CaptureTriggers {
    /// Whether no import or correction by this package is running.
    private var idle: String { "(SELECT active FROM ubiquity_import) = \(Capture.Mode.noting.rawValue)" }

    private var capture: String { "INSERT INTO \(shape.captureTable)" }

    /// Whether the row changed its key and is now another record.
    private var rekeyed: String { keys.map(differs).joined(separator: " OR ") }

    /// Whether the row changed its place.
    private var moved: String { shape.hasRowid ? "OLD.rowid <> NEW.rowid OR \(rekeyed)" : rekeyed }

    /// Whether an update could remove other rows, as REPLACE does.
    private var mayReplace: String {
        let enforced = shape.uniques.filter(\.isEnforced)
        // Only SQLite can evaluate an expression or a condition.
        if enforced.contains(where: { $0.condition != nil || $0.terms.contains { !$0.isColumn } }) { return "1" }
        let unique = Set(enforced.flatMap { $0.terms.map(\.sql) }).sorted().map(differs)
        return ([moved] + unique).joined(separator: " OR ")
    }

    private var isOldRow: String {
        shape.hasRowid ? "rowid = OLD.rowid" : shape.keyCondition { _, column in "OLD.\(column.quotedIdentifier)" }
    }

    /// Returns a value of the new row in its final form.
    ///
    /// In a BEFORE trigger it is still NULL if REPLACE puts the default there.
    private func new(_ column: String) -> String {
        let name = "NEW.\(column.quotedIdentifier)"
        return shape.substitutes[column].map { "coalesce(\(name), (\($0)))" } ?? name
    }

    /// Whether REPLACE puts a default into the new row.
    ///
    /// Nil if it never does.
    private var isSubstituted: String? {
        let names = shape.substitutes.keys.sorted().map { "NEW.\($0.quotedIdentifier) IS NULL" }
        return names.isEmpty ? nil : names.joined(separator: " OR ")
    }

    /// The rows that REPLACE may remove: the row with the new key, the row with the new rowid (-1 if SQLite chooses
    /// it), and the rows that a UNIQUE rule forbids beside the new one.
    private var victims: String {
        var conditions = ["(\(shape.keyCondition { _, column in new(column) }))"]
        let stored = Dictionary(
            (shape.keyColumns + shape.columns + shape.localColumns).map { ($0.quotedIdentifier, $0) }, uniquingKeysWith: { first, _ in first })
        if shape.hasRowid { conditions.append("rowid = NEW.rowid") }
        for unique in shape.uniques where unique.isEnforced {
            var parts = unique.terms.map { term in
                // An expression may fail on rows that are not in the index.
                let value = unique.condition.map { "CASE WHEN (\($0)) THEN \(term.sql) END" } ?? term.sql
                return term.isColumn
                    ? "\(term.sql) COLLATE \(term.collation) = \(stored[term.sql].map(new) ?? "NEW.\(term.sql)")"
                    : "\(value) = (SELECT \(value) FROM (SELECT \(newRow)))"
            }
            // A computed column uses the default once it is in place, so only the table itself shows which row
            // conflicts.
            let isComputed = unique.terms.contains { $0.isColumn && stored[$0.sql] == nil }
            if isComputed, let isSubstituted { parts = ["((\(parts.joined(separator: " AND "))) OR \(isSubstituted))"] }
            if let condition = unique.condition { parts.append("(\(condition))") }
            conditions.append("(\(parts.joined(separator: " AND ")))")
        }
        return conditions.joined(separator: " OR ")
    }

    /// `NEW.a AS a, NEW.b AS b`: the new row, for the expressions of an index.
    private var newRow: String {
        (shape.keyColumns + shape.columns + shape.localColumns).map { "\(new($0)) AS \($0.quotedIdentifier)" }.joined(separator: ", ")
    }

    private var valueList: String { shape.columns.isEmpty ? "" : ", \(shape.ownValueColumns)" }

    /// Returns `OLD.a, OLD.b` and so on: place and key first, then every synced column.
    private func whole(_ prefix: String) -> String {
        let place = shape.hasRowid ? "\(prefix)rowid" : "NULL"
        return ([place] + (keys + shape.columns.map(\.quotedIdentifier)).map { prefix + $0 }).joined(separator: ", ")
    }

    private var born: String {
        let refusal = refusal(of: shape.untypedKeys.map { keys[$0] } + untypedReferences)
        if shape.hasRowid { return "\(refusal)\(capture) (operation, rid) VALUES (\(Operation.inserted.rawValue), NEW.rowid);" }
        let key = keys.map { "NEW.\($0)" }.joined(separator: ", ")
        return "\(refusal)\(capture) (operation, \(shape.ownKeyColumns)) VALUES (\(Operation.inserted.rawValue), \(key));"
    }

    private func ended(_ operation: String) -> String {
        "\(capture) (operation, rid, \(shape.ownKeyColumns)\(valueList)) VALUES (\(operation), \(whole("OLD.")));"
    }

    /// The note for a row that leaves its place.
    ///
    /// A row that changes only its rowid stays the same record.
    private var left: String {
        ended("CASE WHEN \(rekeyed) THEN \(Operation.deleted.rawValue) ELSE \(Operation.challenged.rawValue) END")
    }

    private func challenge(_ condition: String) -> String {
        """
        \(capture) (operation, rid, \(shape.ownKeyColumns)\(valueList))
        SELECT \(Operation.challenged.rawValue), \(whole("")) FROM \(table) WHERE \(condition);
        """
    }

    private var updated: String {
        let mask = shape.columns.indices.map { "((\(writes($0))) << \($0))" }.joined(separator: " | ")
        let before = shape.columns.enumerated()
            .map { "CASE WHEN mask >> \($0) & 1 THEN OLD.\($1.quotedIdentifier) END" }.joined(separator: ", ")
        let (names, place) =
            shape.hasRowid ? ("rid", "NEW.rowid") : (shape.ownKeyColumns, keys.map { "NEW.\($0)" }.joined(separator: ", "))
        return """
            \(refusal(of: untypedReferences))\(capture) (operation, \(names), columns\(valueList))
            SELECT \(Operation.updated.rawValue), \(place), mask, \(before) FROM (SELECT \(mask) AS mask) WHERE mask <> 0;
            """
    }

    private func differs(_ name: String) -> String { ExactComparison.differ("OLD.\(name)", "NEW.\(name)") }

    /// Returns whether an update writes a column: the value differs, and its policy accepts the new value.
    ///
    /// If the new value is a zero whose sign may have changed, the seal compares the signs.
    private func writes(_ column: Int) -> String {
        let name = shape.columns[column].quotedIdentifier
        var writes = differs(name)
        if shape.untyped.contains(ColumnSet(column: column)) { writes += " OR (\(ExactComparison.isZero("NEW.\(name)")))" }
        return violation(of: column).map { "(\(writes)) AND NOT (\($0))" } ?? writes
    }

    /// Refuses whole numbers as reals in keys and references.
    ///
    /// SQL treats 1 as equal to 1.0, and 0.0 to -0.0. A device could therefore hold only one of the two keys, and each
    /// device another one.
    private func refusal(of columns: [String]) -> String {
        guard !columns.isEmpty else { return "" }
        let isWhole = columns.map { "(typeof(NEW.\($0)) = 'real' AND NEW.\($0) = CAST(NEW.\($0) AS INTEGER))" }.joined(separator: " OR ")
        let message = "a whole number in a key or a reference of \(shape.name) must be an integer, or its column of type INTEGER or REAL"
        return "SELECT RAISE(ABORT, '\(message.replacing("'", with: "''"))') WHERE \(isWhole);"
    }

    /// The columns of references that distinguish 1 from 1.0.
    private var untypedReferences: [String] {
        let columns = shape.foreignKeys.reduce(into: ColumnSet()) { $0.formUnion($1.valueColumns) }.intersection(shape.untyped)
        return columns.numbers.map { shape.columns[$0].quotedIdentifier }
    }
}

extension CaptureTriggers {
    /// Restores values that a policy protects, in the statement that changed them.
    ///
    /// It writes the value as an import does, so that nothing is captured.
    private var obey: String {
        let columns = shape.columns.indices.compactMap { column in
            violation(of: column).map { (shape.columns[column].quotedIdentifier, $0) }
        }
        let sets = columns.map { "\($0) = CASE WHEN \($1) THEN OLD.\($0) ELSE \($0) END" }.joined(separator: ", ")
        let place = shape.hasRowid ? "rowid = NEW.rowid" : shape.keyCondition { _, column in "NEW.\(column.quotedIdentifier)" }
        return """
            AFTER UPDATE ON \(table) WHEN \(idle) AND NOT (\(rekeyed)) AND (\(columns.map { "(\($1))" }.joined(separator: " OR "))) BEGIN
            \(Capture.statement(.puttingBack));
            UPDATE \(table) SET \(sets) WHERE \(place);
            \(Capture.statement(.noting));
            END
            """
    }

    /// Returns the condition under which a column's policy keeps the old value, or nil if the column has the default
    /// policy.
    private func violation(of column: Int) -> String? {
        let name = shape.columns[column].quotedIdentifier
        let condition: String
        switch shape.rules.policy(of: column) {
        case .lastWriter: return nil
        case .maximum: condition = "NEW.\(name) IS NULL AND OLD.\(name) IS NOT NULL OR \(Self.isBelow("NEW.\(name)", "OLD.\(name)"))"
        case .minimum: condition = "OLD.\(name) IS NOT NULL AND (NEW.\(name) IS NULL OR \(Self.isBelow("OLD.\(name)", "NEW.\(name)")))"
        case .firstWriter: condition = "(\(differs(name))) AND \(isWritten(column))"
        }
        // A comparison with NULL is neither true nor false.
        return "(\(condition)) IS TRUE"
    }

    /// Returns whether a column has a stamp.
    ///
    /// A value has none until its save is sealed, and may still change.
    private func isWritten(_ column: Int) -> String {
        let others = shape.columns.indices.map { "substr(others, \($0 * RecordClock.otherSize + 1), 1) = x'\(Self.hexadecimal(column))'" }
        let place = shape.hasRowid ? "rid = OLD.rowid" : shape.keyColumns.indices.map { "k\($0) = OLD.\(keys[$0])" }.joined(separator: " AND ")
        let isStamped = "columns >> \(column) & 1 OR \(others.joined(separator: " OR "))"
        return "EXISTS (SELECT 1 FROM \(shape.clockTable) WHERE \(place) AND (\(isStamped)))"
    }

    /// Compares two values in SQL in the order of `RecordValue`.
    private static func isBelow(_ left: String, _ right: String) -> String {
        "\(left) COLLATE BINARY < \(right) COLLATE BINARY OR (\(left) = \(right) AND typeof(\(left)) = 'integer' AND typeof(\(right)) = 'real')"
    }

    private static func hexadecimal(_ byte: Int) -> String {
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0\(digits)" : digits
    }
}
