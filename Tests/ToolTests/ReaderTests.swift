import Foundation
import SystemPackage
import Testing
import ToolProcesses

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
            while try state(of: stopped.identifier) != "T" { await Task.yield() }
            let seen = try await titles(reader)
            #expect(seen.contains("own") && !seen.contains(unseen), "\(seen)")
            #expect(try state(of: stopped.identifier) == "T")
            stopped.signal(SIGCONT)
            #expect(try await stopped.end().status == 0)
            #expect(try await titles(reader).contains(unseen))
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
