import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// What a store with a scope takes of an app's schema, and what it refuses, with the remedy.
struct AccessTests {
    /// The faults of a schema, or none.
    private func faults(_ schema: SyncedSchema) throws -> String {
        let queue = try DatabaseQueue()
        try schema.migrator.migrate(queue)
        do {
            _ = try queue.read { db in try SchemaInspector.shapes(of: schema, in: db) }
            return ""
        } catch let error as UbiquitousStoreError {
            #expect(error.code == .invalidSchema)
            return error.message
        }
    }

    @Test("a store without a scope refuses a table that declares access, and one with a scope a table that does not")
    func declarations() throws {
        let plain = SyncedSchema(migrator: migrator(Self.score)) { SyncedTable("score") }
        let declared = SyncedSchema(migrator: migrator(Self.score)) { SyncedTable("score", access: .creator("player")) }
        #expect(try faults(plain).isEmpty && faults(declared.scoped).isEmpty)
        #expect(try faults(plain.scoped).contains("Table “score” does not declare who may change its rows"))
        #expect(try faults(plain.scoped).contains("declare access: .creator(\"…\")"))
        #expect(try faults(declared).contains("Table “score” declares `access:`, but this store has no scope"))
        for role in ["", "a\nb"] {
            let odd = SyncedSchema(migrator: migrator(Self.score)) { SyncedTable("score", access: .role(role)) }
            #expect(try faults(odd.scoped).contains("The role of “score” is empty or holds a control character"))
        }
    }

    @Test("a schema without a scope has shapes without access, those of metadata too")
    func plainShapes() throws {
        let queue = try DatabaseQueue()
        let schema = SyncedSchema(migrator: migrator(Self.score)) { SyncedTable("score") }
        try schema.migrator.migrate(queue)
        let shapes = try queue.read { db in try SchemaInspector.shapes(of: schema, in: db) }
        #expect(shapes.map(\.access) == [nil, nil])
        let scoped = SyncedSchema(migrator: migrator(Self.score)) { SyncedTable("score", access: .creator("player")) }.scoped
        let guarded = try queue.read { db in try SchemaInspector.shapes(of: scoped, in: db) }
        #expect(guarded.map(\.access) == [.creator("player"), .role(StoreMetadata.role), .role(Moderation.role)])
        #expect(guarded.map(\.ownerPlace) == [0, nil, nil])
    }

    // MARK: What is refused

    /// Tables, the creators of which are `player`, and a part of the sentence that refuses them; none for a schema that opens.
    private static let schemas: [(sql: String, tables: [SyncedTable], fault: String?)] = [
        (
            "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, player TEXT NOT NULL)", [SyncedTable("t", access: .creator("player"))],
            "“player” of “t” names the creator and is not in the primary key, so two accounts that choose one key would write one record: declare PRIMARY KEY (player, id)"
        ),
        (
            "CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY)", [SyncedTable("t", access: .creator("player"))],
            "“player” of “t” is declared as the creator and does not exist: spell it"
        ),
        (
            "CREATE TABLE t (player TEXT, id TEXT NOT NULL, PRIMARY KEY (player, id))", [SyncedTable("t", access: .creator("player"))],
            "“player” of “t” is in the primary key and may be NULL"
        ),
        (
            "CREATE TABLE t (player BLOB NOT NULL, id TEXT NOT NULL, PRIMARY KEY (player, id))", [SyncedTable("t", access: .creator("player"))],
            "“player” of “t” names the creator and has the type BLOB: an account's identifier is TEXT"
        ),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (id, player))", [SyncedTable("t", access: .creator("player"))],
            "No index of “t” begins with the creator “player”, by which an account's records are found: declare PRIMARY KEY (player, id)"
        ),
        (
            """
            CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, x, PRIMARY KEY (id, player));
            CREATE INDEX part ON t (player) WHERE x; CREATE INDEX other ON t (x, player); CREATE INDEX case_blind ON t (player COLLATE NOCASE)
            """, [SyncedTable("t", access: .creator("player"))], "No index of “t” begins with the creator “player”"
        ),
        (
            """
            CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (id, player)) WITHOUT ROWID; CREATE INDEX owner ON t (player, id)
            """, [SyncedTable("t", access: .creator("player"))], nil
        ),
        ("CREATE TABLE t (player TEXT NOT NULL PRIMARY KEY, name TEXT)", [SyncedTable("t", access: .creator("player"))], nil),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, name TEXT UNIQUE, PRIMARY KEY (player, id))",
            [SyncedTable("t", access: .creator("player"), unique: [["name"]])],
            "The uniqueness rule (name) of “t” does not contain the creator “player” as it is, so that a record of one account could replace or change that of another: write (player, name)."
        ),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, name TEXT, PRIMARY KEY (player, id)); CREATE UNIQUE INDEX i ON t (player COLLATE NOCASE, name)",
            [SyncedTable("t", access: .creator("player"), unique: [["player", "name"]])],
            "rule (player, name) of “t” does not contain the creator “player” as it is"
        ),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, name TEXT, PRIMARY KEY (player, id)); CREATE UNIQUE INDEX i ON t (player || '', name)",
            [SyncedTable("t", access: .creator("player"), unique: [["player || ''", "name"]])], "does not contain the creator “player” as it is"
        ),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, name TEXT, PRIMARY KEY (player, id))",
            [SyncedTable("t", access: .creator("player"), unique: [["name"]])], "The uniqueness rule (name) of “t” does not contain the creator"
        ),
        (
            "CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, place INTEGER, PRIMARY KEY (player, id))",
            [SyncedTable("t", access: .creator("player"), exclusive: [["place"]])], "The uniqueness rule (place) of “t” does not contain the creator"
        ),
        (
            """
            CREATE TABLE t (player TEXT NOT NULL, id TEXT NOT NULL, name TEXT, place INTEGER, PRIMARY KEY (player, id));
            CREATE UNIQUE INDEX i ON t (name, player) WHERE name > ''
            """, [SyncedTable("t", access: .creator("player"), unique: [["player", "name"]], exclusive: [["player", "place"]])], nil
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", [SyncedTable("t", access: .role("editor"), assignsIntegerKeys: true)],
            "The key “id” of “t” is an INTEGER PRIMARY KEY, which accounts without knowledge of each other would count up alike: use a UUID, also with assignsIntegerKeys."
        ),
        (
            "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)", [SyncedTable("t", access: .role("editor"), assignsIntegerKeys: true)],
            "The key “id” of “t” is an INTEGER PRIMARY KEY"
        ),
        ("CREATE TABLE t (id TEXT NOT NULL PRIMARY KEY, name TEXT UNIQUE)", [SyncedTable("t", access: .role("editor"), unique: [["name"]])], nil),
    ]

    @Test(
        "P-18: a store with a scope refuses keys, rules and types by which accounts would meet in one record, each with its remedy",
        arguments: schemas.indices)
    func tables(index: Int) throws {
        let (sql, tables, fault) = Self.schemas[index]
        let found = try faults(SyncedSchema(migrator: migrator(sql)) { tables }.scoped)
        if let fault { #expect(found.contains(fault), "\(found)") } else { #expect(found.isEmpty, "\(found)") }
    }

    private static let score = "CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, PRIMARY KEY (player, id));"
    private static let template = "CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY);"

    private static let references: [(child: String, access: TableAccess, fault: String?)] = [
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, other TEXT, score TEXT, PRIMARY KEY (player, id), FOREIGN KEY (other, score) REFERENCES score",
            .creator("player"),
            "(other, score) of “child” does not lead from “player” to “player” of “score”, so that a record could refer to another account's: let both sides contain the creator"
        ),
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (player, id, n), FOREIGN KEY (id, player) REFERENCES score (player, id)",
            .creator("player"), "does not lead from “player” to “player”"
        ),
        (
            """
            player TEXT NOT NULL, id TEXT NOT NULL, score TEXT, PRIMARY KEY (player, id),
            FOREIGN KEY (player, score) REFERENCES score ON DELETE SET NULL ON UPDATE SET DEFAULT
            """, .creator("player"),
            "(player, score) of “child” has ON DELETE SET NULL and ON UPDATE SET DEFAULT, which would take the creator “player” out of a row: use CASCADE, RESTRICT or NO ACTION."
        ),
        (
            """
            player TEXT NOT NULL, id TEXT NOT NULL, score TEXT, PRIMARY KEY (player, id),
            FOREIGN KEY (player, score) REFERENCES score ON DELETE CASCADE ON UPDATE CASCADE
            """, .creator("player"), nil
        ),
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (player, id, n), FOREIGN KEY (player, id) REFERENCES score ON DELETE CASCADE",
            .creator("player"), nil
        ),
        (
            "id TEXT NOT NULL PRIMARY KEY, player TEXT, score TEXT, FOREIGN KEY (player, score) REFERENCES score", .role("editor"),
            "(player, score) of “child” leads from a table of a role to “score”, whose rows each account deletes as it likes: drop the constraint and keep the column."
        ),
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, template TEXT REFERENCES template ON DELETE CASCADE, PRIMARY KEY (player, id)",
            .creator("player"),
            "(template) of “child” has ON DELETE CASCADE, by which a change of “template” would change rows of other accounts: use RESTRICT or NO ACTION."
        ),
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, template TEXT REFERENCES template ON DELETE SET NULL, PRIMARY KEY (player, id)",
            .creator("player"),
            "has ON DELETE SET NULL, by which"
        ),
        (
            """
            player TEXT NOT NULL, id TEXT NOT NULL, template TEXT DEFAULT 'x' REFERENCES template ON DELETE SET DEFAULT ON UPDATE CASCADE,
            PRIMARY KEY (player, id)
            """, .creator("player"), "has ON DELETE SET DEFAULT and ON UPDATE CASCADE, by which"
        ),
        (
            "player TEXT NOT NULL, id TEXT NOT NULL, template TEXT REFERENCES template ON DELETE RESTRICT, PRIMARY KEY (player, id)",
            .creator("player"), nil
        ),
        ("id TEXT NOT NULL PRIMARY KEY, template TEXT REFERENCES template ON DELETE CASCADE", .role("moderator"), nil),
    ]

    @Test("P-18: a foreign key by which one account would change another's row is refused, with the remedy", arguments: references.indices)
    func foreignKeys(index: Int) throws {
        let (child, access, fault) = Self.references[index]
        let schema = SyncedSchema(migrator: migrator("\(Self.score) \(Self.template) CREATE TABLE child (\(child))")) {
            SyncedTable("score", access: .creator("player"))
            SyncedTable("template", access: .role("editor"))
            SyncedTable("child", access: access)
        }
        let found = try faults(schema.scoped)
        if let fault { #expect(found.contains(fault), "\(found)") } else { #expect(found.isEmpty, "\(found)") }
    }

    @Test("a foreign key that is partly in the primary key stays refused where that part is not the creator alone")
    func mixedKeys() throws {
        let child = "player TEXT NOT NULL, a TEXT NOT NULL, b TEXT, PRIMARY KEY (player, a), FOREIGN KEY (player, a, b) REFERENCES parent"
        let sql =
            "CREATE TABLE parent (player TEXT NOT NULL, a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (player, a, b)); CREATE TABLE child (\(child))"
        let scoped = SyncedSchema(migrator: migrator(sql)) {
            SyncedTable("parent", access: .creator("player"))
            SyncedTable("child", access: .creator("player"))
        }
        #expect(try faults(scoped.scoped).contains("(player, a, b) of “child” is partly in the primary key: put all of it there, or nothing."))
        let plain = SyncedSchema(
            migrator: migrator(
                "\(Self.score) CREATE TABLE child (player TEXT NOT NULL, id TEXT NOT NULL, score TEXT, PRIMARY KEY (player, id), FOREIGN KEY (player, score) REFERENCES score)"
            )
        ) {
            SyncedTable("score")
            SyncedTable("child")
        }
        #expect(try faults(plain).contains("(player, score) of “child” is partly in the primary key"))
    }

    private static let triggers: [(sql: String, fault: String?)] = [
        (
            "CREATE TRIGGER count AFTER INSERT ON score WHEN (SELECT active FROM ubiquity_import) = 0 BEGIN UPDATE template SET id = id; END",
            "Trigger “count” belongs to “score”, which each account writes, and writes “template”, which only the role “editor” may"
        ),
        (
            "CREATE TRIGGER fill AFTER INSERT ON template WHEN (SELECT active FROM ubiquity_import) = 0 BEGIN DELETE FROM score; END",
            "Trigger “fill” belongs to “template”, which a role writes, and writes “score”, whose rows belong to accounts"
        ),
        (
            "CREATE TRIGGER open AFTER INSERT ON score BEGIN UPDATE ubiquity_authority SET contributes = 1; END",
            "Trigger “open” writes “ubiquity_authority”, by which a store with a scope decides who may write: remove that."
        ),
        ("CREATE TRIGGER off BEFORE INSERT ON score BEGIN UPDATE ubiquity_import SET active = 1; END", "Trigger “off” writes “ubiquity_import”"),
        ("CREATE TRIGGER log AFTER INSERT ON score BEGIN INSERT INTO note VALUES (NEW.id); END", nil),
        ("CREATE TRIGGER also AFTER INSERT ON score WHEN (SELECT active FROM ubiquity_import) = 0 BEGIN DELETE FROM score WHERE id = 'x'; END", nil),
    ]

    @Test("a trigger that writes rows of another kind than its table's, or the rights, is refused", arguments: triggers.indices)
    func appTriggers(index: Int) throws {
        let (sql, fault) = Self.triggers[index]
        let schema = SyncedSchema(migrator: migrator("\(Self.score) \(Self.template) CREATE TABLE note (id TEXT); \(sql)")) {
            SyncedTable("score", access: .creator("player"))
            SyncedTable("template", access: .role("editor"))
        }
        let found = try faults(schema.scoped)
        if let fault { #expect(found.contains(fault), "\(found)") } else { #expect(found.isEmpty, "\(found)") }
    }
}
