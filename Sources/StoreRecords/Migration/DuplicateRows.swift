internal import Foundation
internal import GRDB
internal import StoreFormat
internal import SystemPackage

/// Rows that duplicate others under a uniqueness rule of the app's new schema, in the copy in which a store is
/// migrated.
///
/// If the app declares the meaning of the rule, all duplicates but one are set aside before the migrations run, as an
/// import sets aside a record that another row blocks. They are resolved as soon as the store is open: they become one
/// record, or show another value.
struct DuplicateRows {
    private let db: Database

    /// Creates access to the duplicates.
    ///
    /// - Parameter db: the copy, before its migrations.
    init(_ db: Database) { self.db = db }

    /// Sets rows aside.
    ///
    /// Rows with captured changes, or rows that are not adopted yet, stay, because only the row holds their values.
    ///
    /// - Parameters:
    ///   - tables: the synced tables as they are in the copy.
    ///   - schema: the app's declarations.
    /// - Returns: the number of rows set aside in each table, by its number.
    /// - Throws: GRDB's errors.
    func setAside(from tables: [KnownTable], by schema: SyncedSchema) throws -> [Int64: Int] {
        try Capture.suspended(db) { try setAsideAll(from: tables, by: schema) }
    }

    private func setAsideAll(from tables: [KnownTable], by schema: SyncedSchema) throws -> [Int64: Int] {
        var counts: [Int64: Int] = [:]
        for declared in schema.tables {
            let known = tables.first { $0.name == declared.name } ?? tables.first { declared.formerNames.contains($0.name) }
            guard let known else { continue }
            for rule in declared.unique + declared.exclusive.map(\.columns) {
                let terms = rule.map { term in
                    let former = [term] + (declared.formerColumns[term] ?? [])
                    return former.first { (known.columns + known.keyColumns).contains($0) }?.quotedIdentifier ?? "(\(term))"
                }
                counts[known.number, default: 0] += try setAside(known, terms)
            }
        }
        return counts.filter { $0.value > 0 }
    }

    private func setAside(_ known: KnownTable, _ terms: [String]) throws -> Int {
        let (number, table) = (known.number, known.name.quotedIdentifier)
        let keys = known.keyColumns.map(\.quotedIdentifier)
        let own = keys.indices.map { "k\($0)" }
        let hasRowid = try db.columns(in: "ubiquity_clock_\(number)").contains { $0.name == "rid" }
        func list(_ names: [String]) -> String { names.joined(separator: ", ") }
        let isOfClock = hasRowid ? "c.rid = t.rowid" : zip(own, keys).map { "c.\($0) = t.\($1)" }.joined(separator: " AND ")
        let isNoted = "EXISTS (SELECT 1 FROM ubiquity_capture_\(number) c WHERE \(isOfClock))"
        do {
            try db.execute(
                sql: """
                    CREATE TEMP TABLE ubiquity_double AS SELECT * FROM
                    (SELECT \(list(zip(own, keys).map { "t.\($1) AS \($0)" })), \(isNoted) AS noted,
                    row_number() OVER (PARTITION BY \(list(terms)) ORDER BY NOT \(isNoted), \(list(keys.map { "t.\($0)" }))) AS place
                    FROM \(table) t WHERE \(terms.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")))
                    WHERE place > 1 AND NOT noted
                    """)
        } catch let error as DatabaseError where error.fault == .content(.expression) {
            // The migrations create a column of this term, so duplicates cannot be found before they run.
            return 0
        }
        defer { try? db.execute(sql: "DROP TABLE temp.ubiquity_double") }
        let isDouble = "(\(list(keys.map { "t.\($0)" }))) IN (SELECT \(list(own)) FROM temp.ubiquity_double)"
        let isShown = "(\(list(own.indices.map { "s\($0)" }))) IN (SELECT \(list(own)) FROM temp.ubiquity_double) AND held IS NULL"
        let values = (known.columns + known.localColumns).map { ", t.\($0.quotedIdentifier)" }.joined()
        // The records of a computed row are aside already.
        try db.execute(
            sql: """
                CREATE TEMP TABLE ubiquity_derived AS SELECT DISTINCT \(list(own.indices.map { "s\($0) AS k\($0)" })) FROM ubiquity_aside_\(number) WHERE \(isShown);
                INSERT OR IGNORE INTO ubiquity_unresolved_\(number) SELECT \(list(own)) FROM ubiquity_aside_\(number) WHERE \(isShown);
                UPDATE ubiquity_aside_\(number) SET held = '' WHERE \(isShown);
                INSERT OR IGNORE INTO ubiquity_unresolved_\(number) SELECT \(list(own)) FROM temp.ubiquity_double
                WHERE (\(list(own))) NOT IN (SELECT \(list(own)) FROM temp.ubiquity_derived);
                INSERT INTO ubiquity_aside_\(number)
                SELECT \(list(keys.map { "t.\($0)" })), c.life, c.time, c.peer, c.columns, c.others\(values), \(list(keys.map { "t.\($0)" })), ''
                FROM \(table) t JOIN ubiquity_clock_\(number) c ON \(isOfClock)
                WHERE \(isDouble) AND (\(list(keys.map { "t.\($0)" }))) NOT IN (SELECT \(list(own)) FROM temp.ubiquity_derived);
                DROP TABLE temp.ubiquity_derived;
                """)
        // Rows without a clock are not adopted yet, and stay.
        let hasClock =
            hasRowid
            ? "t.rowid IN (SELECT rid FROM ubiquity_clock_\(number))" : "EXISTS (SELECT 1 FROM ubiquity_clock_\(number) c WHERE \(isOfClock))"
        let place = hasRowid ? "rid" : list(own)
        let placeOf = hasRowid ? "t.rowid" : list(keys.map { "t.\($0)" })
        try db.execute(
            sql: """
                CREATE TEMP TABLE ubiquity_place AS SELECT \(placeOf) FROM \(table) t WHERE \(isDouble) AND \(hasClock);
                DELETE FROM \(table) AS t WHERE \(isDouble) AND \(hasClock);
                """)
        let count = db.changesCount
        try db.execute(
            sql: "DELETE FROM ubiquity_clock_\(number) WHERE (\(place)) IN (SELECT * FROM temp.ubiquity_place); DROP TABLE temp.ubiquity_place")
        return count
    }
}

extension DuplicateRows {
    private static let examples = 5

    /// Returns whether an error means that rows violate a uniqueness rule.
    static func isCause(of error: DatabaseError) -> Bool { error.fault == .content(.unique) }

    /// Explains which records block a migration that creates a uniqueness rule, and how to fix it.
    ///
    /// - Parameters:
    ///   - error: the error of the migration, which was rolled back.
    ///   - path: the store file.
    /// - Returns: the error for the app.
    /// - Throws: GRDB's errors.
    func explanation(_ error: DatabaseError, _ path: FilePath) throws -> UbiquitousStoreError {
        // The message is “UNIQUE constraint failed: person.email”, or “… index 'name'” for an expression
        // (sqlite.org/src/file/src/insert.c, sqlite3UniqueConstraint).
        let failed = (error.message ?? "").split(separator: ": ").last.map(String.init) ?? ""
        let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
        let table = tables.filter { failed.hasPrefix($0 + ".") }.max { $0.count < $1.count }
        let columns = table.map { table in failed.components(separatedBy: ", ").map { String($0.dropFirst(table.count + 1)) } } ?? []
        let records = try table.map { try examples($0, columns) } ?? []
        let rule = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        let subject =
            table.map { "A migration makes (\(columns.joined(separator: ", "))) of “\($0)” UNIQUE" }
            ?? "A migration makes a UNIQUE rule (\(failed))"
        let named = records.isEmpty ? "" : ": \(records.joined(separator: "; "))"
        let declared = table.map { "SyncedTable(\"\($0)\")" } ?? "its SyncedTable"
        return UbiquitousStoreError(
            .invalidSchema,
            """
            \(subject), and there are records with equal values\(named). Declare in \(declared) unique: [[\(rule)]] if they are \
            one thing and shall become one record, or exclusive: [[\(rule)]] if both stay and one shows another value. Either needs no index: leave it out of a migration \
            that also writes the values. Or make the values different by ordinary saves in the previous version of the app. \(path) is unchanged.
            """, path: path, cause: error)
    }

    /// Returns the first records with equal values, grouped by value.
    private func examples(_ table: String, _ columns: [String]) throws -> [String] {
        let keys = try String.fetchAll(db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", arguments: [table])
        let terms = columns.map(\.quotedIdentifier).joined(separator: ", ")
        let own = keys.indices.map { "k\($0)" }.joined(separator: ", ")
        guard !keys.isEmpty, (try? db.makeStatement(sql: "SELECT \(terms) FROM \(table.quotedIdentifier)")) != nil else { return [] }
        let places = "dense_rank() OVER (ORDER BY \(terms))"
        let rows = try RawStatement(
            """
            SELECT \(own), place FROM
            (SELECT \(keys.enumerated().map { "\($1.quotedIdentifier) AS k\($0)" }.joined(separator: ", ")), \(places) AS place,
            count(*) OVER (PARTITION BY \(terms)) AS same FROM \(table.quotedIdentifier)
            WHERE \(columns.map { "\($0.quotedIdentifier) IS NOT NULL" }.joined(separator: " AND ")))
            WHERE same > 1 ORDER BY place, \(own) LIMIT \(4 * Self.examples)
            """, db)
        defer { rows.reset() }
        var found: [(place: Int64, names: [String])] = []
        while try rows.step() {
            let name = ObjectID(table: table, key: keys.indices.map { rows.value($0).detached }).text
            let place = rows.integer(keys.count)
            if found.last?.place == place { found[found.count - 1].names.append(name) } else { found.append((place, [name])) }
        }
        return found.prefix(Self.examples).map { $0.names.joined(separator: " and ") }
    }
}
