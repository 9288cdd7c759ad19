import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Real processes, killed with SIGKILL at marked points.
struct KillTests {
    /// So few rows are a batch that a hundred times fewer rows than in use are as many batches.
    private static let batches = ["UBIQUITY_BATCH_ROWS": "100"]

    private func killing(at point: String) -> [String: String] { Self.batches.merging(["UBIQUITY_KILL_AT": point]) { $1 } }

    /// The points at which `notes add` can be killed, and whether its note is saved by then.
    static let savePoints: [(point: String, isSaved: Bool)] = [
        ("save.sealed", false), ("save.committed", true), ("publish.coalesced", true),
        ("publish.wal-synced", true), ("publish.temporary-written", true),
        ("publish.renamed", true), ("publish.directory-synced", true), ("publish.outbox-cleared", true),
    ]

    @Test("a kill at any point of save and publication loses no committed save and repeats none", arguments: savePoints)
    func savesSurvive(point: String, isSaved: Bool) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await writer.run("notes", "add", "before").status == 0)
            let killed = try await writer.run("notes", "add", "killed", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            // The next start goes on where the last one was stopped.
            #expect(try await writer.run("notes", "add", "after").status == 0)
            let expected = isSaved ? ["after", "before", "killed"] : ["after", "before"]
            #expect(try await writer.list().map(\.title).sorted() == expected)
            #expect(try await reader.list().map(\.title).sorted() == expected)
            // No log is there twice, none is half there, and nothing half written is left.
            let logs = try writer.logs()
            #expect(logs.count == expected.count)
            for log in logs { #expect(try await Tool.run("ubwatch", ["log", log.string]).status == 0) }
            let left = try FileManager.default.subpathsOfDirectory(atPath: writer.container.string).filter { $0.contains("tmp.nosync/") }
            #expect(left.isEmpty)
        }
    }

    @Test(
        "a kill at any point of an import leaves all of it or nothing, and the next start has it once",
        arguments: [
            "import.planned", "import.sealed", "import.applied", "import.committed", "receipt.numbered", "receipt.written", "receipt.trimmed",
        ])
    func importsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await reader.run("notes", "add", "own").status == 0)
            for index in 0..<3 { #expect(try await writer.run("notes", "add", "note \(index)").status == 0) }
            let killed = try await reader.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            let offline = try await reader.run("notes", "list", "--offline").output.split(separator: "\n").count
            #expect(offline == (["import.planned", "import.sealed", "import.applied"].contains(point) ? 1 : 4))
            let expected = ["note 0", "note 1", "note 2", "own"]
            #expect(try await reader.list().map(\.title).sorted() == expected)
            #expect(try await writer.list().map(\.title).sorted() == expected)
        }
    }

    @Test(
        "a kill at any point of a store's making leaves what the next start completes",
        arguments: ["open.migrated", "open.prepared", "place.made", "place.marked"])
    func openingsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let killed = try await writer.run("notes", "add", "killed", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await writer.run("notes", "add", "after").status == 0)
            for device in [writer, reader, writer] { #expect(try await device.list().map(\.title) == ["after"]) }
            #expect(try writer.logs().count == 1)
            let marks = try FileManager.default.contentsOfDirectory(atPath: writer.container.appending("CoreData/Notes/epochs").string)
            #expect(marks.count == 1)
        }
    }

    @Test(
        "S-085: a kill at any point of taking over a plain database leaves what the next start completes, each record once",
        arguments: [
            "copy.batch:1", "copy.batch:2", "copy.compared", "open.copied", "open.migrated", "open.prepared", "place.marked", "adopt.batch:1",
            "adopt.batch:2", "adopt.batch:3",
        ])
    func adoptionsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let plain = writer.home.appending("Notes/Notes.sqlite")
            try FileManager.default.createDirectory(atPath: plain.removingLastComponent().string, withIntermediateDirectories: true)
            let sql = """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
                INSERT INTO note SELECT printf('%05d', i), 'note ' || i, NULL, '2014' FROM n;
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", plain.string, sql]).status == 0)
            let killed = try await writer.run("notes", "add", "new", environment: killing(at: point))
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await writer.run("notes", "add", "after", environment: Self.batches).status == 0)
            let expected = Set((1...120).map { "note \($0)" })
            for device in [reader, writer] {
                let titles = try await device.list().map(\.title)
                #expect(titles.count == Set(titles).count && Set(titles).isSuperset(of: expected) && titles.contains("after"))
            }
            // Two of records, and one or two of what was added.
            #expect((3...4).contains(try writer.logs().count))
        }
    }

    @Test(
        "S-081, S-083: a kill at any point of a seeding leaves what the next call completes: each record once, and the file until it is complete",
        arguments: [
            "seed.taken:1", "seed.committed:1", "seed.taken:2", "seed.committed:2", "seed.taken:3", "seed.committed:3", "seed.wal-synced",
            "seed.file-removed:3", "seed.file-removed:4",
        ])
    func seedingsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let seed = writer.home.appending("Seed.sqlite")
            let sql = """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 207)
                INSERT INTO note SELECT printf('%05d', i), 'note ' || i, NULL, '2014' FROM n;
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", seed.string, sql]).status == 0)
            let command = ["seed", seed.string, "--token", "notes", "--remove", "--home", writer.home.string]
            let killed = try await Tool.run("notes", command, environment: killing(at: point))
            #expect(killed.signal == SIGKILL, "\(killed)")
            let isComplete = ["seed.committed:3", "seed.wal-synced", "seed.file-removed:3", "seed.file-removed:4"].contains(point)
            #expect(FileManager.default.fileExists(atPath: seed.string) == (point != "seed.file-removed:4"))
            let again = try await Tool.run("notes", command, environment: Self.batches)
            // What had been taken in before counts, for the file is the same.
            #expect(again.output == (isComplete ? "“notes” has been seeded before.\n" : "Seeded 207 notes, passed over 0.\n"), "\(again)")
            #expect(!FileManager.default.fileExists(atPath: seed.string))
            for device in [writer, reader] {
                let titles = try await device.list().map(\.title)
                #expect(titles.count == 207 && Set(titles).count == 207)
            }
            #expect(try writer.logs().count == 3)
        }
    }

    @Test(
        "S-087: a kill at any point of a copy leaves the store as it was, no copy, and a beginning with which the next goes on",
        arguments: ["copy.batch:1", "copy.batch:2", "copy.batch:3", "copy.batch:4", "copy.compared"])
    func copiesSurvive(point: String) async throws {
        try await withDevices(1) { devices in
            let writer = devices[0]
            let seed = writer.home.appending("Seed.sqlite")
            let sql = """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 207)
                INSERT INTO note SELECT printf('%05d', i), 'note ' || i, NULL, '2014' FROM n;
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", seed.string, sql]).status == 0)
            #expect(try await writer.run("notes", "seed", seed.string, "--token", "notes", environment: Self.batches).status == 0)
            let copy = writer.home.appending("Copy.sqlite")
            let command = ["store", "strip", try writer.storeFile().string, copy.string]
            let killed = try await Tool.run("ubcontrol", command, environment: killing(at: point))
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(!FileManager.default.fileExists(atPath: copy.string))
            let draft = copy.string + "-draft"
            #expect(try Data(contentsOf: URL(filePath: draft)).count > (point == "copy.batch:1" ? 0 : 2_000))
            #expect(try await Tool.run("ubcontrol", command, environment: Self.batches).status == 0)
            #expect(!FileManager.default.fileExists(atPath: draft))
            let count = try await Tool.run("/usr/bin/sqlite3", [copy.string, "SELECT count(*), count(DISTINCT title) FROM note"]).output
            #expect(count == "207|207\n")
            #expect(try await writer.list().count == 207)
        }
    }

    @Test("a kill in the middle of publishing many logs publishes the rest, each once")
    func manyLogs() async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            // Saves that are not published: each is killed as soon as it is committed.
            for index in 0..<4 {
                let killed = try await writer.run("notes", "add", "note \(index)", environment: ["UBIQUITY_KILL_AT": "save.committed"])
                #expect(killed.signal == SIGKILL)
            }
            #expect(try writer.logs().isEmpty)
            let killed = try await writer.run("notes", "list", environment: ["UBIQUITY_KILL_AT": "publish.renamed:2"])
            #expect(killed.signal == SIGKILL)
            #expect(try writer.logs().count == 2)
            let expected = (0..<4).map { "note \($0)" }
            #expect(try await writer.list().map(\.title).sorted() == expected)
            #expect(try await reader.list().map(\.title).sorted() == expected)
            #expect(try writer.logs().count == 4)
        }
    }
}
