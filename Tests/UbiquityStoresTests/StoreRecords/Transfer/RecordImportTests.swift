import Foundation
import GRDB
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers

@testable import StoreExchange
@testable import StoreFormat
@testable import StoreInspection
@testable import StoreRecords
@testable import UbiquityStores

/// Records that come from files, as a save beside the app.
struct RecordImportTests {
    private let schema = SyncedSchema(
        migrator: migrator(
            """
            CREATE TABLE folder (id TEXT NOT NULL PRIMARY KEY, name TEXT NOT NULL DEFAULT 'new', code TEXT UNIQUE);
            CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, folder TEXT REFERENCES folder, stars INTEGER CHECK (stars < 6), best INTEGER, local);
            CREATE TABLE part (note TEXT NOT NULL REFERENCES note (id), number INTEGER NOT NULL, PRIMARY KEY (note, number)) WITHOUT ROWID;
            CREATE TABLE counted (id INTEGER PRIMARY KEY, x);
            CREATE TABLE plain (x);
            """)
    ) {
        SyncedTable("folder", unique: [["code"]])
        SyncedTable("note", columns: ["best": .maximum], excluding: ["local"])
        SyncedTable("part")
        SyncedTable("counted", assignsIntegerKeys: true)
    }

    /// Runs a body with a store, another device's, and what imports a file of some text beside the first.
    private func withStore(
        _ body: (UbiquitousStore, UbiquitousStore, (_ name: String, _ text: String) throws -> RecordImport) async throws -> Void
    ) async throws {
        try await withDevices(2) { devices, _ in
            let store = try await devices[0].open(schema)
            let inspection = try InspectedStore(store.file, readOnly: false)
            func importing(_ name: String, _ text: String) throws -> RecordImport {
                let file = devices[0].directory.appending(name)
                try Data(text.utf8).write(to: URL(filePath: file.string))
                return try inspection.importRecords(from: RecordInput.inputs(of: file.string), limit: 10_000)
            }
            try await body(store, try await devices[1].open(schema), importing)
        }
    }

    private func line(_ table: String, _ values: String) -> String { "{\"table\":\"\(table)\",\"values\":{\(values)}}\n" }

    @Test("records are inserted, or get the columns that differ, and go out to the other devices as one save")
    func saved() async throws {
        try await withStore { store, other, importing in
            try await store.execute("INSERT INTO folder VALUES ('a', 'old', 'x'), ('b', 'same', NULL)")
            try await settle(store, other)
            let before = try await store.status().knowledge
            let done = try importing(
                "In.jsonl",
                line("folder", #""id":"a","name":"renamed""#) + "\r\n  \n" + line("folder", #""name":"same","id":"b""#) + line("folder", #""id":"c""#)
                    + line("counted", #""id":7,"x":1.0"#).dropLast())
            #expect(done.tables["folder"] == RecordImport.Count(inserted: 1, updated: 1, unchanged: 1))
            #expect(done.tables["counted"] == RecordImport.Count(inserted: 1))
            try await settle(store, other)
            for store in [store, other] {
                #expect(
                    try await store.rows("SELECT id, name, code FROM folder ORDER BY id")
                        == [["a", "renamed", "x"], ["b", "same", "NULL"], ["c", "new", "NULL"]])
                #expect(try await store.rows("SELECT id, quote(x) FROM counted") == [["7", "1.0"]])
            }
            #expect(try await store.status().knowledge != before)
            #expect(try await store.logs(of: store.status().peer).map(\.sequence) == [1, 2])
            #expect(try InspectedStore(store.file, readOnly: true).check(container: nil).problems.isEmpty)
        }
    }

    @Test("S-113: an app imports by its open store: rehearsed, then as one save, with progress, or not at all; and did-import is heard elsewhere")
    func byTheStore() async throws {
        try await withDevices(2) { devices, _ in
            let (store, other) = (try await devices[0].open(schema), try await devices[1].open(schema))
            let file = devices[0].directory.appending("folder.csv")
            let lines = (0..<2500).map { "\"k\($0)\",\"n\"\n" }
            try Data(("id,name\n" + lines.joined()).utf8).write(to: URL(filePath: file.string))
            let counts = Mutex<[Int]>([])
            let rehearsed = try await store.importRecords(from: file, isRehearsal: true) { count in counts.withLock { $0.append(count) } }
            #expect(rehearsed.tables == ["folder": RecordImport.Count(inserted: 2500)])
            #expect(counts.withLock { $0 } == [1000, 2000])
            #expect(try await store.rows("SELECT count(*) FROM folder") == [["0"]])
            #expect(try await store.status().unpublished == 0)

            let imported = Mutex<[ImportNotice]>([])
            let observer = NotificationCenter.default.addObserver(forName: .ubiquitousStoreDidImport, object: other, queue: nil) { notification in
                if let notice = notification.userInfo?["import"] as? ImportNotice { imported.withLock { $0.append(notice) } }
            }
            defer { NotificationCenter.default.removeObserver(observer) }
            #expect(try await store.importRecords(from: file) == rehearsed)
            #expect(try await store.importRecords(from: file).tables == ["folder": RecordImport.Count(unchanged: 2500)])
            try await settle(store, other)
            #expect(try await store.logs(of: store.status().peer).count == 1)
            #expect(try await other.rows("SELECT count(*) FROM folder WHERE name = 'n'") == [["2500"]])
            #expect(imported.withLock { $0.reduce(0) { $0 + $1.inserted.count } } == 2500)

            // What cannot be read names the line, and nothing of it is there.
            let broken = devices[0].directory.appending("broken.jsonl")
            try Data((line("folder", #""id":"z""#) + "{").utf8).write(to: URL(filePath: broken.string))
            await #expect { try await store.importRecords(from: broken) } throws: { "\($0)".contains("broken.jsonl") && "\($0)".contains("2") }
            #expect(try await store.rows("SELECT count(*) FROM folder WHERE id = 'z'") == [["0"]])
            let cancelled = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await store.importRecords(from: file)
            }
            await #expect(throws: CancellationError.self) { try await cancelled.value }
            for store in [store, other] { try await store.close() }
        }
    }

    @Test("of a record that comes twice the later writes over the earlier, and children may come before their parents")
    func order() async throws {
        try await withStore { store, _, importing in
            let done = try importing(
                "In.jsonl",
                line("part", #""note":"n","number":1"#) + line("note", #""id":"n","folder":"f","stars":1"#) + line("note", #""id":"n","stars":2"#)
                    + line("folder", #""id":"f""#))
            #expect(done.tables["note"] == RecordImport.Count(inserted: 1, updated: 1) && done.tables["part"]?.inserted == 1)
            #expect(try await store.rows("SELECT id, folder, stars FROM note") == [["n", "f", "2"]])
        }
    }

    @Test("what the column's type, or its policy, makes of a value counts: a record that ends as it was is unchanged")
    func policies() async throws {
        try await withStore { store, _, importing in
            try await store.execute("INSERT INTO note (id, stars, best, local) VALUES ('n', 3, 9, 'mine')")
            let same = try importing("In.jsonl", line("note", #""id":"n","stars":"3","best":4"#))
            #expect(same.tables["note"] == RecordImport.Count(unchanged: 1))
            #expect(try await store.rows("SELECT stars, typeof(stars), best, local FROM note") == [["3", "integer", "9", "mine"]])
            let local = try importing("In.jsonl", line("note", #""id":"n","best":10,"local":"theirs""#))
            #expect(local.tables["note"] == RecordImport.Count(updated: 1))
            #expect(try await store.rows("SELECT best, local FROM note") == [["10", "theirs"]])
        }
    }

    @Test("a table's CSV file names its columns, in any order, and its first bytes may be a mark of UTF-8")
    func csv() async throws {
        try await withStore { store, _, importing in
            try await store.execute("INSERT INTO folder VALUES ('a', 'old', 'x')")
            let done = try importing("folder.csv", "\u{FEFF}name,id\n\"two\nlines\",a\n007,b\n")
            #expect(done.tables["folder"] == RecordImport.Count(inserted: 1, updated: 1))
            #expect(try await store.rows("SELECT id, name, code FROM folder ORDER BY id") == [["a", "two\nlines", "x"], ["b", "007", "NULL"]])
        }
    }

    @Test(
        "one record that cannot be written leaves everything as it was, and is named with file, line, reason and remedy",
        arguments: [
            (
                "{\"table\":\"note\",\"values\":{\"id\":\"n\",\"stars\":6}}",
                "line 3: the record note/t:n cannot be written: CHECK constraint failed", "allow"
            ),
            (
                "{\"table\":\"folder\",\"values\":{\"id\":\"z\",\"code\":\"x\"}}", "line 3: the record folder/t:z cannot be written: UNIQUE",
                "leave one out"
            ),
            (
                "{\"table\":\"folder\",\"values\":{\"id\":\"a\",\"name\":null}}", "line 3: the record folder/t:a cannot be written: NOT NULL",
                "Give the column"
            ),
            (
                "{\"table\":\"counted\",\"values\":{\"id\":\"x\"}}", "line 3: the record counted/t:x cannot be written: datatype mismatch",
                "leave the record"
            ),
            (
                "{\"table\":\"note\",\"values\":{\"id\":\"n\",\"folder\":\"no\"}}", "line 3: the record note/t:n refers to a record of “folder”",
                "import that"
            ),
            (
                "{\"table\":\"part\",\"values\":{\"note\":\"no\",\"number\":1}}", "line 3: the record part/t:no/i:1 refers to a record of “note”",
                "import that"
            ),
            ("{\"table\":\"plain\",\"values\":{\"x\":1}}", "line 3: “plain” is no synced table", "name one of these"),
            ("{\"table\":\"ubiquity_state\",\"values\":{\"x\":1}}", "line 3: “ubiquity_state” is no synced table", "“counted”, “folder”"),
            ("{\"table\":\"note\",\"values\":{\"id\":\"n\",\"size\":1}}", "line 3: “size” is no column of “note”", "leave it out"),
            ("{\"table\":\"part\",\"values\":{\"note\":\"n\"}}", "line 3: the column “number” of the key of “part” is missing", "which record"),
            ("{\"table\":\"counted\",\"values\":{\"id\":null}}", "line 3: the column “id” of the key is NULL", "give it a value"),
            ("{\"table\":\"note\",\"values\":{\"id\":\"n\"", "line 3: at byte 35 of the line, here should be", "a comma"),
            ("{" + String(repeating: " ", count: 20_000) + "}", "line 3: the line is longer than 10000 bytes", "allow longer ones"),
        ])
    func refused(text: String, message: String, remedy: String) async throws {
        try await withStore { store, _, importing in
            try await store.execute("INSERT INTO folder VALUES ('a', 'old', 'x')")
            try await store.publish()
            let before = try await store.status()
            let good = line("folder", #""id":"a","name":"changed""#) + line("folder", #""id":"b""#)
            // With a line behind it, and as the last of the file.
            for end in ["\n" + line("folder", #""id":"c""#), ""] {
                let error = #expect(throws: UbiquitousStoreError.self) { try importing("In.jsonl", good + text + end) }
                let description = error?.description ?? ""
                #expect(description.contains("/In.jsonl, \(message)") && description.contains(remedy), "\(description)")
                #expect(description.contains("Nothing has been imported."))
                #expect(try await store.rows("SELECT id, name, code FROM folder") == [["a", "old", "x"]])
                #expect(try await store.rows("SELECT count(*) FROM note UNION ALL SELECT count(*) FROM part") == [["0"], ["0"]])
            }
            try await store.publish()
            #expect(try await store.status().knowledge == before.knowledge)
        }
    }

    @Test(
        "a CSV file that does not fit its table is refused at its line",
        arguments: [
            ("folder.csv", "id,nam\na,b\n", "line 1: “nam” is no column"), ("folder.csv", "id,id\n", "line 1: the column “id” stands twice"),
            ("folder.csv", "name\n", "line 1: the column “id” of the key"), ("folder.csv", "id,name\n\"a\n\",b\nc\n", "line 4: the row has 1 fields"),
            ("folder.csv", "id\n\"a", "the file ends within quotes"), ("folder.csv", "", "the file is empty"),
            ("plain.csv", "x\n1\n", "line 1: “plain” is no synced table"), ("folder.csv", "id\n\n,\n", "line 3: the row has 2 fields"),
            ("counted.csv", "id,x\n1,x'0'\n", "line 2: a field in hexadecimal has half a byte"),
        ])
    func refusedCSV(name: String, text: String, message: String) async throws {
        try await withStore { store, _, importing in
            let error = #expect(throws: UbiquitousStoreError.self) { try importing(name, text) }
            #expect(error?.description.contains("/\(name), ") == true && error?.description.contains(message) == true, "\(String(describing: error))")
            let count = try await store.rows("SELECT count(*) FROM folder")
            #expect(count == [["0"]])
        }
    }

    @Test("lines of a thousand forms, each with other columns, are written like any")
    func manyForms() async throws {
        let columns = (0..<10).map { "c\($0)" }
        let wide = SyncedSchema(migrator: migrator("CREATE TABLE wide (id TEXT NOT NULL PRIMARY KEY, \(columns.joined(separator: ", ")))")) {
            SyncedTable("wide")
        }
        try await withDevices(1) { devices, _ in
            let store = try await devices[0].open(wide)
            var text = ""
            for round in 0..<2 {
                for mask in 0..<1024 {
                    let values = columns.indices.filter { mask >> $0 & 1 == 1 }.map { ",\"c\($0)\":\(round)" }.joined()
                    text += line("wide", "\"id\":\"\(mask)\"" + values)
                }
            }
            let file = devices[0].directory.appending("In.jsonl")
            try Data(text.utf8).write(to: URL(filePath: file.string))
            let done = try InspectedStore(store.file, readOnly: false).importRecords(from: RecordInput.inputs(of: file.string))
            #expect(done.tables["wide"] == RecordImport.Count(inserted: 1024, updated: 1023, unchanged: 1))
            #expect(try await store.rows("SELECT sum(c0), sum(c9), count(c5) FROM wide") == [["512", "512", "512"]])
        }
    }
}
