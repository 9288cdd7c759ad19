import GRDB
import Testing
import UbiquityStores

/// Capture alone, where a store would refuse the schema: the rows that REPLACE takes, and what foreign keys delete.
struct CaptureFoldTests {
    private static let parent = TableShape(
        number: 1, name: "parent", keyColumns: ["id"], columns: ["email", "x", "y"],
        uniques: [.init(terms: [.init(sql: "email", collation: "NOCASE")]), .init(terms: [.init(sql: "x"), .init(sql: "y")])])
    private static let child = TableShape(number: 2, name: "child", keyColumns: ["id"], columns: ["parent"])

    /// Runs SQL on two tables with their triggers, and gives the keys that ended and those that were challenged.
    private func notes(_ sql: String, foreignKeys: Bool, recursiveTriggers: Bool) throws -> (ended: [String], challenged: [String], born: Int) {
        var configuration = Configuration()
        configuration.foreignKeysEnabled = foreignKeys
        return try DatabaseQueue(configuration: configuration).inDatabase { db in
            try db.execute(
                sql: """
                    CREATE TABLE parent (id TEXT NOT NULL PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, x, y, UNIQUE (x, y));
                    CREATE TABLE child (id TEXT NOT NULL PRIMARY KEY, parent REFERENCES parent (id) ON DELETE CASCADE ON UPDATE SET NULL);
                    CREATE TABLE ubiquity_import (active INTEGER NOT NULL);
                    INSERT INTO ubiquity_import VALUES (0);
                    INSERT INTO parent VALUES ('a', 'A@x', 1, 1), ('b', 'b@x', 2, 2), ('c', 'c@x', 3, 3);
                    INSERT INTO child VALUES ('c1', 'a'), ('c2', 'b');
                    PRAGMA recursive_triggers = \(recursiveTriggers);
                    """)
            for shape in [Self.parent, Self.child] {
                for statement in CaptureTriggers(shape).tables + CaptureTriggers(shape).triggers { try db.execute(sql: statement) }
            }
            try db.execute(sql: sql)
            var (ended, challenged, born): ([String], [String], Int) = ([], [], 0)
            for shape in [Self.parent, Self.child] {
                let fold = try Self.fold(shape, db)
                ended += fold.ended.map { "\(shape.name)/\($0.key[0])" }
                challenged += fold.challenged.values.map { "\(shape.name)/\($0.key[0])" }
                born += fold.rows.values.count { $0 == .born }
            }
            return (ended.sorted(), challenged.sorted(), born)
        }
    }

    private static func fold(_ shape: TableShape, _ db: Database) throws -> CaptureFold {
        var fold = CaptureFold(allColumns: ColumnSet(rawValue: 1 << Int64(shape.columns.count) - 1))
        for row in try Row.fetchAll(db, sql: "SELECT id, operation, rid, columns, k0 FROM \(shape.captureTable) ORDER BY id") {
            let place = Place.rowid(row["rid"])
            let key = [(row["k0"] as String?).map { RecordValue.text($0) } ?? .null]
            switch CaptureTriggers.Operation(rawValue: row["operation"])! {
            case .inserted: fold.inserted(place)
            case .updated: fold.updated(place, ColumnSet(rawValue: row["columns"]), note: row["id"])
            case .challenged: fold.challenged(place, key: key, note: row["id"])
            case .deleted: fold.deleted(place, key: key, note: row["id"])
            }
        }
        return fold
    }

    @Test(
        "every row that REPLACE takes through a UNIQUE rule is noted, with recursive triggers and without",
        arguments: [false, true],
        [
            "INSERT OR REPLACE INTO parent VALUES ('n', 'a@X', 2, 2)",
            "UPDATE OR REPLACE parent SET email = 'a@X', x = 2, y = 2 WHERE id = 'c'",
        ])
    func victims(recursiveTriggers: Bool, sql: String) throws {
        let notes = try notes(sql, foreignKeys: false, recursiveTriggers: recursiveTriggers)
        #expect(Set(notes.ended + notes.challenged) == ["parent/a", "parent/b"])
        if recursiveTriggers { #expect(notes.ended == ["parent/a", "parent/b"]) }
    }

    private static let item: TableShape = {
        func term(_ sql: String, _ isColumn: Bool) -> TableShape.Unique.Term { .init(sql: sql, isColumn: isColumn) }
        var shape = TableShape(
            number: 3, name: "item", keyColumns: ["id"], columns: ["code", "size", "label"],
            uniques: [
                .init(terms: [term("\"code\"", true)]), .init(terms: [term("\"twice\"", true)]),
                .init(terms: [term("lower(label)", false)]),
            ])
        shape.substitutes = ["id": "'z'", "code": "'d'", "size": "'7'", "label": "upper('x')"]
        return shape
    }()

    @Test(
        "a row that REPLACE takes for the default that it puts in the place of a NULL is noted, whatever names it",
        arguments: [
            // By a key, a column, a computed column and an expression.
            "REPLACE INTO item VALUES (NULL, '', 0, '')", "REPLACE INTO item VALUES ('n', NULL, 0, '')",
            "REPLACE INTO item VALUES ('n', '', NULL, '')",
            "REPLACE INTO item VALUES ('n', '', 0, NULL)", "UPDATE OR REPLACE item SET id = NULL WHERE id = 'y'",
            "UPDATE OR REPLACE item SET code = NULL WHERE id = 'y'", "UPDATE OR REPLACE item SET size = NULL WHERE id = 'y'",
            "UPDATE OR REPLACE item SET label = NULL WHERE id = 'y'",
        ])
    func defaults(sql: String) throws {
        try DatabaseQueue().inDatabase { db in
            try db.execute(
                sql: """
                    CREATE TABLE item (id TEXT NOT NULL DEFAULT 'z' PRIMARY KEY, code TEXT NOT NULL DEFAULT 'd' UNIQUE, size REAL NOT NULL DEFAULT '7',
                    label TEXT NOT NULL DEFAULT (upper('x')), twice REAL AS (size * 2) UNIQUE);
                    CREATE UNIQUE INDEX item_label ON item (lower(label));
                    CREATE TABLE ubiquity_import (active INTEGER NOT NULL);
                    INSERT INTO ubiquity_import VALUES (0);
                    INSERT INTO item VALUES ('z', 'd', 7, 'x'), ('y', 'c', 6, 'w');
                    """)
            for statement in CaptureTriggers(Self.item).tables + CaptureTriggers(Self.item).triggers { try db.execute(sql: statement) }
            try db.execute(sql: sql)
            let isTaken = try Bool.fetchOne(db, sql: "SELECT count(*) = (? LIKE 'REPLACE%') + 1 FROM item", arguments: [sql])!
            #expect(isTaken, "SQLite replaces the row")
            let fold = try Self.fold(Self.item, db)
            #expect((fold.ended.map(\.key) + fold.challenged.values.map(\.key)).contains([.text("z")]))
        }
    }

    @Test("an insert that a UNIQUE rule turns down leaves its rivals challenged, for the table to tell that they are there")
    func ignored() throws {
        let notes = try notes("INSERT OR IGNORE INTO parent VALUES ('n', 'a@x', 9, 9)", foreignKeys: false, recursiveTriggers: false)
        #expect(notes.ended.isEmpty)
        #expect(notes.challenged == ["parent/a"])
        #expect(notes.born == 0)
    }

    @Test("what a foreign key deletes or changes is noted as the author's, and nothing where foreign keys are off", arguments: [false, true])
    func cascades(recursiveTriggers: Bool) throws {
        let on = try notes("DELETE FROM parent WHERE id = 'a'", foreignKeys: true, recursiveTriggers: recursiveTriggers)
        #expect(on.ended == ["child/c1", "parent/a"])
        let off = try notes("DELETE FROM parent WHERE id = 'a'", foreignKeys: false, recursiveTriggers: recursiveTriggers)
        #expect(off.ended == ["parent/a"])
        let replaced = try notes("REPLACE INTO parent VALUES ('n', 'b@x', 9, 9)", foreignKeys: true, recursiveTriggers: recursiveTriggers)
        #expect(Set(replaced.ended + replaced.challenged) == ["child/c2", "parent/b"])
    }
}
