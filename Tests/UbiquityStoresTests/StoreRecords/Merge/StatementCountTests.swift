import GRDB
import Testing
import UbiquityStores
import UbiquityTesting

/// How many statements an import runs for each record, counted.
struct StatementCountTests {
    private static let plain = SyncedSchema(migrator: migrator("CREATE TABLE person (id TEXT NOT NULL PRIMARY KEY, email TEXT, name TEXT)")) {
        SyncedTable("person")
    }

    private static func insert(_ count: Int, by device: Int, into store: UbiquitousStore) async throws {
        try await store.write { db in
            for row in 0..<count {
                try db.execute(sql: "INSERT INTO person VALUES (?, ?, ?)", arguments: ["\(row)-\(device)", "\(row)@x", "Name of \(device)"])
            }
        }
    }

    @Test("a new record costs an import three statements: a look for its death, its row and its stamps")
    func newRecords() async throws {
        try await withDevices(2) { devices, _ in
            let (author, reader) = (try await devices[0].open(Self.plain), try await devices[1].open(Self.plain))
            let count = 500
            try await Self.insert(count, by: 0, into: author)
            try await author.settled()
            let meter = SQLiteMeter(below: devices[1].directory)
            try await reader.close()
            let again = try await devices[1].open(Self.plain)
            meter.reset()
            try await again.settled()
            #expect(try await again.rows("SELECT count(*) FROM person") == [["\(count)"]])
            // The exchange around the records runs some too.
            #expect(meter.runs.count < 3 * count + 200, "\(meter.runs.count) statements for \(count) records")
            for store in [author, again] { try await store.close() }
        }
    }

    @Test("a record that changes, one that dies and one that is new arrive as they were written, in any order in one log")
    func mixed() async throws {
        try await withDevices(2) { devices, _ in
            let (author, reader) = (try await devices[0].open(Self.plain), try await devices[1].open(Self.plain))
            try await Self.insert(6, by: 0, into: author)
            try await settle(author, reader)
            try await author.execute("UPDATE person SET name = 'changed' WHERE id IN ('1-0', '4-0')")
            try await author.execute("DELETE FROM person WHERE id IN ('2-0', '5-0')")
            try await Self.insert(3, by: 1, into: author)
            try await author.execute("INSERT INTO person VALUES ('2-0', 'again', 'again')")
            try await settle(author, reader)
            let all = "SELECT id, quote(email), quote(name) FROM person ORDER BY id"
            let written = try await author.rows(all)
            #expect(written.count == 8)
            #expect(try await reader.rows(all) == written)
            for store in [author, reader] { try await store.close() }
        }
    }
}
