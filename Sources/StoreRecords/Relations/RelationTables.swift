internal import GRDB
internal import StoreFormat

/// The statements that create the relation tables of a synced table, and the indexes of rules without an index.
///
/// - `ubiquity_aside_n`: the registers of living records whose row differs from them; `s0`… is the key under which each
///   record is shown, and `held` is the reason why it is not.
/// - `ubiquity_same_n`: the pairs of records that are one, each in both directions.
/// - `ubiquity_unresolved_n`: the records whose row must be resolved.
/// - `ubiquity_moved_n`: the rows that show another value in a column than was written, because another record holds
///   it.
package struct RelationTables {
    package let shape: TableShape

    package init(shape: TableShape) { self.shape = shape }

    var statements: [String] {
        let keys = shape.ownKeyColumns
        let values = (shape.columns.indices.map { "v\($0)" } + shape.localColumns.indices.map { "x\($0)" }).map { ", \($0)" }.joined()
        let shown = list("s")
        var statements = [
            """
            CREATE TABLE IF NOT EXISTS \(shape.asideTable) (\(keys), life INTEGER NOT NULL, time INTEGER NOT NULL, peer INTEGER NOT NULL, \
            columns INTEGER NOT NULL, others BLOB\(values), \(shown), held TEXT, PRIMARY KEY (\(keys))) WITHOUT ROWID
            """,
            "CREATE INDEX IF NOT EXISTS \(shape.asideTable)_shown ON \(shape.asideTable) (\(shown))",
            """
            CREATE TABLE IF NOT EXISTS \(shape.sameTable) (\(list("a")), la INTEGER NOT NULL, \(list("b")), lb INTEGER NOT NULL, since REAL NOT NULL, \
            PRIMARY KEY (\(list("a")), la, \(list("b")), lb)) WITHOUT ROWID
            """,
            "CREATE TABLE IF NOT EXISTS \(shape.unresolvedTable) (\(keys), PRIMARY KEY (\(keys))) WITHOUT ROWID",
        ]
        if !shape.exclusives.isEmpty {
            statements.append(
                "CREATE TABLE IF NOT EXISTS \(shape.movedTable) (\(keys), \"column\" INTEGER NOT NULL, written, \(list("h")), PRIMARY KEY (\(keys), \"column\")) WITHOUT ROWID"
            )
        }
        for (number, key) in shape.foreignKeys.enumerated() {
            statements.append(
                "CREATE INDEX IF NOT EXISTS \(shape.asideTable)_reference_\(number) ON \(shape.asideTable) (\(ownColumns(of: key).joined(separator: ", ")))"
            )
        }
        for (number, unique) in shape.uniques.enumerated() where !unique.isEnforced {
            statements.append(
                "CREATE INDEX IF NOT EXISTS ubiquity_unique_\(shape.number)_\(number) ON \(shape.name.quotedIdentifier) (\(unique.terms.map(\.sql).joined(separator: ", ")))"
            )
        }
        return statements
    }

    /// Applies changed declarations of uniqueness rules, and marks the records that may show something else by them.
    func applyRules(_ db: Database) throws {
        let indexes = try String.fetchAll(
            db, sql: "SELECT name FROM main.sqlite_master WHERE type = 'index' AND name LIKE 'ubiquity\\_unique\\_\(shape.number)\\_%' ESCAPE '\\'")
        for index in indexes { try db.execute(sql: "DROP INDEX \(index)") }
        for statement in statements { try db.execute(sql: statement) }
        try db.execute(sql: "INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(shape.ownKeyColumns) FROM \(shape.asideTable)")
        try markDuplicates(db)
        // A moved row is kept aside, so the statement above has marked it.
        if shape.exclusives.isEmpty { try db.execute(sql: "DROP TABLE IF EXISTS \(shape.movedTable)") }
    }

    /// Marks the rows that collide by a rule without an index.
    func markDuplicates(_ db: Database) throws {
        let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        let table = shape.name.quotedIdentifier
        for unique in shape.uniques where !unique.isEnforced {
            let terms = unique.terms.map(\.sql).joined(separator: ", ")
            // The subquery also finds groups of NULLs, which IN does not treat as equal.
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO \(shape.unresolvedTable)
                    SELECT \(keys) FROM \(table) WHERE (\(terms)) IN (SELECT \(terms) FROM \(table) GROUP BY \(terms) HAVING count(*) > 1)
                    """)
        }
    }

    /// Marks the rows whose references dangle, because a rule is new or another program wrote the rows.
    func markOrphans(_ db: Database) throws {
        guard !shape.foreignKeys.isEmpty else { return }
        let table = shape.name.quotedIdentifier
        let keys = shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        // The check returns no rowid for a table without rowids.
        let which = shape.hasRowid ? "rowid IN (SELECT rowid FROM found)" : "EXISTS (SELECT 1 FROM found)"
        try db.execute(
            sql: """
                WITH found AS MATERIALIZED (SELECT rowid FROM pragma_foreign_key_check(?))
                INSERT OR IGNORE INTO \(shape.unresolvedTable) SELECT \(keys) FROM \(table) WHERE \(which)
                """, arguments: [shape.name])
    }

    /// Throws for a schema without relations if records are still kept aside.
    func checkStillRelated(among shapes: [TableShape], _ db: Database) throws {
        guard !shapes.contains(where: \.isRelated) else { return }
        let isAside = try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM \(shape.asideTable)) OR EXISTS (SELECT 1 FROM \(shape.sameTable))")!
        guard isAside else { return }
        throw UbiquitousStoreError(
            .invalidSchema,
            "Records of “\(shape.name)” have become one, or are not shown, by uniqueness rules and foreign keys. The new schema has none of these: keep one of them, or declare one with `unique:`. The store is as it was."
        )
    }

    /// Returns the columns of a reference in the table of records aside.
    func ownColumns(of key: ForeignKey) -> [String] {
        key.columns.map { column in
            switch column {
            case .key(let place): "k\(place)"
            case .value(let number): "v\(number)"
            }
        }
    }

    /// Returns the columns of a reference in the app's table.
    func columns(of key: ForeignKey) -> [String] {
        key.columns.map { column in
            switch column {
            case .key(let place): shape.keyColumns[place].quotedIdentifier
            case .value(let number): shape.columns[number].quotedIdentifier
            }
        }
    }

    /// Returns `a0, a1`: as many columns as the key has.
    package func list(_ letter: String) -> String { shape.keyColumns.indices.map { "\(letter)\($0)" }.joined(separator: ", ") }
}
