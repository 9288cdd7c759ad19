import Foundation
import GRDB
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreRecords
@testable import UbiquityStores

/// Records that leave a store for files, and come back into another.
struct RecordExportTests {
    private static let tables = """
        CREATE TABLE thing (id TEXT NOT NULL PRIMARY KEY, any, number NUMERIC, real REAL, text TEXT, local DEFAULT 'here', twice GENERATED ALWAYS AS (any || any));
        CREATE TABLE "pair %/" (one BLOB NOT NULL, two INTEGER NOT NULL, "a,b" TEXT, PRIMARY KEY (two, one)) WITHOUT ROWID;
        CREATE TABLE plain (x);
        """
    private let schema = SyncedSchema(migrator: migrator(tables)) {
        SyncedTable("thing", excluding: ["local"])
        SyncedTable("pair %/")
    }

    private func open(_ device: TestDevice) async throws -> UbiquitousStore { try await device.open(schema) }

    /// Fills a store with each value in each column that takes it.
    private func fill(_ store: UbiquitousStore) async throws {
        try await store.write { db in
            for (index, value) in RecordFormatTests.values.enumerated() {
                let insert = try RawStatement("INSERT INTO thing (id, any, number, real, text, local) VALUES (?1, ?2, ?2, ?2, ?2, ?2)", db)
                insert.bind(1, .text("k\(index)"))
                insert.bind(2, value)
                try insert.run()
            }
            try db.execute(
                sql: """
                    INSERT INTO "pair %/" VALUES (x'00', 2, NULL), (x'ff', 1, ''), (x'01', 2, 'a,b'), (x'', 9223372036854775807, 'x');
                    INSERT INTO plain VALUES (1); INSERT INTO thing (id) VALUES ('gone'); DELETE FROM thing WHERE id = 'gone'
                    """)
        }
    }

    /// Everything in the synced tables, byte for byte.
    private func content(_ store: UbiquitousStore) async throws -> [[RecordValue]] {
        try await store.read { db in
            var rows: [[RecordValue]] = []
            for sql in ["SELECT id, any, number, real, text, local FROM thing ORDER BY id", "SELECT * FROM \"pair %/\" ORDER BY two, one"] {
                let statement = try RawStatement(sql, db)
                while try statement.step() { rows.append((0..<statement.columnCount).map { statement.value($0).detached }) }
            }
            return rows
        }
    }

    @Test(
        "S-113: all records are the same, value by value, after an export as JSON Lines or CSV and an import into an empty store",
        arguments: RecordFormat.allCases)
    func roundTrip(format: RecordFormat) async throws {
        try await withDevices(2) { devices, root in
            let store = try await open(devices[0])
            try await fill(store)
            let path = devices[0].directory.appending("Out.\(format == .csv ? "d" : "jsonl")")
            let export = try await store.export(to: path, format: format)
            #expect(export.records == ["thing": RecordFormatTests.values.count, "pair %/": 4])

            let other = try await open(devices[1])
            let inspection = try InspectedStore(other.file, readOnly: false)
            let inputs = try RecordInput.inputs(of: path.string)
            let done = try inspection.importRecords(from: inputs)
            #expect(done.tables["thing"] == RecordImport.Count(inserted: RecordFormatTests.values.count))
            #expect(done.tables["pair %/"] == RecordImport.Count(inserted: 4))
            #expect(try await content(other) == content(store))
            // What is as it was is no change, and makes no log.
            try await other.publish()
            let before = try await other.status()
            let again = try inspection.importRecords(from: inputs)
            #expect(again.tables["thing"] == RecordImport.Count(unchanged: RecordFormatTests.values.count))
            try await other.publish()
            #expect(try await other.status().knowledge == before.knowledge)
            // Stores with the same content give the same bytes.
            let second = devices[1].directory.appending("Again")
            _ = try inspection.export(to: second, format: format)
            #expect(FileManager.default.contentsEqual(atPath: path.string, andPath: second.string))
        }
    }

    @Test("an export of some tables holds these alone, as the article says")
    func some() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0])
            try await store.execute(
                "INSERT INTO thing (id, any, real) VALUES ('b', 1, 1), ('a', x'00', NULL); INSERT INTO \"pair %/\" VALUES (x'', 1, 'c')")
            let (lines, directory) = (devices[0].directory.appending("Out.jsonl"), devices[0].directory.appending("Out"))
            try await store.export(to: lines, tables: ["thing"])
            #expect(
                try String(contentsOfFile: lines.string, encoding: .utf8) == """
                    {"table":"thing","values":{"id":"a","any":{"blob":"AA=="},"number":null,"real":null,"text":null,"local":"here"}}
                    {"table":"thing","values":{"id":"b","any":1,"number":null,"real":1.0,"text":null,"local":"here"}}

                    """)
            try await store.export(to: directory, format: .csv, tables: ["pair %/"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == ["pair %25%2F.csv"])
            let file = directory.appending("pair %25%2F.csv").string
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "one,two,\"a,b\"\r\nx'',1,\"c\"\r\n")
            for table in ["plain", "ubiquity_metadata", "THING"] {
                let error = await #expect(throws: UbiquitousStoreError.self) { try await store.export(to: "/nowhere/x", tables: [table]) }
                #expect(error?.description.contains("“\(table)” is no synced table of the store; it has “pair %/”, “thing”.") == true)
            }
        }
    }

    @Test("an export is of one moment, whatever the app saves meanwhile")
    func oneMoment() async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0])
            try await store.write { db in for index in 0..<5000 { try db.execute(sql: "INSERT INTO thing (id) VALUES (?)", arguments: ["a\(index)"]) }
            }
            let path = devices[0].directory.appending("Out.jsonl")
            let export = try InspectedStore(store.file, readOnly: true).export(to: path, format: .jsonLines) { part in
                // The first call comes when a fifth is written.
                try? store.writeWithoutTransaction { db in
                    try db.execute(sql: "INSERT INTO thing (id) VALUES (?)", arguments: ["b\(part)"])
                    try db.execute(sql: "DELETE FROM thing WHERE id = 'a999'")
                }
            }
            #expect(export.records["thing"] == 5000)
            #expect(try await store.rows("SELECT count(*) FROM thing WHERE id LIKE 'b%'") != [["0"]])
            let text = try String(contentsOfFile: path.string, encoding: .utf8)
            #expect(text.split(separator: "\n").count == 5000 && text.contains("\"a999\"") && !text.contains("\"b"))
        }
    }

    @Test("nothing is overwritten, and an export that is cancelled or fails leaves nothing", arguments: RecordFormat.allCases)
    func refused(format: RecordFormat) async throws {
        try await withDevices(1) { devices, _ in
            let store = try await open(devices[0])
            try await store.write { db in for index in 0..<3000 { try db.execute(sql: "INSERT INTO thing (id) VALUES (?)", arguments: ["a\(index)"]) }
            }
            let directory = devices[0].directory
            func left() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.string).filter { $0.hasPrefix("Out") } }
            let target = directory.appending("Out")
            try Data("mine".utf8).write(to: URL(filePath: target.string))
            let error = await #expect(throws: UbiquitousStoreError.self) { try await store.export(to: target, format: format) }
            #expect(error?.description.contains("there already") == true)
            try FileManager.default.removeItem(atPath: target.string)
            // What comes to the place meanwhile.
            await #expect(throws: UbiquitousStoreError.self) {
                try await store.export(to: target, format: format) { _ in try? Data("mine".utf8).write(to: URL(filePath: target.string)) }
            }
            #expect(try Data(contentsOf: URL(filePath: target.string)) == Data("mine".utf8))
            try FileManager.default.removeItem(atPath: target.string)

            let nowhere = await #expect(throws: UbiquitousStoreError.self) { try await store.export(to: "/nowhere/Out", format: format) }
            #expect(nowhere?.description.contains("its directory is there") == true)
            let task = Task { try await store.export(to: target, format: format) { _ in withUnsafeCurrentTask { $0?.cancel() } } }
            let outcome = await task.result
            #expect(throws: CancellationError.self) { try outcome.get() }
            #expect(try left().isEmpty)
        }
    }
}
