import GRDB
import Testing

@testable import StoreFormat
@testable import StoreRecords

/// What a column makes of a value, in SQL that stores nothing.
struct ColumnAffinityTests {
    @Test(
        "A value is what a column of its type stores, to the last bit",
        arguments: [
            "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "", "VARCHAR(9)", "DECIMAL(5)",
        ])
    func stored(type: String) throws {
        let literals = [
            "NULL", "0", "-1", "9223372036854775807", "-9223372036854775807 - 1", "9007199254740993", "0.0", "-0.0", "1.0", "1.5", "1e300", "9e999",
            "9223372036854775808.0", "-9223372036854775808.0", "4611686018427387904.0", "''", "'1'", "'01'", "' 1 '", "'1.0'", "'1.50'", "'-0'",
            "'-0.0'", "'1e2'", "'12abc'",
            "'abc'", "'0x10'", "'9223372036854775807'", "'9223372036854775808'", "'1e400'", "x''", "x'31'", "char(49, 0)",
        ]
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE t (v \(type))")
            for literal in literals {
                try db.execute(sql: "DELETE FROM t; INSERT INTO t VALUES (\(literal))")
                func kind(_ sql: String) throws -> [String?] { try String?.fetchAll(db, sql: "SELECT typeof(w) || ' ' || quote(w) FROM (\(sql))") }
                let stored = try kind("SELECT v AS w FROM t")
                #expect(try kind("SELECT \(ColumnAffinity(type).stored("v")) AS w FROM (SELECT \(literal) AS v)") == stored, "\(literal) as \(type)")
            }
        }
    }

    @Test("A default is what a new row holds, in a strict table's ANY too, which converts nothing")
    func defaults() throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, i INTEGER DEFAULT '1', r REAL DEFAULT '1.5', x TEXT DEFAULT 7, a ANY DEFAULT '3') STRICT;
                CREATE TABLE u (id TEXT NOT NULL PRIMARY KEY, a ANY DEFAULT '3')
                """)
        ) {
            SyncedTable("t")
            SyncedTable("u")
        }
        let queue = try DatabaseQueue()
        try schema.migrator.migrate(queue)
        try queue.write { db in
            for shape in try SchemaInspector.shapes(of: schema, in: db) where ["t", "u"].contains(shape.name) {
                try db.execute(sql: "INSERT INTO \(shape.name) (id) VALUES ('x')")
                let row = try #require(try Row.fetchOne(db, sql: "SELECT \(shape.columns.joined(separator: ", ")) FROM \(shape.name)"))
                #expect(shape.defaults == shape.columns.map { RecordValue(row[$0] as DatabaseValue) })
            }
        }
    }
}
