import Foundation
import GRDB
import Testing
import Ubiquity

/// Statements as StructuredQueries and other query builders write them, on a synced store.
struct QueryBuilderTests {
    private static let reminders = QueryTable(name: "reminders", columns: ["id", "remindersListID", "title", "isCompleted", "priority"])
    private static let lists = QueryTable(name: "remindersLists", columns: ["id", "title"])

    private static let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE "remindersLists" ("id" TEXT NOT NULL PRIMARY KEY, "title" TEXT NOT NULL DEFAULT '') STRICT;
            CREATE TABLE "reminders" (
              "id" TEXT NOT NULL PRIMARY KEY,
              "remindersListID" TEXT NOT NULL REFERENCES "remindersLists"("id") ON DELETE CASCADE,
              "title" TEXT NOT NULL DEFAULT '',
              "isCompleted" INTEGER NOT NULL DEFAULT 0,
              "priority" INTEGER,
              "updatedAt" TEXT
            ) STRICT;
            """)
    ) {
        SyncedTable("remindersLists")
        SyncedTable("reminders", excluding: ["updatedAt"])
    }

    private func fill(_ store: UbiquitousStore) async throws {
        try await store.write { db in
            try Self.lists.insert([["l", "Family"]]).execute(db)
            try Self.reminders.insert([["a", "l", "Haircut", 0, nil], ["b", "l", "Groceries; \"milk\"", 0, 3]]).execute(db)
        }
    }

    @Test("Bound insertions, updates and deletions that return rows sync")
    func statements() async throws {
        try await withTwoDevices(Self.schema) { two in
            try await fill(two.desk)
            try await two.sync()
            let updated = try await two.phone.write { db in
                let table = Self.reminders
                return try table.update("isCompleted", "NOT \(table.column("isCompleted"))", "WHERE \(table.column("id")) = \(bind: "a")").fetchAll(
                    db)
            }
            #expect(updated.map { $0["isCompleted"] as Int? } == [1])
            #expect(try await two.rows("SELECT id, isCompleted FROM reminders ORDER BY id") == [["\"a\"", "1"], ["\"b\"", "0"]])
            let deleted = try await two.desk.write { db in
                try Self.reminders.delete("WHERE \(Self.reminders.column("priority")) > \(bind: 2)").fetchAll(db)
            }
            #expect(deleted.map { $0["title"] as String? } == ["Groceries; \"milk\""])
            #expect(try await two.rows("SELECT id FROM reminders") == [["\"a\""]])
        }
    }

    @Test("An upsert with ON CONFLICT DO UPDATE changes the record, and DO NOTHING changes nothing")
    func upserts() async throws {
        try await withTwoDevices(Self.schema) { two in
            try await fill(two.desk)
            try await two.sync()
            try await two.phone.write { db in
                let rest: QueryFragment = "ON CONFLICT (\(quote: "id")) DO UPDATE SET \(quote: "title") = excluded.\(quote: "title")"
                try Self.reminders.insert([["a", "l", "Shave", 1, 9], ["c", "l", "Taxes", 0, nil]], rest).execute(db)
                try Self.lists.insert([["l", "Work"]], "ON CONFLICT DO NOTHING").execute(db)
            }
            // The row that was there keeps the columns that the clause does not name.
            #expect(
                try await two.rows("SELECT id, title, isCompleted FROM reminders WHERE id <> 'b' ORDER BY id") == [
                    ["\"a\"", "\"Shave\"", "0"], ["\"c\"", "\"Taxes\"", "0"],
                ])
            #expect(try await two.rows("SELECT title FROM remindersLists") == [["\"Family\""]])
        }
    }

    @Test("Joins, groups, common table expressions and full decoding of columns read what other devices have saved")
    func queries() async throws {
        try await withTwoDevices(Self.schema) { two in
            try await fill(two.desk)
            let (reminders, lists) = (Self.reminders, Self.lists)
            let decoded = try await two.onBoth { db in
                let rows = try reminders.select("ORDER BY \(reminders.column("title")) LIMIT \(bind: 1)").fetchAll(db)
                return rows.map { row in row["title"] as String? }
            }
            #expect(decoded == ["Groceries; \"milk\""])
            let counts = try await two.onBoth { db in
                let query: QueryFragment = """
                    WITH open AS (SELECT * FROM \(quote: "reminders") WHERE NOT \(reminders.column("isCompleted")))
                    SELECT \(lists.column("title")) AS title, count(open.id) AS number FROM \(quote: "remindersLists")
                    LEFT JOIN open ON open.\(quote: "remindersListID") = \(lists.column("id")) GROUP BY \(lists.column("id"))
                    """
                return try query.fetchAll(db).map { row in "\((row["title"] as String?) ?? "") \((row["number"] as Int?) ?? 0)" }
            }
            #expect(counts == ["Family 2"])
        }
    }

    @Test("A temporary trigger that fills a column of this device runs for the app's saves, and for imports unless it is guarded")
    func temporaryTriggers() async throws {
        try await withTwoDevices(Self.schema) { two in
            func trigger(_ guarded: Bool) -> String {
                """
                CREATE TEMPORARY TRIGGER "stamp" AFTER UPDATE OF "title" ON main."reminders"
                \(guarded ? "WHEN (SELECT active FROM ubiquity_import) = 0" : "")
                BEGIN UPDATE "reminders" SET "updatedAt" = coalesce("updatedAt", '') || '+' WHERE "id" = NEW."id"; END
                """
            }
            for (store, sql) in [(two.desk, trigger(true)), (two.phone, trigger(false))] { try await store.write { db in try db.execute(sql: sql) } }
            try await fill(two.desk)
            try await two.sync()
            try await two.desk.write { db in try Self.reminders.update("title", "\(bind: "Beard")", "WHERE id = 'a'").execute(db) }
            try await two.sync()
            try await two.phone.write { db in try Self.reminders.update("title", "\(bind: "Nails")", "WHERE id = 'a'").execute(db) }
            #expect(try await two.rows("SELECT title FROM reminders WHERE id = 'a'") == [["\"Nails\""]])
            func stamp(_ store: UbiquitousStore) async throws -> String? {
                try await store.read { db in try String.fetchOne(db, sql: "SELECT updatedAt FROM reminders WHERE id = 'a'") }
            }
            #expect(try await stamp(two.desk) == "+")
            #expect(try await stamp(two.phone) == "++")
        }
    }
}
