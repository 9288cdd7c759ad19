internal import GRDB

/// The tables and triggers that note what changes in a synced table, whoever writes it.
///
/// They call built-in functions only, so that a write by the `sqlite3` shell is noted too. A note holds the rowid, what happened and
/// which columns changed; the values are read when the save is sealed.
enum CaptureTriggers {
    /// What a note says happened.
    enum Operation: Int64 {
        /// A row came to be.
        case inserted = 1
        /// Columns of a row changed, by type or by bytes.
        case updated = 2
        /// A row with a key was about to be inserted while one with that key was there: if REPLACE took it, no delete trigger told.
        case challenged = 3
        /// A row ceased to be, or left its key.
        case deleted = 4
    }

    /// The statements that make our tables for one synced table.
    static func tables(for shape: TableShape) -> [String] {
        let keys = shape.ownKeyColumns
        return [
            """
            CREATE TABLE IF NOT EXISTS \(shape.clockTable)
            (rid INTEGER PRIMARY KEY, life INTEGER NOT NULL, time INTEGER NOT NULL, peer INTEGER NOT NULL, columns INTEGER NOT NULL, others BLOB)
            """,
            "CREATE TABLE IF NOT EXISTS \(shape.deadTable) (\(keys), life INTEGER NOT NULL, PRIMARY KEY (\(keys))) WITHOUT ROWID",
            "CREATE TABLE IF NOT EXISTS \(shape.captureTable) (id INTEGER PRIMARY KEY, operation INTEGER NOT NULL, rid INTEGER NOT NULL, columns INTEGER, \(keys))",
        ]
    }

    /// The statements that make the triggers anew.
    static func triggers(for shape: TableShape) -> [String] {
        let table = shape.name.quotedDatabaseIdentifier
        let idle = "(SELECT active FROM ubiquity_import) = 0"
        let oldKeys = shape.keyColumns.map { "OLD.\($0.quotedDatabaseIdentifier)" }
        let capture = "INSERT INTO \(shape.captureTable)"
        func ended(_ operation: String) -> String {
            "\(capture) (operation, rid, \(shape.ownKeyColumns)) VALUES (\(operation), OLD.rowid, \(oldKeys.joined(separator: ", ")));"
        }
        let rekeyed = shape.keyColumns.map(differs).joined(separator: " OR ")
        // A row that only changes its rowid stays the record that it was.
        let left = ended("CASE WHEN \(rekeyed) THEN \(Operation.deleted.rawValue) ELSE \(Operation.challenged.rawValue) END")
        let sameKey = shape.keyCondition { _, column in "NEW.\(column.quotedDatabaseIdentifier)" }
        let moved = "OLD.rowid <> NEW.rowid OR \(rekeyed)"
        let mask = shape.columns.enumerated().map { "((\(differs($1))) << \($0))" }.joined(separator: " | ")
        // REPLACE may take the row that has the new key, and the one that has the new rowid (-1 where SQLite is to choose it).
        let victims = "(\(sameKey)) OR rowid = NEW.rowid"
        func challenge(_ condition: String) -> String {
            """
            \(capture) (operation, rid, \(shape.ownKeyColumns))
            SELECT \(Operation.challenged.rawValue), rowid, \(shape.keyColumns.map(\.quotedDatabaseIdentifier).joined(separator: ", "))
            FROM \(table) WHERE \(condition);
            """
        }
        var triggers: [(name: String, body: String)] = [
            (
                "challenge",
                "BEFORE INSERT ON \(table) WHEN \(idle) AND EXISTS (SELECT 1 FROM \(table) WHERE \(victims)) BEGIN \(challenge(victims)) END"
            ),
            (
                "challenge_update",
                "BEFORE UPDATE ON \(table) WHEN \(idle) AND (\(moved)) BEGIN \(challenge("(\(victims)) AND rowid <> OLD.rowid")) END"
            ),
            (
                "insert",
                "AFTER INSERT ON \(table) WHEN \(idle) BEGIN \(capture) (operation, rid) VALUES (\(Operation.inserted.rawValue), NEW.rowid); END"
            ),
            ("delete", "AFTER DELETE ON \(table) WHEN \(idle) BEGIN \(ended("\(Operation.deleted.rawValue)")) END"),
            (
                "move",
                "AFTER UPDATE ON \(table) WHEN \(idle) AND (\(moved)) BEGIN \(left) \(capture) (operation, rid) VALUES (\(Operation.inserted.rawValue), NEW.rowid); END"
            ),
        ]
        if !shape.columns.isEmpty {
            triggers.append(
                (
                    "update",
                    """
                    AFTER UPDATE ON \(table) WHEN \(idle) AND NOT (\(moved)) BEGIN
                    \(capture) (operation, rid, columns) SELECT \(Operation.updated.rawValue), NEW.rowid, mask FROM (SELECT \(mask) AS mask) WHERE mask <> 0;
                    END
                    """
                ))
        }
        return triggers.flatMap { trigger in
            let name = "ubiquity_\(trigger.name)_\(shape.number)"
            return ["DROP TRIGGER IF EXISTS \(name)", "CREATE TRIGGER \(name) \(trigger.body)"]
        }
    }

    /// `IS NOT` alone would miss `x` → `X` under NOCASE, and `1` → `1.0`.
    private static func differs(_ column: String) -> String {
        let name = column.quotedDatabaseIdentifier
        return "OLD.\(name) COLLATE BINARY IS NOT NEW.\(name) COLLATE BINARY OR typeof(OLD.\(name)) <> typeof(NEW.\(name))"
    }
}
