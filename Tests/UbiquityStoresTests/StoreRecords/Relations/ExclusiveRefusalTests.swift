import GRDB
import Testing
import UbiquityTesting

@testable import StoreFormat
@testable import StoreRecords

/// Uniqueness rules that say nothing, or what cannot be.
struct ExclusiveRefusalTests {
    private func message(_ schema: SyncedSchema) async throws -> String {
        var message = ""
        try await withDevices(1) { devices, _ in
            let error = await #expect(throws: UbiquitousStoreError.self) { _ = try await devices[0].open(schema) }
            #expect(error?.code == .invalidSchema)
            message = error?.message ?? ""
        }
        return message
    }

    @Test(
        "a UNIQUE constraint or index that is neither declared as unique nor as exclusive is told to choose, with table, columns and both declarations"
    )
    func choose() async throws {
        let sql = """
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, list TEXT, position INTEGER, code TEXT UNIQUE, UNIQUE (list, position), UNIQUE (id, code), UNIQUE (id));
            CREATE UNIQUE INDEX song_lower ON song (lower(code), "list") WHERE code <> '';
            """
        let text = try await message(SyncedSchema(migrator: migrator(sql)) { SyncedTable("song") })
        for part in [
            "The UNIQUE rule (list, position) of “song” does not say", "unique: [[\"list\", \"position\"]]", "exclusive: [[\"list\", \"position\"]]",
            "unique: [[\"code\"]] in SyncedTable(\"song\")", "exclusive: [[\"lower(code)\", \"list\"]]",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
        #expect(text.split(separator: "\n").count == 4, "\(text)")
        try await withDevices(1) { devices, _ in
            // A rule that has the whole key in it makes no two records alike; the order of names, and their case, do not matter.
            _ = try await devices[0].open(
                SyncedSchema(migrator: migrator(sql)) {
                    SyncedTable(
                        "song", unique: [["CODE"], ["list", "lower( code )"]], exclusive: [.init(["position", "list"], moving: "position")])
                })
        }
    }

    @Test("what an exclusive rule cannot be is refused with the remedy")
    func refused() async throws {
        let sql = """
            CREATE TABLE list (id TEXT NOT NULL PRIMARY KEY);
            CREATE TABLE song (id TEXT NOT NULL PRIMARY KEY, list TEXT REFERENCES list (id), position INTEGER NOT NULL, code TEXT, x REAL, y REAL, here INTEGER DEFAULT 0,
                twice INTEGER AS (position * 2), UNIQUE (list, position), UNIQUE (code, x), UNIQUE (code, y), UNIQUE (twice, code));
            CREATE UNIQUE INDEX song_here ON song (code) WHERE here = 0;
            """
        let text = try await message(
            SyncedSchema(migrator: migrator(sql)) {
                SyncedTable("list")
                SyncedTable(
                    "song", together: [["x", "y"]], unique: [["position", "list"]],
                    exclusive: [
                        ["list", "position"], .init(["code", "x"], moving: "x"), .init(["code", "y"], moving: "code"), ["twice", "code"], ["code"],
                        .init(["y", "list"], moving: "list"), .init(["y"], moving: "id"), .init(["y", "position"], moving: "code"),
                    ], excluding: ["here"])
            })
        for part in [
            "(list, position) of “song” is declared as unique and as exclusive", "to NULL is NOT NULL", "which is one value with other columns",
            "which the rule (code, x) compares too", "computed, or stays on the device", "which refers to another table", "is in the primary key",
            "which is no column of it",
        ] { #expect(text.contains(part), "\(part) in \(text)") }
    }
}
