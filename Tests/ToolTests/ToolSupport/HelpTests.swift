import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What the programs say of themselves, and whether it is so.
struct HelpTests {
    @Test("every command of ubcontrol has one grammar: --json, and its other common options last, in one order, with one meaning")
    func grammar() async throws {
        let order = ["--yes", "--dry-run", "--container", "--home", "--json"]
        // A container that is meant, or of which a report is made, is another thing than where a store's is.
        let ambiguous: Set = ["--container"]
        var meanings: [String: Set<String>] = [:]
        for (words, command) in try await HelpCommand.of("ubcontrol").all() where command.subcommands?.isEmpty != false {
            let arguments = (command.arguments ?? []).filter(\.shouldDisplay)
            let names = arguments.flatMap { $0.words.filter { $0.hasPrefix("--") } }
            #expect(names.contains("--json"), "\(words)")
            let common = names.filter { order.contains($0) && !ambiguous.contains($0) }
            #expect(common == order.filter(common.contains), "\(words): \(common)")
            let others = names.filter { !["--help", "--version"].contains($0) && !ambiguous.contains($0) }
            #expect(others.suffix(common.count) == common[...], "\(words): \(others)")
            let kinds = arguments.map(\.kind)
            #expect(kinds.lastIndex(of: "positional") ?? -1 < kinds.firstIndex { $0 != "positional" } ?? kinds.count, "\(words)")
            for argument in arguments {
                for name in argument.words where common.contains(name) && name != "--json" {
                    meanings[name, default: []].insert(argument.abstract ?? "")
                }
            }
        }
        #expect(meanings.count == 3 && meanings.values.allSatisfy { $0.count == 1 }, "\(meanings)")
    }

    @Test("ubcontrol --help lists the exit statuses, and --version tells the version")
    func exitStatuses() async throws {
        let help = try await Tool.run("ubcontrol", ["--help"])
        for status in ["0   it is done", "1   it could not", "64  the command line is wrong", "69  the broker"] {
            #expect(help.output.contains(status))
        }
        let version = try await Tool.run("ubcontrol", ["--version"])
        #expect(version.status == 0 && version.output.split(separator: ".").count == 3, "\(version)")
    }

    @Test("every command line that the programs' help, the README and the articles mention could be typed")
    func mentions() async throws {
        var programs: [String: HelpCommand] = [:]
        for name in CommandLines.programs { programs[name] = try await HelpCommand.of(name) }
        var texts = programs.values.flatMap { program in program.all().flatMap { words, command in command.texts.map { ("\(words) --help", $0) } } }
        let articles = try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Sources").string).filter {
            $0.hasSuffix(".md")
        }
        for path in articles.map({ "Sources/\($0)" }) + ["README.md"] {
            texts.append((path, try String(contentsOfFile: packageDirectory.pushing(FilePath(path)).string, encoding: .utf8)))
        }
        var count = 0
        for (place, text) in texts {
            let isArticle = place.hasSuffix(".md")
            for words in CommandLines.mentioned(in: text) + (isArticle ? CommandLines.fenced(in: text) : CommandLines.shown(in: text)) {
                let fault = programs[words[0]]!.fault(in: words.dropFirst())
                #expect(fault == nil, "\(place): \(words.joined(separator: " "))")
                count += 1
            }
        }
        #expect(count > 60)
    }

    @Test("every example in the programs' help runs as it stands, with something in the place of what is in capitals")
    func examples() async throws {
        try await withDevices(2) { devices in
            for device in devices { #expect(try await device.run("notes", "add", "Milk").status == 0) }
            #expect(try await devices[0].list().count == 2)
            let directory = devices[0].home.removingLastComponent()
            let store = try devices[0].storeFile()
            let peer = try #require(
                FileManager.default.contentsOfDirectory(atPath: devices[0].container.appending(".ubiquity").string)
                    .first { !store.string.contains($0) })
            let environment = [
                "UBIQUITY_HOME": devices[0].home.string, "XDG_RUNTIME_DIR": directory.string,
                "PATH": "\(Tool.path("ubcontrol").removingLastComponent()):/usr/bin:/bin",
            ]
            var number = 0
            for program in ["ubcontrol", "ubwatch"] {
                for (place, command) in try await HelpCommand.of(program).all() {
                    for words in CommandLines.shown(in: command.discussion ?? "") {
                        number += 1
                        let places = [
                            "HOME": devices[0].home.string, "ROOT": devices[0].root.string, "STORE": store.string, "PEER": peer,
                            "CONTAINER": words[0] == "ubwatch" ? devices[0].container.string : "org.example.notes",
                            "FILE": directory.appending("file\(number).tar.gz").string, "DIR": directory.appending("directory\(number)").string,
                            "CLONE": packageDirectory.string,
                        ]
                        let given = words.map { places[$0] ?? $0 }
                        #expect(
                            given.allSatisfy { $0 != $0.uppercased() || $0 == $0.lowercased() }, "\(place): \(words): what is in capitals is unknown")
                        // In a directory of the test's own.
                        let line = "cd '\(directory)' && exec " + given.map { "'\($0)'" }.joined(separator: " ")
                        let running = try await RunningTool("/bin/bash", ["-c", line], environment: environment)
                        let stays = !Set(words).isDisjoint(with: ["devices", "events", "--follow"]) || words.count < 3 && words[0] == "ubwatch"
                        for await _ in running.lines where stays { break }
                        let outcome = try await stays ? running.stop() : running.end()
                        // Where a doctor finds something, that is its answer.
                        #expect(outcome.status == 0 || outcome.status == 1 && words.contains("doctor") || stays, "\(place): \(words): \(outcome)")
                    }
                }
            }
            #expect(number > 15)
            _ = try await Tool.run("ubcontrol", ["broker", "stop"], environment: environment)
        }
    }

    @Test(
        "ubcontrol and ubwatch write completion scripts for bash, zsh and fish, and bash's completes what is there",
        arguments: ["ubcontrol", "ubwatch"])
    func completion(program: String) async throws {
        for (shell, sign) in [("zsh", "#compdef \(program)"), ("fish", "complete -c '\(program)'")] {
            let script = try await Tool.run(program, ["--generate-completion-script", shell])
            #expect(script.status == 0 && script.output.contains(sign), "\(shell)")
        }
        let file = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-completion-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: file.string) }
        try Data(try await Tool.run(program, ["--generate-completion-script", "bash"]).output.utf8).write(to: URL(filePath: file.string))
        #expect(try await Tool.run("/bin/bash", ["-n", file.string]).status == 0)
        let loaded = try await Tool.run("/bin/bash", ["--norc", "-c", ". '\(file)' && complete -p \(program)"])
        #expect(loaded.status == 0 && loaded.output.hasSuffix(" \(program)\n"), "\(loaded)")
    }

    @Test("what is typed is completed with containers and with what was set aside, of the home that stands on the line")
    func values() async throws {
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "Milk").status == 0)
            // As the scripts ask; see swift-argument-parser's CompletionKind.custom.
            let words = ["ubcontrol", "container", "wipe", "--home", devices[0].home.string, ""]
            let outcome = try await Tool.run(
                "ubcontrol", ["---completion", "container", "wipe", "--", "positional@0", "\(words.count - 1)", "0"] + words,
                environment: ["SAP_SHELL": "bash"])
            #expect(outcome.output.split(separator: "\n") == ["org.example.notes"], "\(outcome)")
        }
    }

    @Test("each program has a manual page, which troff formats without a warning")
    func manual() async throws {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-manual-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let bin = Tool.path("ubcontrol").removingLastComponent().string
        let made = try await Tool.run(
            "/usr/bin/python3", [packageDirectory.appending("Tools/manual").string, directory.string], environment: ["UBIQUITY_BIN": bin])
        #expect(made.status == 0 && made.output.split(separator: "\n").count == 4, "\(made)")
        for program in ["ubcontrol", "ubwatch", "ubiquityd", "ubtransfer"] {
            let page = directory.appending("\(program).1").string
            #expect(try String(contentsOfFile: page, encoding: .utf8).hasPrefix(".TH \(program.uppercased()) 1\n"))
            try #require(FileManager.default.fileExists(atPath: "/usr/bin/groff"), "there is no groff: Tools/setup installs the package groff-base")
            let shown = try await Tool.run("/usr/bin/groff", ["-Kutf8", "-man", "-ww", "-Tutf8", "-P-cbuo", page])
            #expect(shown.status == 0 && shown.errors.isEmpty && shown.output.contains("COMMANDS"), "\(shown.errors)")
        }
    }
}
