import GRDB
import StoreFormat
import StoreRecords
import UbiquityStores

/// An account of a container with a scope.
let alice = AccountIdentifier(ContentHash(of: Array("alice".utf8)))
/// Another one.
let bob = AccountIdentifier(ContentHash(of: Array("bob".utf8)))

extension SyncedSchema {
    /// The schema in a store with a scope.
    var scoped: SyncedSchema {
        var schema = self
        schema.hasScope = true
        return schema
    }
}

extension WriteRights {
    /// The rights of an account that contributes.
    static func contributor(_ account: AccountIdentifier, _ roles: Set<String> = []) -> WriteRights {
        WriteRights(account: account, contributes: true, roles: roles)
    }
}

extension TestDevice {
    /// Opens a store with a scope, in which an account has rights.
    func open(_ schema: SyncedSchema, as rights: WriteRights) async throws -> UbiquitousStore {
        let store = try await open(schema.scoped)
        try await store.write { db in try AuthorityRow.write(rights, db) }
        return store
    }
}

/// Scores that each account has of its own, and templates that editors keep.
enum Game {
    static func schema(_ options: String = "") -> SyncedSchema {
        SyncedSchema(
            migrator: migrator(
                """
                CREATE TABLE score (player TEXT NOT NULL, id TEXT NOT NULL, points INTEGER, note TEXT, seen INTEGER, PRIMARY KEY (player, id))\(options);
                CREATE TABLE template (id TEXT NOT NULL PRIMARY KEY, name TEXT)\(options);
                CREATE UNIQUE INDEX score_note ON score (player, note);
                """)
        ) {
            SyncedTable("score", access: .creator("player"), unique: [["player", "note"]], excluding: ["seen"])
            SyncedTable("template", access: .role("editor"))
        }
    }

    /// All rows.
    static let rows = """
        SELECT CASE player WHEN '\(alice)' THEN 'alice' WHEN '\(bob)' THEN 'bob' ELSE player END, id, quote(points), quote(note), quote(seen) FROM score
        UNION ALL SELECT 'template', id, name, '', '' FROM template ORDER BY 1, 2
        """

    /// Runs a body with the store of Alice, in which there is also a score of Bob's, and a template.
    static func withStores(_ options: String = "", _ body: (_ alice: UbiquitousStore, _ bob: UbiquitousStore) async throws -> Void) async throws {
        try await withDevices(2) { devices, _ in
            let first = try await devices[0].open(schema(options), as: .contributor(alice))
            let second = try await devices[1].open(schema(options), as: .contributor(bob, ["editor"]))
            try await first.execute("INSERT INTO score (player, id, points, note) VALUES ('\(alice)', 's', 1, 'n')")
            try await second.execute("INSERT INTO score (player, id, points, note) VALUES ('\(bob)', 's', 2, 'n')")
            try await second.execute("INSERT INTO template VALUES ('t', 'T')")
            try await settle(first, second)
            try await body(first, second)
            for store in [first, second] { try await store.close() }
        }
    }
}
