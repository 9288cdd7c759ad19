internal import GRDB

/// The former names of tables and columns, and the numbers of the columns.
extension SchemaInspector {
    /// Maps former names of columns to present ones; a name that is in use, or stands for two columns, is a violation.
    mutating func formerColumns(of table: SyncedTable, columns: [String], key: [String]) -> [String: String] {
        var present: [String: String] = [:]
        for (name, formerNames) in table.formerColumns.sorted(by: { $0.key < $1.key }) {
            guard (columns + key).contains(name) else {
                violations.append("Column “\(name)” of “\(table.name)” has former names and does not sync: spell it as in the migrator.")
                continue
            }
            for former in formerNames {
                if (columns + key).contains(former) {
                    violations.append(
                        "Column “\(former)” of “\(table.name)” is there, and is declared as a former name of “\(name)”: a name cannot be reused for another column; rename one."
                    )
                } else if let other = present.updateValue(name, forKey: former) {
                    violations.append(
                        "“\(former)” is declared as a former name of two columns of “\(table.name)”, “\(other)” and “\(name)”: remove one.")
                }
            }
        }
        return present
    }

    /// Returns the columns in the order of their numbers.
    ///
    /// Columns that existed before keep their numbers or move up, and new ones follow.
    func numbered(_ columns: [String], of table: SyncedTable, _ formerColumns: [String: String]) -> [String] {
        guard let before = known.first(where: { $0.name == table.name }) ?? known.first(where: { table.formerNames.contains($0.name) }) else {
            return columns
        }
        var numbered: [String] = []
        for name in before.columns.map({ columns.contains($0) ? $0 : formerColumns[$0] ?? $0 }) + columns
        where columns.contains(name) && !numbered.contains(name) {
            numbered.append(name)
        }
        return numbered
    }

    /// Rejects a former name that is declared as a table or belongs to two tables, because logs with it would be
    /// ambiguous.
    mutating func checkFormerNames(_ tables: [SyncedTable]) {
        var owners: [String: String] = [:]
        for table in tables {
            for former in table.formerNames {
                if tables.contains(where: { $0.name == former }) {
                    violations.append(
                        "Table “\(former)” is declared, and as a former name of “\(table.name)”: a name cannot be reused for another table; rename one."
                    )
                } else if let other = owners.updateValue(table.name, forKey: former) {
                    violations.append("“\(former)” is declared as a former name of two tables, “\(other)” and “\(table.name)”: remove one.")
                }
            }
        }
    }
}

/// The affinity that SQLite derives from a column's declared type.
///
/// See sqlite.org/datatype3.html#determination_of_column_affinity.
enum ColumnAffinity: String, Sendable {
    case integer = "INTEGER"
    case text = "TEXT"
    case blob = "BLOB"
    case real = "REAL"
    case numeric = "NUMERIC"

    init(_ type: String) {
        let type = type.uppercased()
        func names(_ parts: String...) -> Bool { parts.contains { type.contains($0) } }
        self =
            if names("INT") { .integer } else if names("CHAR", "CLOB", "TEXT") { .text } else if names("BLOB") || type.isEmpty {
                .blob
            } else if names(
                "REAL", "FLOA", "DOUB")
            { .real } else { .numeric }
    }

    /// Returns SQL for a value as a column of this affinity stores it; see sqlite.org/datatype3.html#type_affinity.
    ///
    /// - Parameter value: a column's name or a literal; the SQL contains it several times.
    /// - Returns: an expression.
    func stored(_ value: String) -> String {
        // A comparison with a number converts a text only if all of it reads as a number.
        let number = "typeof(\(value)) = 'text' AND CAST(\(value) AS NUMERIC) = \(value)"
        switch self {
        case .blob: return value
        case .text: return "CASE WHEN typeof(\(value)) IN ('integer', 'real') THEN CAST(\(value) AS TEXT) ELSE \(value) END"
        case .real: return "CASE WHEN typeof(\(value)) = 'integer' OR \(number) THEN CAST(\(value) AS REAL) ELSE \(value) END"
        case .integer, .numeric:
            // The ends of the range are excluded, because a real is not exact there.
            let whole = "CAST(\(value) AS INTEGER) = \(value) AND CAST(\(value) AS INTEGER) NOT IN (-9223372036854775807 - 1, 9223372036854775807)"
            return """
                CASE WHEN \(number) THEN CAST(\(value) AS NUMERIC) WHEN typeof(\(value)) = 'real' AND \(whole) THEN CAST(\(value) AS INTEGER) \
                ELSE \(value) END
                """
        }
    }
}
