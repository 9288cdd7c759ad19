import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// What the pages of the book say, held against the code and the files.
struct BookTests {
    private static func page(_ name: String) throws -> String { try packageText("Sources/Ubiquity/Ubiquity.docc/\(name).md") }

    /// The listings of a page in one language, without indentation.
    private static func listings(_ language: String, of page: String) -> [String] {
        page.components(separatedBy: "```\(language)\n").dropFirst().map { lines($0.components(separatedBy: "```")[0]) }
    }

    /// Without indentation and empty lines.
    private static func lines(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// Runs a body with a directory that is removed after it.
    private static func withDirectory(_ body: (FilePath) async throws -> Void) async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-book-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        try await body(directory)
    }

    @Test("each promise names at least one test, and every test that is named exists under that name")
    func promises() throws {
        var tests = ""
        for folder in ["Tests", "Examples"] {
            let files = try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending(folder).string)
            for file in files where file.hasSuffix("Tests.swift") || file.contains("Tests+") { tests += try packageText("\(folder)/\(file)") }
        }
        let promises = try Self.page("Promises").components(separatedBy: "\n**").dropFirst()
        #expect(promises.count > 20)
        for promise in promises {
            let names = promise.split(separator: "\n").filter { $0.hasPrefix("- “") && $0.hasSuffix("”") }.map { $0.dropFirst(3).dropLast() }
            #expect(!names.isEmpty, "no test: \(promise.prefix(80))")
            for name in names { #expect(tests.contains("\"\(name)\""), "no such test: \(name)") }
        }
    }

    @Test("every listing of the tutorial stands in its app, line by line, and its manifest is one")
    func tutorialListings() async throws {
        let app = Self.lines(try packageText("Examples/Tutorial/Groceries.swift"))
        let listings = Self.listings("swift", of: try Self.page("Tutorial"))
        #expect(listings.count == 9)
        for listing in listings where !listing.hasPrefix("// swift-tools-version") {
            #expect(app.contains(listing), "it shows what the app does not do:\n\(listing)")
        }
        let manifest = try #require(listings.first { $0.hasPrefix("// swift-tools-version") })
        try await Self.withDirectory { directory in
            try Data(manifest.utf8).write(to: URL(filePath: directory.appending("Package.swift").string))
            let outcome = try await Tool.run("/usr/bin/env", ["swift", "package", "--package-path", directory.string, "dump-package"])
            #expect(outcome.status == 0, "\(outcome.errors)")
            let products = try packageText("Package.swift")
            #expect(outcome.output.contains("\"Ubiquity\"") && products.contains(#".library(name: "Ubiquity""#))
        }
    }

    @Test("the tutorial's commands make two devices of a plain app's user, which show each other's changes as it says")
    func tutorial() async throws {
        let page = try Self.page("Tutorial")
        try await Self.withDirectory { directory in
            // The programs are built, and lie beside this one; the folder is this test's own.
            let script = Self.listings("sh", of: page).joined(separator: "\n").split(separator: "\n").filter { $0 != "swift build" }
                .joined(separator: "\n").replacing("/tmp/groceries", with: directory.string)
                .replacing("$PWD/.build/debug:$PWD/../ubiquity/.build/debug", with: Tool.path("groceries").removingLastComponent().string)
            let outcome = try await Tool.run("/bin/bash", ["-euo", "pipefail", "-c", "unset UBIQUITY_HOME\n\(script)"])
            #expect(outcome.status == 0, "\(outcome.errors)\(outcome.output)")
            let shown = outcome.output.split(separator: "\n").filter { $0.hasPrefix("[") }
            #expect(shown == ["[ ] Bread, [ ] Milk", "[ ] Bread, [x] Milk"], "\(outcome.output)")
            for line in shown { #expect(page.contains("`\(line)`")) }
            #expect(outcome.output.contains("store Groceries, epoch 1"), "\(outcome.output)")
            // The path that the app gives is that of the plain database, which is there still.
            #expect(outcome.output.contains("  this device: idle\n  store Groceries here: "), "\(outcome.output)")
            #expect(outcome.output.contains("    epoch 1, 2 records, current\n"), "\(outcome.output)")
            let path = directory.appending("desk/groceries/Groceries.sqlite").string
            for command in ["state", "list"] {
                let store = try await Tool.run("ubcontrol", ["store", command, path])
                #expect(store.status == 0 && store.output.contains("CoreDataUbiquitySupport/alice~"), "\(command): \(store)")
            }
        }
    }

    @Test("the tutorial's app, left running, shows what the other device saves")
    func tutorialWatch() async throws {
        try await Self.withDirectory { directory in
            let shared = directory.appending("shared").string
            try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: true)
            func environment(_ device: String) -> [String: String] {
                ["XDG_DATA_HOME": directory.appending(device).string, "UBIQUITY_HOME": directory.appending("\(device)/ubiquity").string]
            }
            for device in ["desk", "phone"] {
                let outcome = try await Tool.run(
                    "ubcontrol", ["sign-in", "alice", "--containers", shared], environment: environment(device))
                #expect(outcome.status == 0, "\(outcome.errors)")
            }
            // As on a terminal, where each line is written at once.
            let watching = try await RunningTool(
                "/usr/bin/stdbuf", ["-oL", Tool.path("groceries").string, "watch"], environment: environment("desk"))
            let lines = watching.lines.limited().makeAsyncIterator()
            #expect(try await lines.next() == "nothing to buy")
            let added = try await Tool.run("groceries", ["add", "Milk"], environment: environment("phone"))
            #expect(added.status == 0, "\(added.errors)")
            // A change of files may show the list once more as it was.
            var line = try await lines.next()
            while line == "nothing to buy" { line = try await lines.next() }
            #expect(line == "[ ] Milk")
            try await watching.stop()
        }
    }

    /// Every page, and the README: path and text.
    private static func pages() throws -> [(path: String, text: String)] {
        let sources = try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Sources").string)
        return try (["README.md"] + sources.filter { $0.hasSuffix(".md") }.map { "Sources/\($0)" }).map { ($0, try packageText($0)) }
    }

    /// A command that a page names: the words that stand for it, and its options.
    private struct NamedCommand: Hashable {
        var words: [String]
        var options: Set<String>

        init(_ line: Substring) {
            words = line.split(separator: " ").prefix { $0.wholeMatch(of: /[a-z][a-z-]*/) != nil }.map(String.init)
            options = Set(line.matches(of: /--[a-z][a-z-]+/).map { String($0.output) })
        }
    }

    @Test("every command of the tools that a page names is there, with the options that it names")
    func commands() async throws {
        var named: Set<NamedCommand> = []
        // The reference is made from the programs.
        for (path, text) in try Self.pages() where !path.hasSuffix("Reference.md") {
            for line in text.split(separator: "\n") {
                // In a list of commands what stands alone goes on like the one before it.
                var before: [String] = []
                for span in line.matches(of: /`((?:ubcontrol|ubwatch)\b[^`]*)`|`([a-z-]+)`/) {
                    if let command = span.1 {
                        named.insert(NamedCommand(command))
                        before = NamedCommand(command).words
                    } else if line.hasPrefix("| `ub"), before.count > 1, let word = span.2 {
                        before[before.count - 1] = String(word)
                        named.insert(NamedCommand(Substring(before.joined(separator: " "))))
                    }
                }
                if let command = line.firstMatch(of: /^ *(?:desk |phone |timeout 60 )?((?:ubcontrol|ubwatch) [^#>]*)/) {
                    named.insert(NamedCommand(command.1))
                }
            }
        }
        #expect(named.count > 40, "\(named)")
        for command in named {
            let words = command.words
            let outcome = try await Tool.run(words[0], Array(words.dropFirst()) + ["--help"])
            let usage = try #require(outcome.output.split(separator: "\n").first { $0.hasPrefix("USAGE: ") }, "\(words): \(outcome)")
            let known = words.indices.last { usage.hasPrefix("USAGE: " + words[...$0].joined(separator: " ")) } ?? 0
            // What follows a command is an argument, and a group of commands takes none.
            #expect(known == words.count - 1 || known > 0 && !usage.contains("<subcommand>"), "\(words): \(usage)")
            for option in command.options { #expect(outcome.output.contains(option), "\(words) has no \(option)") }
        }
    }

    @Test("the page on exporting shows commands that work as they stand")
    func exporting() async throws {
        let script = try #require(Self.listings("sh", of: packageText("Sources/UbiquityStores/UbiquityStores.docc/Export.md")).first)
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "Milk").status == 0)
            let directory = devices[0].home.appending("Notes")
            let preamble = "export PATH=\"\(Tool.path("ubcontrol").removingLastComponent()):$PATH\"; cd \"\(directory)\""
            let outcome = try await Tool.run(
                "/bin/bash", ["-euo", "pipefail", "-c", "\(preamble)\n\(script)"], environment: ["UBIQUITY_HOME": devices[0].home.string])
            #expect(outcome.status == 0, "\(outcome.errors)")
            for file in ["notes.jsonl", "notes/note.csv"] {
                #expect(try String(contentsOfFile: directory.appending(file).string, encoding: .utf8).contains("Milk"))
            }
            #expect(FileManager.default.fileExists(atPath: directory.appending("Notes-2026-03-01.sqlite").string))
        }
    }

    @Test("every file and folder that the README names is there, and so is every picture that a page shows")
    func files() throws {
        let readme = try packageText("README.md")
        let paths = readme.matches(of: /\]\(([^):]+)\)|`((?:Sources|Examples|Tools|Tests)[^` ]*)`/).map { String($0.1 ?? $0.2!) }
        #expect(paths.count > 20)
        for path in paths { #expect(FileManager.default.fileExists(atPath: packageDirectory.appending(path).string), "\(path)") }
        for tool in try #require(readme.firstMatch(of: /\| `Tools` \| (.*) \|/)).1.matches(of: /`([^`]+)`/) {
            #expect(FileManager.default.isExecutableFile(atPath: packageDirectory.appending("Tools/\(tool.1)").string), "\(tool.1)")
        }
        for (path, text) in try Self.pages() {
            for picture in text.matches(of: /!\[[^\]]+\]\((\w+)\)/) {
                let file = packageDirectory.appending(path).removingLastComponent().appending("Resources/\(picture.1).svg")
                #expect(FileManager.default.fileExists(atPath: file.string), "\(file)")
            }
        }
    }
}
