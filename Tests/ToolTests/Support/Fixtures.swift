import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// A home, signed in, on a containers root that it shares with others.
struct ToolDevice: Sendable {
    let home: FilePath
    let root: FilePath

    /// The container of the notes example.
    var container: FilePath { root.appending("alice/org.example.notes") }

    /// A note as `notes list --json` prints it.
    struct Note: Decodable, Hashable {
        var id: String
        var title: String
        var body: String?
    }

    @discardableResult
    func run(_ tool: String, _ arguments: String..., environment: [String: String] = [:]) async throws -> Tool.Outcome {
        try await Tool.run(tool, arguments + ["--home", home.string], environment: environment)
    }

    /// Gives the device a name, in a file that another user may read, who inspects the home in some tests.
    func take(name: String) throws {
        try Data("{\"format\": 1, \"deviceName\": \"\(name)\"}\n".utf8).write(to: URL(filePath: home.appending("config.json").string))
    }

    /// The notes after all that is in the container has been taken in.
    func list() async throws -> [Note] {
        let outcome = try await run("notes", "list", "--json")
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try JSONDecoder().decode([Note].self, from: Data(outcome.output.utf8))
    }

    /// Runs a body while this device finds no container.
    func apart(_ body: () async throws -> Void) async throws {
        let away = FilePath(container.string + "-away")
        try FileManager.default.moveItem(atPath: container.string, toPath: away.string)
        try await body()
        try FileManager.default.moveItem(atPath: away.string, toPath: container.string)
    }

    /// The account's file on this device: of the notes example, or of the program that names it otherwise.
    ///
    /// The local file lies below `local~<uuid>`, and an account's fallback file in `fallback`. If several accounts have used the program, it is the
    /// file of one of them.
    func storeFile(_ name: String = "Notes") throws -> FilePath {
        let names = try FileManager.default.subpathsOfDirectory(atPath: home.string)
        return home.appending(try #require(names.first { $0.hasSuffix("/store/\(name).sqlite") && !$0.contains("/local~") }))
    }

    /// Removes the write-ahead logs beside this device's stores, which no program has open: their content is in the files by then.
    func foldLogs() async throws {
        for path in try FileManager.default.subpathsOfDirectory(atPath: home.string).sorted() where path.hasSuffix(".sqlite-wal") {
            let file = home.appending(path).string.dropLast("-wal".count)
            let folded = try await Tool.run("/usr/bin/sqlite3", [String(file), "PRAGMA wal_checkpoint(TRUNCATE)"])
            try #require(folded.status == 0, "\(folded)")
        }
    }

    /// Another device, which shares the root, takes in all that is there and writes a baseline of it.
    func haveBaselineWritten() async throws {
        let other = ToolDevice(home: home.removingLastComponent().appending("other"), root: root)
        #expect(try await other.run("ubcontrol", "sign-in", "alice", "--containers", root.string).status == 0)
        try await other.takeIn()
        #expect(try await other.run("notes", "compact").output == "Wrote baseline 1.\n")
    }

    /// Takes in all that is there, and does not read the notes, which may be long.
    func takeIn() async throws {
        #expect(try await Tool.run("/bin/sh", ["-c", "\(Tool.path("notes")) list --home \(home) > /dev/null"]).status == 0)
    }

    /// The logs in the container, of whichever peer.
    func logs() throws -> [FilePath] {
        try FileManager.default.subpathsOfDirectory(atPath: container.string).filter { $0.hasSuffix(".ublog") }.sorted().map(container.appending)
    }
}

/// The names of the first devices, as their users gave them.
private let deviceNames = ["laptop", "phone", "desktop", "tablet"]

/// Runs a body with devices that share a containers root: the laptop, the phone, the desktop, the tablet.
func withDevices(_ count: Int, _ body: ([ToolDevice]) async throws -> Void) async throws {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
    let root = directory.appending("root")
    try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    var devices: [ToolDevice] = []
    for index in 0..<count {
        let device = ToolDevice(home: directory.appending("home\(index)"), root: root)
        let outcome = try await device.run("ubcontrol", "sign-in", "alice", "--containers", root.string)
        try #require(outcome.status == 0, "\(outcome.errors)")
        if index < deviceNames.count { try device.take(name: deviceNames[index]) }
        devices.append(device)
    }
    try await body(devices)
}
