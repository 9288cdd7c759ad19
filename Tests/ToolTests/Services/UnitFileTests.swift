import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The units of `Tools/systemd`.
struct UnitFileTests {
    private static let files = ["ubtransfer.service", "ubiquityd.service", "ubiquityd.socket", "ubwatch.service"]

    /// Lets systemd read units with the programs of this build, and returns what it says of them.
    private func verify(_ change: (String, String) -> String = { $1 }) async throws -> Tool.Outcome {
        let program = "/usr/bin/systemd-analyze"
        try #require(FileManager.default.isExecutableFile(atPath: program), "there is no systemd: Tools/setup --tests installs it")
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        for file in Self.files {
            let text = change(file, try packageText("Tools/systemd/\(file)"))
            // They are installed in a directory of systemd's own.
            let local = text.replacing(/(?m)^ExecStart=(ub\w+)/) { "ExecStart=\(Tool.path(String($0.1)))" }
            try Data(local.utf8).write(to: URL(filePath: directory.appending(file).string))
        }
        return try await Tool.run(
            program, ["verify", "--user", "--man=no"] + Self.files.map { directory.appending($0).string },
            environment: ["XDG_RUNTIME_DIR": directory.string])
    }

    @Test("systemd knows every setting of the units, and finds nothing wrong; it does find a setting that it does not know")
    func settings() async throws {
        let outcome = try await verify()
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.isEmpty, "\(outcome)")
        let wrong = try await verify { file, text in file == "ubtransfer.service" ? text.replacing("LockPersonality", with: "LockPersonalty") : text }
        #expect(wrong.errors.contains("LockPersonalty"), "\(wrong)")
    }

    @Test("Each service waits for its program to say that it is ready, and watches it; none uses what only the system's manager can do")
    func services() throws {
        for file in Self.files where file.hasSuffix(".service") {
            let lines = try packageText("Tools/systemd/\(file)").split(separator: "\n").filter { !$0.hasPrefix("#") }
            for line in ["Type=notify", "NotifyAccess=main", "Restart=on-failure", "RestartPreventExitStatus=64 69", "NoNewPrivileges=yes"] {
                #expect(lines.contains { $0 == line }, "\(file): \(line)")
            }
            #expect(lines.contains { $0.hasPrefix("WatchdogSec=") } && lines.contains { $0 == "Documentation=man:\(file.dropLast(8))(1)" }, "\(file)")
            // systemd.exec(5), "Sandboxing": settings that need a namespace of files, which a user's manager has not.
            for name in ["Protect", "Private", "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "BindPaths", "TemporaryFileSystem", "Dynamic"]
            {
                #expect(!lines.contains { $0.hasPrefix(name) }, "\(file): \(name)")
            }
        }
    }
}
