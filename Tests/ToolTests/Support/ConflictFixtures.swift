import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// A device with a container, and documents in it.
struct ConflictDesk: Sendable {
    /// A document as `ubcontrol conflict list --json` prints it.
    struct Listed: Decodable {
        struct Version: Decodable {
            var number: Int
            var id: String
            var state: String
            var date: String
            var size: Int
            var device: String?
            var path: String
        }

        var path: String
        var container: String
        var isHere: Bool
        var versions: [Version]
    }

    /// What `ubcontrol conflict show --json` prints.
    struct Shown: Decodable {
        struct Current: Decodable {
            var size: Int
        }

        struct Version: Decodable {
            var id: String
            var comparison: Comparison
        }

        struct Comparison: Decodable {
            var kind: String
            var diff: String?
            var files: [File]?
            var sha256: String?
        }

        struct File: Decodable {
            var path: String
            var change: String
        }

        var current: Current
        var versions: [Version]
    }

    let device: ToolDevice
    var documents: FilePath { device.container.appending("Documents") }

    func path(_ name: String) -> FilePath { documents.pushing(FilePath(name)) }

    /// Writes a file, and makes the directories above it.
    func write(_ text: String, to name: String) throws {
        let file = path(name)
        try FileManager.default.createDirectory(atPath: file.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file.string))
    }

    /// Writes `Letter.txt` and two versions, of which the second one is older.
    func writeLetter() throws {
        try write("one\ntwo\nthree", to: "Letter.txt")
        let versions = [
            ("Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "one\n2\t2\nthree", 1_769_904_000.0),
            ("Letter.sync-conflict-20260103-030405-HIJKLMN.txt", "other\n", 1_600_000_000),
        ]
        for (name, text, time) in versions {
            try write(text, to: name)
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: time)], ofItemAtPath: path(name).string)
        }
    }

    /// Marks a version as resolved, as the library does; see `ConflictCopy`.
    func markResolved(_ name: String) async throws {
        let script = "import os, sys; os.setxattr(sys.argv[1], 'user.ubiquity.resolved', str(os.stat(sys.argv[1]).st_mtime_ns).encode())"
        let outcome = try await Tool.run("/usr/bin/python3", ["-c", script, path(name).string])
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// All files among the documents, with their texts.
    func contents() throws -> [String: String] {
        var contents: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: documents.string) {
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: path(name).string, isDirectory: &isDirectory), !isDirectory.boolValue else { continue }
            contents[name] = try String(contentsOfFile: path(name).string, encoding: .utf8)
        }
        return contents
    }

    // MARK: The tool

    func run(_ arguments: [String]) async throws -> Tool.Outcome {
        try await Tool.run("ubcontrol", ["conflict"] + arguments + ["--home", device.home.string])
    }

    func conflict(_ arguments: String...) async throws -> Tool.Outcome { try await run(arguments) }

    func list(_ arguments: String...) async throws -> [Listed] {
        let outcome = try await run(["list"] + arguments + ["--json"])
        try #require(outcome.status == 0, "\(outcome)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Listed.self, from: Data($0.utf8)) }
    }

    func show(_ name: String) async throws -> Shown {
        let outcome = try await run(["show", path(name).string, "--json"])
        try #require(outcome.status == 0, "\(outcome)")
        return try JSONDecoder().decode(Shown.self, from: Data(outcome.output.utf8))
    }
}

/// Runs a body with a device that has an empty container.
func withDesk(_ body: (ConflictDesk) async throws -> Void) async throws {
    try await withDevices(1) { devices in
        let desk = ConflictDesk(device: devices[0])
        let made = try await desk.device.run("ubcontrol", "container", "create", "org.example.notes")
        try #require(made.status == 0, "\(made)")
        try FileManager.default.createDirectory(atPath: desk.documents.string, withIntermediateDirectories: false)
        try await body(desk)
    }
}
