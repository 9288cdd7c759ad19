import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `Tools/release`, in a repository of its own that has the files which a release changes.
struct ReleaseTests {
    private static let changes = "Sources/Ubiquity/Ubiquity.docc/Changes.md"
    private static let version = "Sources/ToolSupport/ToolVersion.swift"

    private struct Repository {
        let path: FilePath

        func git(_ arguments: String...) async throws -> String {
            let outcome = try await Tool.run("/usr/bin/env", ["git", "-C", path.string] + arguments, environment: Self.environment)
            #expect(outcome.status == 0, "\(arguments): \(outcome.errors)")
            return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func release(_ arguments: String...) async throws -> Tool.Outcome {
            try await Tool.run(path.appending("Tools/release").string, arguments, environment: Self.environment)
        }

        func write(_ text: String, to file: String) throws { try Data(text.utf8).write(to: URL(filePath: path.appending(file).string)) }

        func text(_ file: String) throws -> String { try String(contentsOfFile: path.appending(file).string, encoding: .utf8) }

        func commit() async throws {
            _ = try await git("add", "-A")
            _ = try await git("commit", "--quiet", "--message", "A change")
        }

        private static let environment = [
            "GIT_AUTHOR_NAME": "Test", "GIT_AUTHOR_EMAIL": "test@example.org", "GIT_COMMITTER_NAME": "Test",
            "GIT_COMMITTER_EMAIL": "test@example.org", "GIT_CONFIG_GLOBAL": "/dev/null",
        ]
    }

    /// A repository on main with a change that is not released.
    private static func withRepository(_ body: (Repository) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity release \(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let repository = Repository(path: directory)
        for file in ["Tools/release", changes, version] {
            let copy = directory.appending(file)
            try FileManager.default.createDirectory(atPath: copy.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: packageDirectory.appending(file).string, toPath: copy.string)
        }
        try repository.write("# Changes\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.0.9, 2026-01-02\n\n- An older thing.\n", to: changes)
        _ = try await repository.git("init", "--quiet", "--initial-branch", "main")
        try await repository.commit()
        try await body(repository)
    }

    @Test("a release dates its changes, sets the version of the tools, and is tagged")
    func released() async throws {
        try await Self.withRepository { repository in
            let outcome = try await repository.release("0.2.0")
            #expect(outcome.status == 0, "\(outcome)")
            let changes = try repository.text(Self.changes)
            #expect(changes.contains(/## 0\.2\.0, \d{4}-\d{2}-\d{2}\n\n### Added\n\n- A thing/) && !changes.contains("Unreleased"), "\(changes)")
            #expect(try repository.text(Self.version).contains("static let text = \"0.2.0\""))
            #expect(try await repository.git("cat-file", "-t", "0.2.0") == "tag")
            #expect(try await repository.git("rev-parse", "0.2.0^{commit}") == repository.git("rev-parse", "HEAD"))
            #expect(try await repository.git("status", "--porcelain") == "")
            #expect(outcome.output.contains("- A thing.") && !outcome.output.contains("older"), "\(outcome.output)")
        }
    }

    @Test("a dry run of a release says what it would do, and changes nothing")
    func dryRun() async throws {
        try await Self.withRepository { repository in
            let before = try await repository.git("rev-parse", "HEAD")
            let outcome = try await repository.release("0.2.0", "--dry-run")
            #expect(outcome.status == 0 && outcome.output.contains("- A thing.") && outcome.output.contains("Nothing was changed"), "\(outcome)")
            #expect(try await repository.git("rev-parse", "HEAD") == before)
            #expect(try await repository.git("tag") == "")
            #expect(try await repository.git("status", "--porcelain") == "")
        }
    }

    @Test(
        "a release is refused with the reason, and nothing is changed",
        arguments: ["form", "lower", "again", "tree", "branch", "changes", "option"])
    func refused(why: String) async throws {
        try await Self.withRepository { repository in
            var (version, status, reason) = ("0.2.0", 1, "")
            switch why {
            case "form": (version, status, reason) = ("0.2", 64, "is not a version")
            case "option": (version, status, reason) = ("--force", 64, "no option --force")
            case "lower":
                _ = try await repository.git("tag", "0.10.0")
                reason = "below the last tag, 0.10.0"
            case "again":
                _ = try await repository.git("tag", "0.2.0")
                reason = "there already"
            case "tree":
                try repository.write("more\n", to: "more.txt")
                reason = "not committed"
            case "branch":
                _ = try await repository.git("checkout", "--quiet", "-b", "side")
                reason = "this is side"
            default:
                try repository.write("# Changes\n\n## Unreleased\n\n## 0.0.9, 2026-01-02\n\n- An older thing.\n", to: Self.changes)
                try await repository.commit()
                reason = "no section “Unreleased” with a change"
            }
            let before = try await (repository.git("rev-parse", "HEAD"), repository.git("tag"))
            let outcome = try await repository.release(version)
            #expect(outcome.status == Int32(status) && outcome.errors.contains(reason), "\(outcome)")
            #expect(try await repository.git("rev-parse", "HEAD") == before.0)
            #expect(try await repository.git("tag") == before.1)
        }
    }

    @Test("the version of the tools has a section of the changes, or they have one that is not released")
    func versions() throws {
        let text = try packageText(Self.version)
        let version = try #require(text.firstMatch(of: /static let text = "([^"]+)"/)).1
        let changes = try packageText(Self.changes)
        #expect(changes.contains("\n## \(version), ") || changes.contains("\n## Unreleased\n"), "\(version)")
    }
}
