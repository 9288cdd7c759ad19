import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What the README says, done.
struct DocumentationTests {
    @Test("the README's commands for trying by hand work as they stand, and show the note on the other device")
    func tryByHand() async throws {
        let readme = try String(contentsOfFile: packageDirectory.appending("README.md").string, encoding: .utf8)
        let block = try #require(Self.shellBlocks(readme).first { $0.contains("notes add") })
        // The programs are built, and lie beside this one; the folder is this test's own.
        let directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-readme-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let script = block.split(separator: "\n").filter { !["Tools/setup", "swift build"].contains($0) }.joined(separator: "\n")
            .replacingOccurrences(of: "$PWD/.build/debug", with: Tool.path("notes").removingLastComponent().string)
            .replacingOccurrences(of: "/tmp/ubiquity", with: directory)
        let outcome = try await Tool.run("/bin/bash", ["-euo", "pipefail", "-c", script])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("  Milk\n") && outcome.output.contains("store Notes, epoch 1: 1 log,"), "\(outcome.output)")
        #expect(outcome.output.contains("  this device: idle\n"), "\(outcome.output)")
        #expect(outcome.output.contains(": nothing is wrong ("), "\(outcome.output)")
        #expect(outcome.output.contains("Ann <ann@example.org>, Vermont\n"), "\(outcome.output)")
        #expect(outcome.output.contains("this device's; nobody is signed in\n"), "\(outcome.output)")
    }

    /// The blocks of shell commands in a text.
    private static func shellBlocks(_ text: String) -> [Substring] {
        text.split(separator: "```sh\n").dropFirst().compactMap { $0.split(separator: "```").first }
    }

    @Test("the README's commands for completion and manual pages work as they stand")
    func completionAndManual() async throws {
        let readme = try String(contentsOfFile: packageDirectory.appending("README.md").string, encoding: .utf8)
        let block = try #require(Self.shellBlocks(readme).first { $0.contains("--generate-completion-script") })
        let directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-readme-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        let programs = Tool.path("ubcontrol").removingLastComponent().string
        let script = "cd '\(directory)'\n" + block.replacingOccurrences(of: "Tools/manual", with: packageDirectory.appending("Tools/manual").string)
        let outcome = try await Tool.run(
            "/bin/bash", ["-eo", "pipefail", "-c", script],
            environment: ["PATH": "\(programs):/usr/bin:/bin", "UBIQUITY_BIN": programs])
        #expect(outcome.status == 0 && outcome.output.contains("man/ubcontrol.1"), "\(outcome)")
    }

    @Test("the demo holds all of its comparisons")
    func demo() async throws {
        let outcome = try await Tool.run("ubiquity-demo", ["--json"])
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        struct Check: Decodable {
            var check: String
            var ok: Bool
            var detail: String
        }
        let checks = try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Check.self, from: Data($0.utf8)) }
        #expect(checks.count == 18 && checks.allSatisfy(\.ok), "\(outcome.output)")
    }

    @Test("a figure of the benchmarks is one JSON object a line with the documented keys", arguments: [["store", "--metric", "write_1_row"]])
    func figures(arguments: [String]) async throws {
        let outcome = try await Tool.run("ubiquity-bench", arguments + ["--json"])
        let lines = outcome.output.split(separator: "\n")
        #expect(outcome.status == 0 && !lines.isEmpty, "\(outcome.errors)")
        for line in lines {
            let figure = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let keys = ["suite", "metric", "variant", "unit", "ours", "reference", "reference_name", "ratio", "main"]
            #expect(Set(figure.keys) == Set(keys))
        }
    }

    @Test("a program that knows only the description of the format reads a log, and refuses a damaged one")
    func pythonReader() async throws {
        try await withDevices(1) { devices in
            let id = try await devices[0].run("notes", "add", "Grüße", "--body", "b").output.trimmingCharacters(in: .newlines)
            try await devices[0].run("notes", "rm", id)
            let reader = packageDirectory.appending("Tools/read-log").string
            var lines: [[String: Any]] = []
            for log in try devices[0].logs() {
                let outcome = try await Tool.run("/usr/bin/python3", [reader, log.string])
                #expect(outcome.status == 0, "\(outcome.errors)")
                lines += try outcome.output.split(separator: "\n").map {
                    try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
                }
            }
            #expect(lines.map { $0["life"] as? Int } == [1, 2])
            #expect(lines.map { $0["key"] as? [String] } == [[id], [id]])
            let columns = try #require(lines.first?["columns"] as? [String: Any])
            #expect(columns["title"] as? String == "Grüße" && columns["body"] as? String == "b")
            let log = try #require(try devices[0].logs().first)
            try Data(contentsOf: URL(filePath: log.string)).dropLast().write(to: URL(filePath: log.string))
            #expect(try await Tool.run("/usr/bin/python3", [reader, log.string]).status == 1)
        }
    }
}
