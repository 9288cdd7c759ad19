import Foundation
import SystemPackage
import Testing
import ToolProcesses
import ToolSupport

/// What the tools have in common on a command line: versions, statuses, what they say to what is mistyped or not here.
struct CommandLineTests {
    private func control(_ arguments: String...) async throws -> Tool.Outcome { try await Tool.run("ubcontrol", arguments) }

    @Test("each tool tells its version, which is the same for all", arguments: ["ubcontrol", "ubwatch", "ubiquityd"])
    func version(tool: String) async throws {
        let outcome = try await Tool.run(tool, ["--version"])
        #expect(outcome.status == 0 && outcome.output == "\(ToolVersion.text)\n" && outcome.errors.isEmpty, "\(outcome)")
    }

    @Test("a mistyped command is answered with the one that may have been meant, and a word that may be a path is not")
    func suggestions() async throws {
        let meant: [(typed: [String], command: String)] = [
            (["ubcontrol", "stor", "list"], "ubcontrol store"), (["ubcontrol", "store", "lsit"], "ubcontrol store list"),
            (["ubcontrol", "docter"], "ubcontrol doctor"), (["ubcontrol", "kept", "sohw", "x"], "ubcontrol kept show"),
            // What there is under another word.
            (["ubcontrol", "rebuild", "Notes.sqlite"], "ubcontrol store rebuild"), (["ubcontrol", "wipe"], "ubcontrol container wipe"),
            (["ubwatch", "statsu", "/tmp"], "ubwatch status"), (["ubwatch", "verfy"], "ubwatch verify"),
        ]
        for (typed, command) in meant {
            let outcome = try await Tool.run(typed[0], Array(typed.dropFirst()))
            #expect(outcome.status == 64 && outcome.output.isEmpty, "\(typed): \(outcome)")
            #expect(outcome.errors.hasSuffix("\nDid you mean `\(command)`?\n"), "\(typed): \(outcome)")
        }
        for typed in [["ubwatch", "/statsu"], ["ubwatch", "./statsu"], ["ubcontrol", "xyzzy"], ["ubwatch", "xyzzy"]] {
            let outcome = try await Tool.run(typed[0], Array(typed.dropFirst()))
            #expect(outcome.status == 64 && !outcome.errors.contains("Did you mean"), "\(typed): \(outcome)")
        }
        let several = try await control("store", "re")
        #expect(several.status == 64, "\(several)")
    }

    @Test("a command line that is wrong is answered with the usage of its own command, and what a command refuses with one line")
    func usage() async throws {
        let missing = try await control("store", "pause")
        #expect(missing.status == 64 && missing.errors.contains("Usage: ubcontrol store pause <store>"), "\(missing)")
        let limit = try await control("store", "conflicts", "x", "--limit", "0")
        #expect(limit.status == 64 && limit.errors.contains("Usage: ubcontrol store conflicts "), "\(limit)")
        try await withDevices(1) { devices in
            let home = devices[0].home.string
            let refusals: [[String]] = [
                ["ubcontrol", "store", "pause", "/nowhere/Notes.sqlite"], ["ubcontrol", "store", "rebuild", "/nowhere/Notes.sqlite"],
                ["ubcontrol", "container", "wipe", "org.example.none", "--home", home], ["ubcontrol", "container", "status", "/etc", "--home", home],
                ["ubcontrol", "kept", "show", "nothing", "--home", home], ["ubwatch", "items", "/etc", "--home", home],
                ["ubwatch", "status", "/etc"],
                ["ubwatch", "events", "/nowhere"], ["ubwatch", "/etc"], ["ubwatch", "verify", "/etc"], ["ubwatch", "peers", "/etc"],
                ["ubwatch", "wait", "--until", "quiet", "/etc"], ["ubwatch", "conflicts", "/nowhere"],
            ]
            for words in refusals {
                let outcome = try await Tool.run(words[0], Array(words.dropFirst()))
                #expect(outcome.status == 64 && outcome.output.isEmpty, "\(words): \(outcome)")
                #expect(outcome.errors.hasPrefix("Error: ") && outcome.errors.split(separator: "\n").count == 1, "\(words): \(outcome)")
            }
        }
    }

    @Test("an exit status means the same in all tools, which list them: what is not here is 64, a container that is gone 3")
    func statuses() async throws {
        for tool in ["ubcontrol", "ubwatch"] {
            let help = try await Tool.run(tool, ["--help"]).output
            for line in ToolExit.table.split(separator: "\n") { #expect(help.contains(line.prefix(40)), "\(tool): \(line)") }
        }
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            for words in ["state", "check", "conflicts", "held", "duplicates", "pause", "resume", "rebuild", "export"] {
                let outcome = try await control("store", words, "/nowhere/Notes.sqlite")
                #expect(outcome.status == 64 && outcome.errors.contains("/nowhere"), "\(words): \(outcome)")
            }
            try FileManager.default.removeItem(atPath: device.container.string)
            for words in [["status"], ["peers"], ["conflicts"], ["wait", "--until", "current"]] {
                let outcome = try await Tool.run("ubwatch", words + [device.container.string, "--home", device.home.string])
                #expect(outcome.status == 3, "\(words): \(outcome)")
            }
            for words in [["wipe", "--yes"], ["resume"], ["create"]] {
                let outcome = try await Tool.run(
                    "ubcontrol", ["container", words[0], "org.example.notes"] + words.dropFirst() + ["--home", device.home.string])
                #expect(outcome.status == 3, "\(words): \(outcome)")
            }
        }
    }

    @Test("what goes to a terminal has no bar between its lines, and elsewhere long work shows on a terminal that it goes on")
    func progress() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            for title in ["Milk", "Bread"] { #expect(try await device.run("notes", "add", title).status == 0) }
            let store = try device.storeFile().string
            let plain = try await control("store", "export", store)
            let shown = try await onTerminal(["ubcontrol", "store", "export", store])
            // A terminal ends its lines with a carriage return, too.
            #expect(shown.status == 0 && shown.output.replacing("\r\n", with: "\n") == plain.output && plain.output.contains("Milk"), "\(shown)")
            let target = device.home.appending("export.jsonl").string
            let written = try await onTerminal(["ubcontrol", "store", "export", store, "--output", target])
            #expect(written.status == 0 && written.output.components(separatedBy: "\u{1B}[K").last == "note: 2 records\n", "\(written)")

            let works: [(command: [String], shows: String)] = [
                (["ubwatch", "verify", device.container.string], " of "), (["ubcontrol", "store", "check", store], "checking the store"),
                (["ubwatch", "status", device.container.string], "looking at the container"),
                (["ubwatch", "items", device.container.string], "looking at the items"),
                (
                    ["ubcontrol", "report", "--output", device.home.appending("report.tar.gz").string, "--home", device.home.string],
                    "gathering the report"
                ),
                (["ubcontrol", "status", "--home", device.home.string], "looking at this device"),
            ]
            for (command, shows) in works {
                let outcome = try await onTerminal(command)
                let parts = outcome.output.components(separatedBy: "\u{1B}[K")
                #expect(parts.count > 2 && parts.first?.contains(shows) == true, "\(command): \(outcome)")
                try? FileManager.default.removeItem(atPath: device.home.appending("report.tar.gz").string)
                let quiet = try await Tool.run(command[0], Array(command.dropFirst()))
                #expect(quiet.errors.isEmpty && !quiet.output.contains(shows == " of " ? "\u{1B}" : shows), "\(command): \(quiet)")
            }
        }
    }
}
