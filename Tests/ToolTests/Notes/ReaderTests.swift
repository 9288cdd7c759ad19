import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// Readers beside a writer that does not come to its end.
struct ReaderTests {
    @Test(
        "S-142: a reader in another process waits neither for a save nor for an import, which stands still in its transaction",
        arguments: [("save.sealed", ["add", "saved"], "saved"), ("import.applied", ["list"], "other")])
    func readers(point: String, command: [String], unseen: Substring) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await reader.run("notes", "add", "own").status == 0)
            #expect(try await writer.run("notes", "add", "other").status == 0)
            let stopped = try await RunningTool("notes", command + ["--home", reader.home.string], environment: ["UBIQUITY_STOP_AT": point])
            try await until("it is stopped") { try state(of: stopped.identifier) == "T" }
            let seen = try await titles(reader)
            #expect(seen.contains("own") && !seen.contains(unseen), "\(seen)")
            #expect(try state(of: stopped.identifier) == "T")
            stopped.signal(SIGCONT)
            #expect(try await stopped.end().status == 0)
            #expect(try await titles(reader).contains(unseen))
        }
    }

    @Test("a program that knows only the description of the format reads a baseline, and refuses a damaged one")
    func pythonReader() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            var ids: [String] = []
            for title in ["kept", "Grüße", "gone"] {
                ids.append(try await device.run("notes", "add", title).output.trimmingCharacters(in: .newlines))
            }
            #expect(try await device.run("notes", "edit", ids[1], "--body", "later").status == 0)
            #expect(try await device.run("notes", "rm", ids[2]).status == 0)
            try await device.haveBaselineWritten()
            let peer = try #require(try device.logs().first).removingLastComponent().removingLastComponent().lastComponent?.string
            let names = try FileManager.default.subpathsOfDirectory(atPath: device.container.string)
            let baseline = device.container.appending(try #require(names.first { $0.hasSuffix(".ubbaseline") }))
            let script = packageDirectory.appending("Tools/read-log")
            let outcome = try await Tool.run("/usr/bin/python3", [script.string, baseline.string])
            #expect(outcome.status == 0, "\(outcome.errors)")
            let lines = try outcome.output.split(separator: "\n").map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }.filter { $0["table"] as? String == "note" }
            #expect(lines.map { $0["life"] as? Int } == [1, 1, 2])
            #expect(lines.map { $0["key"] as? [String] } == [ids[0], ids[1]].sorted().map { [$0] } + [[ids[2]]])
            let edited = try #require(lines.first { $0["key"] as? [String] == [ids[1]] })
            let columns = try #require(edited["columns"] as? [String: Any])
            #expect(columns["title"] as? String == "Grüße" && columns["body"] as? String == "later")
            // The body was written later than the title, by the same peer.
            let stamps = try #require(edited["stamps"] as? [String: [String: Any]])
            let (title, body) = (try #require(stamps["title"]), try #require(stamps["body"]))
            #expect(title["peer"] as? String == peer && body["peer"] as? String == peer)
            #expect(try #require(title["stamp"] as? Int) < #require(body["stamp"] as? Int))

            try Data(contentsOf: URL(filePath: baseline.string)).dropLast().write(to: URL(filePath: baseline.string))
            #expect(try await Tool.run("/usr/bin/python3", [script.string, baseline.string]).status == 1)
        }
    }

    /// The letter of a process's state (proc(5)): T is stopped.
    private func state(of process: Int32) throws -> Substring? {
        let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return line.split(separator: ")").last?.split(separator: " ").first
    }

    /// The titles of the notes, as another program reads them.
    private func titles(_ device: ToolDevice) async throws -> Set<Substring> {
        let outcome = try await Tool.run("/usr/bin/sqlite3", ["-readonly", try device.storeFile().string, "SELECT title FROM note"])
        #expect(outcome.status == 0, "\(outcome)")
        return Set(outcome.output.split(separator: "\n"))
    }
}
