internal import GRDB

/// The rows that a conversion of keys would lose or break.
struct StableKeyRows {
    private let plan: StableKeyPlan
    private let db: Database

    init(_ plan: StableKeyPlan, _ db: Database) { (self.plan, self.db) = (plan, db) }

    /// Lists the obstacles among the rows: keys that are no integers, and references to rows that do not exist.
    ///
    /// - Throws: GRDB's errors, such as that of a condition that SQLite does not understand.
    func obstacles() throws -> [String] {
        var obstacles: [String] = []
        for root in plan.roots {
            let (table, key) = ("main.\(root.table.name.quotedIdentifier)", root.key.quotedIdentifier)
            let condition = "typeof(\(key)) <> 'integer'"
            if let count = try count("SELECT count(*) FROM \(table) WHERE \(condition)") {
                obstacles.append(
                    "\(count) of the keys of “\(root.table.name)” are no integers: correct them first; SELECT * FROM \(table) WHERE \(condition) lists them."
                )
            }
        }
        guard obstacles.isEmpty else { return obstacles }
        for table in plan.rebuilt {
            for column in table.columns {
                guard let sources = plan.columns[ColumnName(table.name, column.name)] else { continue }
                let condition = dangling("\(table.name.quotedIdentifier).\(column.name.quotedIdentifier)", sources)
                let rows = "FROM main.\(table.name.quotedIdentifier) WHERE \(condition)"
                guard let count = try count("SELECT count(*) \(rows)") else { continue }
                obstacles.append(
                    "\(count) rows of “\(table.name)” refer by “\(column.name)” to rows that do not exist: delete them or set the column to NULL first; SELECT * \(rows) lists them."
                )
            }
        }
        return obstacles
    }

    private func count(_ sql: String) throws -> Int? {
        let count = try Int.fetchOne(db, sql: sql) ?? 0
        return count > 0 ? count : nil
    }

    /// Returns the condition of rows whose reference no root has.
    private func dangling(_ column: String, _ sources: [StableKeyPlan.Source]) -> String {
        let found = sources.map { source in
            let root = plan.roots[source.root]
            let key = "ubiquity_parent.\(root.key.quotedIdentifier)"
            let row = "SELECT 1 FROM main.\(root.table.name.quotedIdentifier) AS ubiquity_parent WHERE \(key) = \(column)"
            return "WHEN \(source.condition.map { "(\($0))" } ?? "1") THEN NOT EXISTS (\(row))"
        }
        return "\(column) IS NOT NULL AND CASE \(found.joined(separator: " ")) ELSE 1 END"
    }
}
