import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What `ubcontrol new` writes, and what it refuses.
///
/// `NewAppTests` builds and runs the app.
struct NewTests {
    /// Runs the command with a package, in a directory of the test's own.
    private func make(_ arguments: [String], in directory: FilePath) async throws -> Tool.Outcome {
        let words = ["-c", #"cd "$1" && shift && exec "$@""#, "bash", directory.string, Tool.path("ubcontrol").string, "new"]
        return try await Tool.run("/bin/bash", words + arguments)
    }

    private func contents(_ directory: FilePath) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.string).sorted().filter { path in
            var isDirectory: ObjCBool = false
            let exists = FileManager.default.fileExists(atPath: directory.pushing(FilePath(path)).string, isDirectory: &isDirectory)
            return exists && !isDirectory.boolValue
        }
    }

    @Test("ubcontrol new writes a package with two modules, tests and a README, and says what to do next")
    func writes() async throws {
        try await withAppDirectory { directory in
            let outcome = try await make(["Shopping", "--package", packageDirectory.string], in: directory)
            #expect(outcome.status == 0 && outcome.output.hasPrefix("Wrote Shopping: 8 files.\n"), "\(outcome)")
            #expect(outcome.output.contains("    cd Shopping\n    swift test\n    swift run shopping add Milk\n"), "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == ["Shopping"])
            let app = directory.appending("Shopping")
            #expect(
                try contents(app) == [
                    ".gitignore", "Package.swift", "README.md", "Sources/ShoppingStore/Item.swift", "Sources/ShoppingStore/ItemStore.swift",
                    "Sources/shopping/Command.swift", "Sources/shopping/Shopping.swift", "Tests/ShoppingTests/SyncTests.swift",
                ])
            func text(_ path: String) throws -> String { try String(contentsOfFile: app.appending(path).string, encoding: .utf8) }
            #expect(try text("Package.swift").contains(".package(path: \(packageDirectory.string.debugDescription)),"))
            #expect(try text("Sources/ShoppingStore/ItemStore.swift").contains(#"container = "org.example.shopping""#))
            // What the README names is there.
            let named = try text("README.md").matches(of: /`((?:Sources|Tests)[^`]+)`/).map { String($0.1) }
            #expect(named.count == 4)
            for path in named { #expect(FileManager.default.fileExists(atPath: app.appending(path).string), "\(path)") }
        }
    }

    @Test("What is written has the form of this package's sources")
    func format() async throws {
        try await withAppDirectory { directory in
            #expect(try await make(["shop2", "--package", packageDirectory.string], in: directory).status == 0)
            let configuration = packageDirectory.appending(".swift-format").string
            let outcome = try await Tool.run(
                "/usr/bin/env",
                ["swift", "format", "lint", "--strict", "--recursive", "--configuration", configuration, directory.appending("shop2").string])
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
    }

    @Test("The manifest names the repository and its version, or the clone, under the name that SwiftPM gives each")
    func manifest() async throws {
        try await withAppDirectory { directory in
            let url = "https://example.org/forge/ubiquity.git"
            let outcome = try await make(["Shopping", "--package", url, "--from", "1.2.3", "--identifier", "com.example.s", "--json"], in: directory)
            #expect(outcome.status == 0, "\(outcome)")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any])
            #expect(object["package"] as? String == #".package(url: "\#(url)", from: "1.2.3")"#)
            #expect(object["identifier"] as? String == "com.example.s" && object["name"] as? String == "Shopping")
            #expect((object["directory"] as? String)?.hasSuffix("/Shopping") == true && (object["files"] as? [String])?.count == 8)
            let dump = try await Tool.run(
                "/usr/bin/env", ["swift", "package", "--package-path", directory.appending("Shopping").string, "dump-package"])
            try #require(dump.status == 0, "\(dump.errors)")
            let manifest = try #require(try JSONSerialization.jsonObject(with: Data(dump.output.utf8)) as? [String: Any])
            let targets = try #require(manifest["targets"] as? [[String: Any]])
            #expect(targets.compactMap { $0["name"] as? String } == ["ShoppingStore", "shopping", "ShoppingTests"])
            #expect(dump.output.contains(url) && dump.output.contains(#""ubiquity""#))
        }
    }

    @Test(
        "A name that no module can have is refused with 64 and the reason, and nothing is written",
        arguments: [
            ("", "is empty"), ("2do", "does not begin with an ASCII letter"), ("Äpfel", "does not begin with an ASCII letter"),
            ("My-List", #"contains "-""#), ("a/b", #"contains "/""#), ("a b", #"contains " ""#), ("Class", "is a word of Swift"),
            ("GRDB", "is taken by the module GRDB"), ("ubiquity", "is taken by the module Ubiquity"), ("Testing", "is taken by the module Testing"),
            ("Metrics", "is taken by the module Metrics"), ("command", "is taken by the type Command"), ("Data", "is taken by the type Data"),
            ("Notes", "is taken by the program notes of Ubiquity"),
            (String(repeating: "a", count: 51), "is longer than 50"),
        ])
    func names(name: String, reason: String) async throws {
        try await withAppDirectory { directory in
            let outcome = try await make(["--package", packageDirectory.string, "--", name], in: directory)
            #expect(outcome.status == 64 && outcome.errors.contains(reason) && outcome.errors.contains("choose one like"), "\(outcome)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == [])
        }
    }

    @Test("A directory or a file that is there is left as it is, also an empty directory, and nothing is left beside it")
    func noOverwriting() async throws {
        try await withAppDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory.appending("Empty").string, withIntermediateDirectories: false)
            try Data("mine".utf8).write(to: URL(filePath: directory.appending("Mine").string))
            try FileManager.default.createSymbolicLink(atPath: directory.appending("Link").string, withDestinationPath: "nowhere")
            for name in ["Empty", "Mine", "Link"] {
                let outcome = try await make([name, "--package", packageDirectory.string], in: directory)
                #expect(outcome.status == 1 && outcome.errors.contains("/\(name) is there already; name another directory"), "\(outcome)")
            }
            #expect(try FileManager.default.subpathsOfDirectory(atPath: directory.string).sorted() == ["Empty", "Link", "Mine"])
            #expect(FileManager.default.contents(atPath: directory.appending("Mine").string) == Data("mine".utf8))
        }
    }

    @Test("A place, a package, a version or an identifier that cannot be used is refused with the remedy, and nothing is written")
    func refusals() async throws {
        try await withAppDirectory { directory in
            let package = ["--package", packageDirectory.string]
            let cases: [(arguments: [String], status: Int32, says: String)] = [
                (["Shopping", "--directory", "none/app"] + package, 1, "does not exist; make it first"),
                (["Shopping", "--package", directory.string], 64, "is no clone of Ubiquity"),
                (["Shopping", "--package", "https://example.org/u", "--from", "main"], 64, #""main" is no version"#),
                (["Shopping", "--from", "1.0.0"] + package, 64, "--from gives the version of a repository"),
                (["Shopping", "--identifier", ".hidden"] + package, 64, "--identifier: "),
                (["Shop", "--package", "https://example.org/shop.git"], 64, "is that of the package"),
            ]
            for each in cases {
                let outcome = try await make(each.arguments, in: directory)
                #expect(outcome.status == each.status && outcome.errors.contains(each.says), "\(each.arguments): \(outcome)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == [])
        }
    }

    @Test("Without --package the app depends on the clone that the program lies in, and a program elsewhere asks for it")
    func clone() async throws {
        try await withAppDirectory { directory in
            let program = directory.appending("ubiquity/.build/debug/ubcontrol")
            try FileManager.default.createDirectory(atPath: program.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: Tool.path("ubcontrol").string, toPath: program.string)
            func run(_ name: String) async throws -> Tool.Outcome {
                try await Tool.run(program.string, ["new", name, "--directory", directory.appending(name).string])
            }
            let refused = try await run("First")
            #expect(refused.status == 64 && refused.errors.contains("name a clone or the URL of a repository with --package"), "\(refused)")
            let manifest = directory.appending("ubiquity/Package.swift")
            try Data(packageText("Package.swift").utf8).write(to: URL(filePath: manifest.string))
            let outcome = try await run("Second")
            #expect(outcome.status == 0, "\(outcome)")
            let text = try String(contentsOfFile: directory.appending("Second/Package.swift").string, encoding: .utf8)
            #expect(text.contains(#"ubiquity"),"#) && text.contains(#"package: "ubiquity""#), "\(text)")
        }
    }
}

/// Runs a body with a directory for apps, and removes it.
func withAppDirectory(_ body: (FilePath) async throws -> Void) async throws {
    let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-new-\(UUID().uuidString)")
    try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory.string) }
    try await body(directory)
}
