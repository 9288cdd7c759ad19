import Foundation
import GRDB
import SystemPackage
import UbiquityContainers

@testable import StoreRecords
@testable import UbiquityStores

/// An address book in three versions.
enum AddressBook {
    static let first = """
        CREATE TABLE people (id TEXT NOT NULL PRIMARY KEY, first TEXT, fax TEXT, mail TEXT, age);
        CREATE TABLE visit (person TEXT NOT NULL, day INTEGER NOT NULL, note TEXT, room TEXT, PRIMARY KEY (person, day)) WITHOUT ROWID;
        CREATE TABLE tag (name TEXT NOT NULL PRIMARY KEY, color TEXT);
        CREATE TABLE pin (id TEXT NOT NULL PRIMARY KEY, x REAL);
        """

    /// Renames a table and a column, drops a column and a table, adds columns and fills them, adds a table, and syncs one that did not.
    static let second = """
        ALTER TABLE people RENAME TO person;
        ALTER TABLE person RENAME COLUMN mail TO email;
        ALTER TABLE person DROP COLUMN fax;
        ALTER TABLE person ADD COLUMN title TEXT;
        ALTER TABLE person ADD COLUMN rank INTEGER NOT NULL DEFAULT 5;
        UPDATE person SET title = 'Dr ' || first, rank = coalesce(age, 5) WHERE first IS NOT NULL;
        ALTER TABLE visit DROP COLUMN note;
        ALTER TABLE visit ADD COLUMN mood TEXT DEFAULT 'fine';
        DROP TABLE tag;
        CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY, name TEXT);
        """

    /// Makes a table anew, so that its rows have other rowids, and renames a column again.
    static let third = """
        CREATE TABLE new_person (id TEXT NOT NULL PRIMARY KEY, age, address TEXT, first TEXT, title TEXT, rank INTEGER NOT NULL DEFAULT 5, seen TEXT);
        INSERT INTO new_person SELECT id, age, email, first, title, rank, 'never' FROM person ORDER BY id DESC;
        DROP TABLE person;
        ALTER TABLE new_person RENAME TO person;
        """

    static func schema(_ version: Int) -> SyncedSchema {
        var migrator = DatabaseMigrator()
        for (index, sql) in [first, second, third].prefix(version).enumerated() {
            migrator.registerMigration("v\(index + 1)") { db in try db.execute(sql: sql) }
        }
        switch version {
        case 1:
            return SyncedSchema(migrator: migrator) {
                SyncedTable("people")
                SyncedTable("visit")
                SyncedTable("tag")
            }
        default:
            let formerColumns = version == 2 ? ["email": ["mail"]] : ["address": ["email", "mail"]]
            return SyncedSchema(migrator: migrator) {
                SyncedTable("visit")
                SyncedTable("place")
                SyncedTable("person", formerly: ["people"], formerColumns: formerColumns)
                SyncedTable("pin")
            }
        }
    }

    /// What a store of a version shows in the tables that sync.
    static func content(_ store: UbiquitousStore, _ version: Int) async throws -> [[String]] {
        let queries =
            switch version {
            case 1: ["quote(id), quote(first), quote(mail), quote(age) FROM people", "quote(person), quote(day), quote(room) FROM visit"]
            case 2:
                [
                    "quote(id), quote(first), quote(email), quote(age), quote(title), quote(rank) FROM person",
                    "quote(person), quote(day), quote(room), quote(mood) FROM visit", "quote(id), quote(name) FROM place",
                    "quote(id), quote(x) FROM pin",
                ]
            default:
                [
                    "quote(id), quote(first), quote(address), quote(age), quote(title), quote(rank), quote(seen) FROM person",
                    "quote(person), quote(day), quote(room), quote(mood) FROM visit", "quote(id), quote(name) FROM place",
                    "quote(id), quote(x) FROM pin",
                ]
            }
        var rows: [[String]] = []
        for query in queries { rows += try await store.rows("SELECT \(query) ORDER BY 1, 2") }
        return rows
    }
}

extension TestDevice {
    func open(version: Int) async throws -> UbiquitousStore { try await open(AddressBook.schema(version)) }

    /// Closes a store and opens it with another version of the schema.
    func upgrade(_ store: UbiquitousStore, to version: Int) async throws -> UbiquitousStore {
        try await store.close()
        return try await open(version: version)
    }

    /// The same with a schema of two migrations.
    func upgrade(_ store: UbiquitousStore, by sql: String, _ first: String, @SyncedSchema.TablesBuilder _ tables: () -> [SyncedTable]) async throws
        -> UbiquitousStore
    {
        try await store.close()
        return try await open(twoVersions(first, sql, tables))
    }
}

func twoVersions(_ first: String, _ second: String, @SyncedSchema.TablesBuilder _ tables: () -> [SyncedTable]) -> SyncedSchema {
    var migrator = migrator(first)
    migrator.registerMigration("v2") { db in try db.execute(sql: second) }
    return SyncedSchema(migrator: migrator, tables: tables)
}

/// All files of a store, byte by byte, once everybody has closed it: a connection that only reads leaves a write-ahead log behind.
func bytes(of store: FilePath, afterCheckpoint: Bool = false) throws -> [String: Data] {
    if afterCheckpoint { try sqlite3(store, "PRAGMA wal_checkpoint(TRUNCATE)") }
    var files: [String: Data] = [:]
    for suffix in ["", "-wal", "-journal", "-migration", "-migration-wal"] {
        if let data = FileManager.default.contents(atPath: store.string + suffix), !data.isEmpty { files[suffix] = data }
    }
    return files
}
