import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Readers beside a writer that does not come to its end.
struct ReaderTests {
    @Test(
        "S-142: a reader in another process waits neither for a save nor for an import, which stands still in its transaction",
        arguments: [("save.sealed", ["add", "saved"]), ("import.applied", ["list"])])
    func readers(point: String, command: [String]) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await reader.run("notes", "add", "own").status == 0)
            #expect(try await writer.run("notes", "add", "other").status == 0)
            let stopped = try await RunningTool("notes", command + ["--home", reader.home.string], environment: ["UBIQUITY_STOP_AT": point])
            while try state(of: stopped.identifier) != "T" { await Task.yield() }
            #expect(try sqlite3(reader, "SELECT title FROM note") == "own\n")
            #expect(try state(of: stopped.identifier) == "T")
            stopped.signal(SIGCONT)
            #expect(try await stopped.end().status == 0)
            #expect(try await reader.run("notes", "list", "--offline").output.split(separator: "\n").count == 2)
        }
    }

    /// The letter of a process's state (proc(5)): T is stopped.
    private func state(of process: Int32) throws -> Substring? {
        let line = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        return line.split(separator: ")").last?.split(separator: " ").first
    }

    private func sqlite3(_ device: ToolDevice, _ sql: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/sqlite3")
        process.arguments = ["-readonly", try device.storeFile().string, sql]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text
    }
}
