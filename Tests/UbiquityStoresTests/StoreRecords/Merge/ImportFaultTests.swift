import Foundation
import GRDB
import GRDBSQLite
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityTesting

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Whose fault it is that SQLite does not do something.
struct ImportFaultTests {
    static let codes: [(code: ResultCode, fault: ImportFault)] = [
        (.SQLITE_CONSTRAINT, .content(.constraint)), (.SQLITE_CONSTRAINT_CHECK, .content(.constraint)),
        (.SQLITE_CONSTRAINT_TRIGGER, .content(.constraint)), (.SQLITE_CONSTRAINT_FOREIGNKEY, .content(.constraint)),
        (.SQLITE_CONSTRAINT_UNIQUE, .content(.unique)), (.SQLITE_CONSTRAINT_PRIMARYKEY, .content(.key)), (.SQLITE_CONSTRAINT_ROWID, .content(.key)),
        (.SQLITE_CONSTRAINT_NOTNULL, .content(.absence)), (.SQLITE_MISMATCH, .content(.type)), (.SQLITE_TOOBIG, .content(.size)),
        (.SQLITE_ERROR, .content(.expression)),
        (.SQLITE_BUSY, .connection), (.SQLITE_BUSY_SNAPSHOT, .connection), (.SQLITE_BUSY_RECOVERY, .connection), (.SQLITE_LOCKED, .connection),
        (.SQLITE_LOCKED_SHAREDCACHE, .connection), (.SQLITE_PROTOCOL, .connection),
        (.SQLITE_FULL, .disk(.space)), (.SQLITE_IOERR, .disk(.operation)), (.SQLITE_IOERR_WRITE, .disk(.operation)),
        (.SQLITE_IOERR_FSYNC, .disk(.operation)), (.SQLITE_NOMEM, .memory),
        (.SQLITE_CANTOPEN, .access(.opening)), (.SQLITE_CANTOPEN_ISDIR, .access(.opening)), (.SQLITE_PERM, .access(.permission)),
        (.SQLITE_AUTH, .access(.permission)), (.SQLITE_READONLY, .access(.readOnly)), (.SQLITE_READONLY_ROLLBACK, .access(.writing)),
        (.SQLITE_READONLY_DBMOVED, .access(.writing)),
        (.SQLITE_NOTADB, .file), (.SQLITE_CORRUPT, .file), (.SQLITE_CORRUPT_VTAB, .virtualTable),
        (.SQLITE_INTERRUPT, .interruption), (.SQLITE_ABORT, .interruption), (.SQLITE_ABORT_ROLLBACK, .interruption),
        (.SQLITE_MISUSE, .program), (.SQLITE_RANGE, .program), (.SQLITE_SCHEMA, .program), (.SQLITE_INTERNAL, .program),
    ]

    @Test("each result code of SQLite is the fault of the content, another connection, the disk, the file or the program", arguments: codes)
    func code(code: ResultCode, fault: ImportFault) {
        #expect(DatabaseError(resultCode: code).fault == fault)
    }

    @Test("only what the content is at fault for is a reason to refuse it")
    func refusal() {
        for (code, fault) in Self.codes {
            let isContent = if case .content = fault { true } else { false }
            #expect(fault.isContent == isContent)
            #expect((ImportFault.refusal(DatabaseError(resultCode: code, message: "m")) == "this store's schema refuses it: m") == isContent)
        }
        #expect(ImportFault.refusal(LogFault.damaged("it is short")) == LogFault.damaged("it is short").description)
        #expect(ImportFault.refusal(Errno.noSpace) == nil)
    }

    @Test("a baseline is damaged by what is in it; a full disk, an I/O error or little memory leaves it to be read again")
    func baselines() {
        for (code, fault) in Self.codes {
            let isPassing =
                switch fault {
                case .disk, .memory, .connection, .interruption, .access(.opening), .access(.permission): true
                default: false
                }
            let error = BaselineReader.explained(DatabaseError(resultCode: code))
            #expect(error is LogFault == !isPassing, "\(code)")
            #expect((error as? Errno == .ioError) == isPassing, "\(code)")
        }
    }

    /// A table with an index that cannot be computed of text that is no JSON.
    private var schema: SyncedSchema {
        let sql = "CREATE TABLE place (id TEXT NOT NULL PRIMARY KEY, data TEXT); CREATE INDEX places ON place (json_extract(data, '$.a'))"
        return SyncedSchema(migrator: migrator(sql)) { SyncedTable("place") }
    }

    @Test("a record whose expression an index cannot compute is refused by its name: in a seed, and in a file at its line")
    func expressions() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(schema)
            let seeding = await #expect(throws: UbiquitousStoreError.self) {
                _ = try await store.seed(from: [SeedRecord(table: "place", values: ["id": "x", "data": "{"])], token: "places")
            }
            #expect(seeding?.message.contains("cannot be seeded into “place”: malformed JSON") == true, "\(String(describing: seeding))")
            let file = devices[0].directory.appending("In.jsonl")
            let lines = #"{"table":"place","values":{"id":"a","data":"{}"}}"# + "\n" + #"{"table":"place","values":{"id":"b","data":"{"}}"# + "\n"
            try Data(lines.utf8).write(to: URL(filePath: file.string))
            let inspection = try InspectedStore(store.file, readOnly: false)
            let importing = #expect(throws: UbiquitousStoreError.self) {
                _ = try inspection.importRecords(from: RecordInput.inputs(of: file.string), limit: 100)
            }
            #expect(importing?.message.contains("place/t:b cannot be written: malformed JSON") == true, "\(String(describing: importing))")
            #expect(importing?.message.contains("line 2") == true, "\(String(describing: importing))")
            #expect(try await store.rows("SELECT id FROM place").isEmpty)
        }
    }

    @Test("a value over SQLite's limit is refused by a seed as a record that cannot be seeded")
    func size() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(personSchema)
            _ = try await store.write { db in sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_LENGTH, 100_000) }
            let seeding = await #expect(throws: UbiquitousStoreError.self) {
                let text = String(repeating: "a", count: 200_000)
                _ = try await store.seed(from: [SeedRecord(table: "person", values: ["id": "x", "first": text])], token: "people")
            }
            #expect(seeding?.message.contains("cannot be seeded into “person”") == true, "\(String(describing: seeding))")
        }
    }

    @Test("a conflict that a full disk keeps from being restored is not refused for its value, and can be restored once there is space")
    func fullDisk() async throws {
        try await withDevices(2) { devices, _ in
            devices[1].clock.advance(by: 10)
            let (left, right) = (try await devices[0].open(personSchema), try await devices[1].open(personSchema))
            try await left.execute("INSERT INTO person (id) VALUES ('a')")
            try await settle(left, right)
            let long = String(repeating: "x", count: 300_000)
            try await left.execute("UPDATE person SET first = ? WHERE id = 'a'", [long])
            try await right.execute("UPDATE person SET first = 'short' WHERE id = 'a'")
            try await settle(left, right)
            let conflict = try #require(try await left.conflicts().first)
            let error = #expect(throws: DatabaseError.self) {
                try DatabaseQueue(path: left.file.string).write { db in
                    // The limit gives the error of a full disk (sqlite.org/pragma.html#pragma_max_page_count); the pages that are free are taken first.
                    let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                    try db.execute(sql: "CREATE TABLE ballast AS SELECT zeroblob(\(free * 4096)) AS x")
                    let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                    try db.execute(sql: "PRAGMA max_page_count = \(pages)")
                    try ConflictHistory(db).restore(conflict)
                }
            }
            #expect(error?.fault == .disk(.space), "\(String(describing: error))")
            try await left.restore(conflict)
            #expect(try await left.rows("SELECT length(first) FROM person") == [["300000"]])
        }
    }
}
