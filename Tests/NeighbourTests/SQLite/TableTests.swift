import GRDB
import Testing
import Ubiquity

/// Kinds of tables and columns, as SQLite's documentation has them.
struct TableTests {
    @Test("STRICT and WITHOUT ROWID tables sync, with keys of several columns, and a STRICT table still refuses values of other types")
    func strict() async throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "score", options: [.strict, .withoutRowID]) { t in
                t.primaryKey {
                    t.column("game", .text)
                    t.column("player", .text)
                }
                t.column("points", .integer).notNull()
                t.column("extra", .any)
            }
        }
        try await withTwoDevices(SyncedSchema(migrator: migrator) { SyncedTable("score") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO score VALUES ('g', 'p', 5, 1.5), ('g', 'q', 6, x'00')") }
            #expect(
                try await two.rows("SELECT points, extra IN (1.5, x'00'), typeof(extra) FROM score ORDER BY points") == [
                    ["5", "1", "\"real\""], ["6", "1", "\"blob\""],
                ])
            let error = await #expect(throws: DatabaseError.self) {
                try await two.phone.write { db in try db.execute(sql: "UPDATE score SET points = 'many'") }
            }
            #expect(error?.message?.contains("cannot store TEXT value in INTEGER column") == true)
        }
    }

    @Test("VIRTUAL and STORED generated columns are computed on each device from the columns that sync, also in an index")
    func generated() async throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { db in
            try db.create(table: "line") { t in
                t.primaryKey("id", .text)
                t.column("count", .integer).notNull()
                t.column("price", .integer).notNull()
                t.column("total", .integer).generatedAs(sql: "count * price", .stored)
                t.column("isLarge", .boolean).generatedAs(sql: "count * price > 100", .virtual)
            }
            try db.create(index: "line_total", on: "line", columns: ["total"])
        }
        try await withTwoDevices(SyncedSchema(migrator: migrator) { SyncedTable("line") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO line (id, count, price) VALUES ('l', 2, 30)") }
            #expect(try await two.rows("SELECT total, isLarge FROM line") == [["60", "0"]])
            // Each device changes one factor; the product is of both.
            try await two.desk.write { db in try db.execute(sql: "UPDATE line SET count = 3") }
            try await two.phone.write { db in try db.execute(sql: "UPDATE line SET price = 50") }
            #expect(try await two.rows("SELECT total, isLarge FROM line INDEXED BY line_total WHERE total = 150") == [["150", "1"]])
        }
    }

    @Test("JSON columns are one value each: functions and expression indexes of JSON work, and of two writers the later one stays")
    func json() async throws {
        let schema = SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY, info TEXT NOT NULL CHECK (json_valid(info)));
                CREATE INDEX place_city ON place (info ->> 'city');
                """)
        ) { SyncedTable("place") }
        try await withTwoDevices(schema) { two in
            try await two.desk.write { db in
                try db.execute(sql: "INSERT INTO place VALUES ('p', json_object('city', 'Oslo', 'stars', 3))")
                try db.execute(sql: "UPDATE place SET info = json_set(info, '$.stars', 4)")
            }
            #expect(try await two.rows("SELECT info ->> 'stars' FROM place WHERE info ->> 'city' = 'Oslo'") == [["4"]])
            try await two.desk.write { db in try db.execute(sql: "UPDATE place SET info = json_set(info, '$.city', 'Bergen')") }
            try await two.phone.write { db in try db.execute(sql: "UPDATE place SET info = json_set(info, '$.stars', 5)") }
            // The document of one of them, whole: no mixture.
            let info = try await two.rows("SELECT info ->> 'city', info ->> 'stars' FROM place")
            #expect([[["\"Bergen\"", "4"]], [["\"Oslo\"", "5"]]].contains(info), "\(info)")
        }
    }

    @Test("Partial indexes sync nothing by themselves, and a partial UNIQUE index asks for a declaration like any other")
    func partialIndexes() async throws {
        let sql = """
            CREATE TABLE mail (id TEXT NOT NULL PRIMARY KEY, box TEXT NOT NULL, isRead BOOLEAN NOT NULL DEFAULT 0);
            CREATE INDEX mail_unread ON mail (box) WHERE NOT isRead;
            """
        try await withTwoDevices(SyncedSchema(migrator: migrator(sql)) { SyncedTable("mail") }) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO mail (id, box) VALUES ('m', 'in'), ('n', 'in')") }
            try await two.sync()
            try await two.phone.write { db in try db.execute(sql: "UPDATE mail SET isRead = 1 WHERE id = 'm'") }
            #expect(try await two.rows("SELECT id FROM mail INDEXED BY mail_unread WHERE box = 'in' AND NOT isRead") == [["\"n\""]])
        }
        let unique = "CREATE TABLE pin (id TEXT NOT NULL PRIMARY KEY, slot INTEGER); CREATE UNIQUE INDEX slots ON pin (slot) WHERE slot > 0;"
        let message = try await refusal(of: SyncedSchema(migrator: migrator(unique)) { SyncedTable("pin") })
        #expect(message.contains(#"declare unique: [["slot"]]"#) && message.contains("or exclusive:"), "\(message)")
    }

    @Test("A CHECK refuses a save that breaks it; a row that breaks it after a merge is shown, and listed until it is repaired")
    func checks() async throws {
        let schema = SyncedSchema(
            migrator: migrator("CREATE TABLE span (id TEXT NOT NULL PRIMARY KEY, low INTEGER, high INTEGER, CHECK (low <= high))")
        ) {
            SyncedTable("span")
        }
        try await withTwoDevices(schema) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO span VALUES ('s', 1, 9)") }
            try await two.sync()
            let error = await #expect(throws: DatabaseError.self) {
                try await two.desk.write { db in try db.execute(sql: "UPDATE span SET low = 10") }
            }
            #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_CHECK)
            try await two.desk.write { db in try db.execute(sql: "UPDATE span SET low = 8") }
            try await two.phone.write { db in try db.execute(sql: "UPDATE span SET high = 2") }
            #expect(try await two.rows("SELECT low, high FROM span") == [["8", "2"]])
            for store in [two.desk, two.phone] { #expect(try await store.status().broken.count == 1) }
            try await two.phone.write { db in try db.execute(sql: "UPDATE span SET high = 12") }
            #expect(try await two.rows("SELECT low, high FROM span") == [["8", "12"]])
            for store in [two.desk, two.phone] { #expect(try await store.status().broken.isEmpty) }
        }
    }

    @Test("REPLACE and INSERT OR IGNORE of a key are an update of its record, and nothing")
    func replacing() async throws {
        let schema = SyncedSchema(migrator: migrator("CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT, body TEXT)")) {
            SyncedTable("note")
        }
        try await withTwoDevices(schema) { two in
            try await two.desk.write { db in try db.execute(sql: "INSERT INTO note VALUES ('n', 'Milk', 'two')") }
            try await two.sync()
            try await two.desk.write { db in try db.execute(sql: "REPLACE INTO note VALUES ('n', 'Oat milk', 'two')") }
            try await two.phone.write { db in
                try db.execute(sql: "INSERT OR IGNORE INTO note VALUES ('n', 'Beer', 'many')")
                try db.execute(sql: "UPDATE note SET body = 'three'")
            }
            // The columns merge: REPLACE has changed the title alone.
            #expect(try await two.rows("SELECT * FROM note") == [["\"n\"", "\"Oat milk\"", "\"three\""]])
        }
    }
}
