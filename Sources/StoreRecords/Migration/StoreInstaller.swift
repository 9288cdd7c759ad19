internal import Foundation
internal import GRDB
internal import StoreFormat

/// Adds the store's own tables and triggers to an app's database, and repairs them.
enum StoreInstaller {
    /// Returns the tables with their numbers, or nil if the file must be written first.
    ///
    /// It only reads.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables.
    ///   - local: the tables that stay on the device.
    ///   - isReadOnly: whether changed declarations of the app can wait for a connection that writes.
    ///   - db: a connection.
    /// - Returns: the tables, or nil.
    /// - Throws: `UbiquitousStoreError` if a table has changed incompatibly, or GRDB's errors.
    static func installed(_ shapes: [TableShape], local: Set<String>, isReadOnly: Bool = false, _ db: Database) throws -> [TableShape]? {
        var numbered: [TableShape] = []
        for shape in shapes {
            guard let known = try known(shape, db), try !isRenumbered(known, db), try hasTriggers(known, db) else { return nil }
            numbered.append(known)
        }
        if shapes.contains(where: { $0.access != nil }), try !AuthorityRow.exists(db) || !db.tableExists("ubiquity_statement") { return nil }
        for shape in numbered { try RelationTables(shape: shape).checkStillRelated(among: numbered, db) }
        return try isReadOnly || StoreDeclarations.areCurrent(numbered, local: local, db) ? numbered : nil
    }

    /// Assigns the tables' numbers, creates missing own tables and triggers, and applies the app's declarations.
    ///
    /// Known tables keep their numbers.
    ///
    /// - Parameters:
    ///   - shapes: the synced tables.
    ///   - local: the tables that stay on the device.
    ///   - isMigrated: whether the app's migrations have just run.
    ///   - db: in a transaction.
    /// - Returns: the tables with their numbers.
    /// - Throws: `UbiquitousStoreError` if a table has changed incompatibly, or GRDB's errors.
    static func install(_ shapes: [TableShape], local: Set<String>, isMigrated: Bool = false, _ db: Database) throws -> [TableShape] {
        var mayHaveMissed = isMigrated
        if shapes.contains(where: { $0.access != nil }) {
            let statements = AuthorityRow.statements + [RecordLimit.statement, ScopeState.statementTable] + PlaceState.statements
            for statement in statements { try db.execute(sql: statement) }
        }
        let numbered = try shapes.map { shape in
            if let known = try known(shape, db) {
                if try reconcile(known, db) { mayHaveMissed = true }
                try reinstall(known, db)
                return known
            }
            var new = shape
            new.number = try Int64.fetchOne(db, sql: "SELECT coalesce(max(number), 0) + 1 FROM ubiquity_table")!
            try enter(new, db)
            for statement in CaptureTriggers(new).tables + RelationTables(shape: new).statements { try db.execute(sql: statement) }
            try CaptureTriggers(new).install(db)
            let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(new.name.quotedIdentifier)")!
            if rows > 0 {
                try refuseAdoption(of: new, "has \(rows) \(rows == 1 ? "row" : "rows")")
                try Adopter.enlist(new, rows: rows, db)
                if try ChangeJournal.isInstalled(db) { try ChangeJournal.ofOpening.append(whole: [new], .beginning, now: Date(), db) }
            }
            return new
        }
        try StoreDeclarations.apply(numbered, local: local, mayHaveMissed: mayHaveMissed, db)
        return numbered
    }

    /// Throws in a store with a scope, in which each row and value comes from an account that may write it.
    ///
    /// Values that are adopted would be this account's, in rows of others too. Every reader would reject them.
    static func refuseAdoption(of shape: TableShape, _ what: String) throws {
        guard shape.access != nil else { return }
        throw UbiquitousStoreError(
            .invalidSchema,
            "“\(shape.name)” \(what) that no save has written, and a store with a scope cannot tell whose they are: let the migrator write nothing into synced tables, and write these values by an ordinary save of an account that may."
        )
    }

    /// Stores a table's names, in the order of their numbers.
    static func enter(_ shape: TableShape, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO ubiquity_table (number, name, key, columns) VALUES (?,?,?,?)",
            arguments: [shape.number, shape.name, keyList(shape), columnList(shape)])
    }

    private static func keyList(_ shape: TableShape) -> String { shape.keyColumns.joined(separator: "\n") }
    private static func columnList(_ shape: TableShape) -> String { shape.columns.joined(separator: "\n") }

    /// Returns a table with its number, or nil if it has none yet.
    private static func known(_ shape: TableShape, _ db: Database) throws -> TableShape? {
        guard let row = try Row.fetchOne(db, sql: "SELECT number, key, columns FROM ubiquity_table WHERE name = ?", arguments: [shape.name]) else {
            return nil
        }
        guard row["key"] == keyList(shape), row["columns"] == columnList(shape) else {
            // Another program changed it between the first look at the file and this transaction.
            throw UbiquitousStoreError(
                .unsupported, "The columns of “\(shape.name)” have just been changed by another program: open the store again.")
        }
        var known = shape
        known.number = row["number"]
        return known
    }

    /// Returns whether a table has exactly the expected own triggers.
    private static func hasTriggers(_ shape: TableShape, _ db: Database) throws -> Bool {
        let expected = Set(CaptureTriggers(shape).triggers.filter { $0.hasPrefix("CREATE") })
        return try Set(triggers(of: shape, db).values) == expected
    }

    /// Returns the own triggers of a table: the statement of each by its name.
    private static func triggers(of shape: TableShape, _ db: Database) throws -> [String: String] {
        try Row.fetchAll(
            db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'ubiquity\\_%\\_\(shape.number)' ESCAPE '\\'"
        ).reduce(into: [:]) { $0[$1["name"]] = $1["sql"] }
    }

    /// Creates triggers that were dropped or changed, and captures the rows that were inserted without them.
    ///
    /// Updates and deletions without a trigger left no trace, so they cannot be found.
    private static func reinstall(_ shape: TableShape, _ db: Database) throws {
        guard try !hasTriggers(shape, db) else { return }
        // One that is no longer expected would stay, as that of a policy that the app has taken away.
        for name in try triggers(of: shape, db).keys { try db.execute(sql: "DROP TRIGGER main.\(name.quotedIdentifier)") }
        try CaptureTriggers(shape).install(db)
        if try Adopter.isAdopting(shape.number, db) { return }
        let place = shape.hasRowid ? "rowid" : shape.keyColumns.map(\.quotedIdentifier).joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO \(shape.captureTable) (operation, \(shape.ownPlaceColumns)) SELECT \(CaptureTriggers.Operation.inserted.rawValue), \(place)
                FROM \(shape.name.quotedIdentifier) WHERE (\(place)) NOT IN (SELECT \(shape.ownPlaceColumns) FROM \(shape.clockTable))
                """)
    }

    /// Returns whether the greatest rowid differs from that of the last clock, although nothing waits for a seal.
    private static func isRenumbered(_ shape: TableShape, _ db: Database) throws -> Bool {
        guard shape.hasRowid, !shape.isRowidKey, try !Adopter.isAdopting(shape.number, db) else { return false }
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT (SELECT max(rowid) FROM \(shape.name.quotedIdentifier)) IS NOT (SELECT max(rid) FROM \(shape.clockTable))
                AND NOT EXISTS (SELECT 1 FROM \(shape.captureTable))
                """)!
    }

    /// Assigns clocks to their rows again after the rows were renumbered.
    ///
    /// Loading a dump (and VACUUM, according to its documentation) may renumber the rows of a table, from 1 and in
    /// their order. The greatest numbers therefore differ if any do, and the order determines which clock belongs to
    /// which row.
    ///
    /// - Returns: whether rows have other numbers.
    private static func reconcile(_ shape: TableShape, _ db: Database) throws -> Bool {
        guard try isRenumbered(shape, db) else { return false }
        let table = shape.name.quotedIdentifier
        let rows = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")!
        guard rows == (try Int.fetchOne(db, sql: "SELECT count(*) FROM \(shape.clockTable)")!) else {
            // A missing trigger explains the difference.
            guard try hasTriggers(shape, db) else { return false }
            throw UbiquitousStoreError(
                .malformed,
                "The rows of “\(shape.name)” have been changed without the triggers, so that their stamps no longer match. Move the store file aside and open again: it is filled again from the container."
            )
        }
        try db.execute(
            sql: """
                CREATE TEMP TABLE ubiquity_renumbered AS SELECT * FROM
                (SELECT rowid AS new, row_number() OVER (ORDER BY rowid) AS place FROM \(table))
                JOIN (SELECT *, row_number() OVER (ORDER BY rid) AS place FROM \(shape.clockTable)) USING (place);
                DELETE FROM \(shape.clockTable);
                INSERT INTO \(shape.clockTable) SELECT new, life, time, peer, columns, others FROM ubiquity_renumbered;
                DROP TABLE ubiquity_renumbered;
                """)
        return true
    }
}
