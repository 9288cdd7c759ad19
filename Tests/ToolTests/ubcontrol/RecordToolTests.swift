import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol store backup`, `export` and `import`.
struct RecordToolTests {
    private struct Imported: Decodable, Equatable {
        struct Count: Decodable, Equatable {
            var inserted = 0
            var updated = 0
            var unchanged = 0
        }

        var dryRun = false
        var tables: [String: Count] = [:]
    }

    private func importing(_ store: String, _ arguments: String...) async throws -> (status: Int32?, report: Imported?, errors: String) {
        let outcome = try await Tool.run("ubcontrol", ["store", "import", store, "--json"] + arguments)
        return (outcome.status, try? JSONDecoder().decode(Imported.self, from: Data(outcome.output.utf8)), outcome.errors)
    }

    /// Runs a body with a device that has three notes, and one that has none.
    private func withNotes(_ body: (_ first: ToolDevice, _ second: ToolDevice, _ store: String) async throws -> Void) async throws {
        try await withDevices(2) { devices in
            for title in ["one", "two, \"quoted\"", "Grüße"] {
                #expect(try await devices[0].run("notes", "add", title, "--body", "line 1\nline 2").status == 0)
            }
            try await body(devices[0], devices[1], try devices[0].storeFile().string)
        }
    }

    /// What a command has left in a directory of its own.
    private func names(in directory: FilePath) throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: directory.string) }

    private func directory(_ name: String, of device: ToolDevice) throws -> FilePath {
        let directory = device.home.appending(name)
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        return directory
    }

    @Test(
        "S-113: ubcontrol writes all records as JSON Lines or CSV, reads them back as a save that reaches the other device, and a program that knows only the description reads them",
        arguments: ["jsonl", "csv"])
    func exportAndImport(format: String) async throws {
        try await withNotes { first, second, store in
            let output = try directory("out", of: first).appending(format == "csv" ? "notes" : "notes.jsonl")
            let export = try await Tool.run("ubcontrol", ["store", "export", store, "--output", output.string, "--format", format])
            #expect(export.status == 0 && export.output == "note: 3 records\n" && export.errors.isEmpty, "\(export)")
            let notes = try await first.list()
            #expect(try await second.list() == notes)

            // Python's own readers.
            let script = """
                import csv, json, sys
                path = sys.argv[1]
                rows = [json.loads(l)["values"] for l in open(path)] if path.endswith("l") else list(csv.DictReader(open(path + "/note.csv", newline="")))
                print(json.dumps(sorted([r["title"], r["body"]] for r in rows)))
                """
            let read = try await Tool.run("/usr/bin/python3", ["-c", script, output.string])
            #expect(
                try JSONDecoder().decode([[String]].self, from: Data(read.output.utf8))
                    == notes.map { [$0.title, $0.body ?? ""] }.sorted { $0[0] < $1[0] })

            // Nothing differs; then one is gone, and one is another.
            #expect(try await importing(store, output.string).report == Imported(tables: ["note": .init(unchanged: 3)]))
            #expect(try await first.run("notes", "rm", notes[0].id).status == 0)
            #expect(try await first.run("notes", "edit", notes[1].id, "--title", "edited").status == 0)
            #expect(try await second.list().count == 2)
            let expected = Imported.Count(inserted: 1, updated: 1, unchanged: 1)
            #expect(try await importing(store, output.string, "--dry-run").report == Imported(dryRun: true, tables: ["note": expected]))
            #expect(try await first.list().count == 2)
            #expect(try await importing(store, output.string).report == Imported(tables: ["note": expected]))
            for device in [first, second] { #expect(try await Set(device.list()) == Set(notes)) }
            #expect(try await Tool.run("ubcontrol", ["store", "check", store]).status == 0)
        }
    }

    @Test("an export goes through a pipe into another device's store, and an import of what is not whole writes nothing and says where it is wrong")
    func pipe() async throws {
        try await withNotes { first, second, store in
            _ = try await second.list()
            let (tool, other) = (Tool.path("ubcontrol").string, try second.storeFile().string)
            let title = "UPDATE note SET title = 'changed' WHERE title = 'one'"
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, title]).status == 0)
            let piped = try await Tool.run("/bin/sh", ["-c", "'\(tool)' store export '\(store)' --table note | '\(tool)' store import '\(other)' -"])
            #expect(piped.status == 0 && piped.output == "note: 0 inserted, 1 updated, 2 unchanged\n", "\(piped)")
            let cut = try await Tool.run(
                "/bin/sh", ["-c", "{ '\(tool)' store export '\(store)' | sed 's/changed/again/'; echo '{'; } | '\(tool)' store import '\(other)' -"])
            #expect(cut.status == 1 && cut.errors.contains("standard input, line 4: "), "\(cut)")
            #expect(try await Tool.run("/usr/bin/sqlite3", [other, "SELECT count(*) FROM note WHERE title = 'changed'"]).output == "1\n")
        }
    }

    @Test(
        "what cannot be exported or imported is said with what to do, with status 64 for a wrong command line or a store that is not here, and 1 for the rest",
        arguments: [
            (["export", "STORE", "--format", "csv"], 64, "--output"), (["export", "STORE", "--output", "x.csv"], 64, "--format csv"),
            (["export", "STORE", "--output", "OUT"], 1, "is there already"), (["export", "STORE", "--table", "no"], 1, "it has “note”"),
            (["export", "/nowhere.sqlite"], 64, "There is no store"), (["import", "STORE", "/nowhere.jsonl"], 64, "There is no file"),
            (["import", "STORE", "OUT"], 1, "no file that ends in .csv"), (["import", "STORE", "OUT/notes"], 1, "--format"),
            (["import", "STORE", "-", "--format", "csv"], 1, "<table>.csv"), (["import", "STORE", "-", "-"], 64, "name - once"),
            (["import", "STORE", "OUT/notes", "--format", "jsonl"], 1, "OUT/notes, line 1: at byte 1 of the line, here should be an object."),
            (["import", "STORE", "OUT/notes", "--format", "csv"], 1, "“notes” is no synced table of the store; it has “note”"),
            (["backup", "STORE", "OUT"], 1, "is there already"),
        ])
    func refused(arguments: [String], status: Int32, message: String) async throws {
        try await withNotes { first, _, store in
            let directory = try directory("out", of: first)
            try Data("hello\n".utf8).write(to: URL(filePath: directory.appending("notes").string))
            let words = arguments.map { $0.replacingOccurrences(of: "STORE", with: store).replacingOccurrences(of: "OUT", with: directory.string) }
            let outcome = try await Tool.run("ubcontrol", ["store"] + words)
            let said = outcome.errors.replacingOccurrences(of: directory.string, with: "OUT")
            #expect(outcome.status == status && said.contains(message), "\(outcome)")
            #expect(try names(in: directory) == ["notes"])
        }
    }

    @Test("a file name alone is a file in the working directory, for a backup, a copy and an export")
    func relative() async throws {
        try await withNotes { first, _, store in
            let directory = try directory("out", of: first)
            let tool = Tool.path("ubcontrol").string
            let commands = "'\(tool)' store backup '\(store)' b && '\(tool)' store strip '\(store)' c && '\(tool)' store export '\(store)' --output e"
            let outcome = try await Tool.run("/bin/sh", ["-c", "cd '\(directory)' && \(commands)"])
            #expect(outcome.status == 0, "\(outcome)")
            #expect(try names(in: directory).sorted() == ["b", "c", "e"])
        }
    }

    @Test(
        "who is killed on the way leaves nothing at the place, or all; the next run does it, and what is left beside it is a draft",
        arguments: ["file.drafted", "file.synced", "file.placed"], ["backup", "jsonl", "csv"])
    func killed(waypoint: String, kind: String) async throws {
        try await withNotes { first, _, store in
            let directory = try directory("out", of: first)
            let target = directory.appending("target").string
            let command = kind == "backup" ? ["backup", store, target] : ["export", store, "--output", target, "--format", kind]
            let killed = try await Tool.run("ubcontrol", ["store"] + command, environment: ["UBIQUITY_KILL_AT": waypoint])
            #expect(killed.signal == SIGKILL)
            let left = try names(in: directory)
            if waypoint == "file.placed" {
                #expect(left == ["target"])
            } else {
                #expect(left.count == 1 && left[0].hasPrefix("target-draft-"))
                #expect(try await Tool.run("ubcontrol", ["store"] + command).status == 0)
            }
            if kind == "backup" {
                #expect(try await Tool.run("/usr/bin/sqlite3", [target, "PRAGMA quick_check; SELECT count(*) FROM note"]).output == "ok\n3\n")
            } else {
                let again = try await importing(store, target, "--format", kind)
                #expect(again.report == Imported(tables: ["note": .init(unchanged: 3)]), "\(again)")
            }
        }
    }

    @Test("an import that is killed has written nothing, and is done whole by the next")
    func killedImport() async throws {
        try await withNotes { first, second, store in
            let file = try directory("out", of: first).appending("notes.jsonl").string
            #expect(try await Tool.run("ubcontrol", ["store", "export", store, "--output", file]).status == 0)
            let notes = try await first.list()
            for note in notes { #expect(try await first.run("notes", "rm", note.id).status == 0) }
            let killed = try await Tool.run("ubcontrol", ["store", "import", store, file], environment: ["UBIQUITY_KILL_AT": "records.written"])
            #expect(killed.signal == SIGKILL)
            #expect(try await first.list().isEmpty)
            #expect(try await importing(store, file).report == Imported(tables: ["note": .init(inserted: 3)]))
            for device in [first, second] { #expect(try await Set(device.list()) == Set(notes)) }
        }
    }
}
