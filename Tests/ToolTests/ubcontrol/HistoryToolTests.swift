import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The history of a store as the tool shows it, and after processes were killed.
struct HistoryToolTests {
    private struct Line: Decodable {
        struct Change: Decodable, Hashable {
            var kind: String
            var record: String?
            var table: String?
            var columns: [String]?
        }

        var origin: String?
        var author: String?
        var device: String?
        var isThisDevice: Bool?
        var changes: [Change]?
        var token: String?
        var hasMore: Bool?
    }

    private func history(_ device: ToolDevice, _ arguments: String...) async throws -> [Line] {
        let outcome = try await Tool.run(
            "ubcontrol", ["store", "history", try device.storeFile().string] + arguments + ["--home", device.home.string, "--json"])
        #expect(outcome.status == 0, "\(outcome)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    private func notes(_ lines: [Line]) -> [Line.Change] { lines.flatMap { $0.changes ?? [] }.filter { $0.record?.hasPrefix("note/") == true } }

    @Test("ubcontrol store history lists the changes of several processes and devices, from a token on, and writes nothing")
    func listing() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            #expect(try await first.run("notes", "add", "one").status == 0)
            let start = try #require(try await history(first).last?.token)
            #expect(try await second.run("notes", "add", "two").status == 0)
            try await second.takeIn()
            let id = try #require(try await first.list().first { $0.title == "two" }?.id)
            #expect(try await first.run("notes", "edit", id, "--title", "new").status == 0)
            #expect(try await first.run("notes", "rm", id).status == 0)
            let store = try first.storeFile()
            let before = try Data(contentsOf: URL(filePath: store.string))
            let lines = try await history(first, "--since", start)
            let changes = notes(lines)
            #expect(changes.map(\.kind) == ["inserted", "updated", "deleted"] && changes.allSatisfy { $0.record == "note/t:\(id)" }, "\(changes)")
            #expect(changes[1].columns?.contains("title") == true)
            let far = try #require(lines.first { $0.isThisDevice == false })
            #expect(far.origin == "sync" && far.device != nil && far.author != nil)
            let page = try await history(first, "--since", start, "--limit", "1")
            #expect(page.last?.hasMore == true && page.flatMap { $0.changes ?? [] }.count == 1)
            let rest = try await history(first, "--since", try #require(page.last?.token))
            #expect((page + rest).flatMap { $0.changes ?? [] } == lines.flatMap { $0.changes ?? [] })
            #expect(try Data(contentsOf: URL(filePath: store.string)) == before)

            let text = try await first.run("ubcontrol", "store", "history", store.string, "--since", start)
            #expect(text.output.contains("  save by this device\n") && text.output.contains("\n  deleted note/t:\(id)\n"), "\(text)")
            #expect(text.output.hasSuffix("\n\(lines.last?.token ?? "")\n"))
            let wrong = try await first.run("ubcontrol", "store", "history", store.string, "--since", "AQ")
            #expect(wrong.status == 64 && wrong.errors.contains("“AQ” is not a token"))
            let other = try #require(try await history(second).last?.token)
            let foreign = try await first.run("ubcontrol", "store", "history", store.string, "--since", other)
            #expect(foreign.status == 1 && foreign.errors.contains("belongs to another file"), "\(foreign)")
        }
    }

    @Test("ubcontrol store record tells who wrote a record, and refuses what is no record")
    func record() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            #expect(try await second.run("notes", "add", "two").status == 0)
            let id = try #require(try await first.list().first?.id)
            #expect(try await first.run("notes", "edit", id, "--title", "new").status == 0)
            let store = try first.storeFile().string
            let shown = try await first.run("ubcontrol", "store", "record", store, "note/t:\(id)")
            #expect(shown.status == 0 && shown.output.hasPrefix("note/t:\(id)\ncreated"), "\(shown)")
            #expect(shown.output.contains(/title +\S+Z  this device\n/))
            let json = try await first.run("ubcontrol", "store", "record", store, "note/t:\(id)", "--json")
            #expect(json.output.contains(#""isDeleted":false"#) && json.output.contains(#""created":{"#), "\(json)")
            #expect(try await first.run("notes", "rm", id).status == 0)
            let deleted = try await first.run("ubcontrol", "store", "record", store, "note/t:\(id)")
            #expect(deleted.output.contains(/deleted  \S+Z  this device\n/), "\(deleted)")
            let unknown = try await first.run("ubcontrol", "store", "record", store, "note/t:x")
            #expect(unknown.status == 64 && unknown.errors.contains("has never had a record note/t:x"))
            #expect(try await first.run("ubcontrol", "store", "record", store, "note").status == 64)
            let other = try await first.run("ubcontrol", "store", "record", store, "other/t:x")
            #expect(other.status == 64 && other.errors.contains("is not a synced table"))
        }
    }

    @Test(
        "T-65: a kill at any point of a save or an import leaves a history that lists exactly the records that are there, each once",
        arguments: [
            "save.sealed", "save.committed", "publish.renamed", "publish.outbox-cleared", "import.sealed", "import.applied", "import.committed",
        ])
    func killed(point: String) async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            #expect(try await first.run("notes", "add", "before").status == 0)
            #expect(try await second.run("notes", "add", "far").status == 0)
            let command = point.hasPrefix("import") ? ["list"] : ["add", "killed"]
            let outcome = try await Tool.run(
                "notes", command + ["--home", first.home.string], environment: ["UBIQUITY_KILL_AT": point])
            #expect(outcome.signal == SIGKILL, "\(outcome)")
            func expectSame() async throws {
                let rows = try await Tool.run("/usr/bin/sqlite3", [try first.storeFile().string, "SELECT 'note/t:' || id FROM note ORDER BY 1"])
                let listed = notes(try await history(first))
                #expect(listed.allSatisfy { $0.kind == "inserted" })
                #expect(listed.compactMap(\.record).sorted() == rows.output.split(separator: "\n").map(String.init))
            }
            try await expectSame()
            #expect(try await first.run("notes", "add", "after").status == 0)
            #expect(try await first.list().count >= 3)
            try await expectSame()
        }
    }
}
