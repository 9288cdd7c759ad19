import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Versions of documents in conflict, as the tool lists, compares and resolves them.
@Suite(.timeLimit(.minutes(40))) struct ConflictToolTests {
    private static let mark = "sync-conflict-20260102-030405-ABCDEFG"
    private static let other = "sync-conflict-20260103-030405-HIJKLMN"

    // MARK: Listing

    @Test("D-07: the list has each document with unresolved versions, the newest first, and skips what a query skips")
    func list() async throws {
        try await withDesk { desk in
            #expect(try await desk.conflict("list").output == "No document has unresolved versions in conflict.\n")
            #expect(try await desk.conflict("list", "--json").output.isEmpty)
            try desk.writeLetter()
            // A package is one document, and what is in it is none.
            for name in ["sub/Plan.rtfd", "sub/Plan.\(Self.mark).rtfd"] { try desk.write("x", to: "\(name)/a.txt") }
            try desk.write("x", to: "sub/Plan.rtfd/a.\(Self.mark).txt")
            // A copy without its original is an ordinary document.
            try desk.write("x", to: "sub/Gone.\(Self.mark).txt")
            for place in [".hidden", "local.nosync", "../CoreData", "../.ubiquity"] {
                for name in ["Letter.txt", "Letter.\(Self.mark).txt"] { try desk.write("x", to: "\(place)/\(name)") }
            }
            try FileManager.default.createSymbolicLink(
                atPath: desk.path("link").string, withDestinationPath: desk.path("sub").string)

            let found = try await desk.list()
            #expect(found.map(\.path) == [desk.path("Letter.txt").string, desk.path("sub/Plan.rtfd").string])
            #expect(found.allSatisfy { $0.container == "org.example.notes" && $0.isHere })
            let versions = try #require(found.first).versions
            #expect(versions.map(\.number) == [1, 2] && versions.map(\.id) == [Self.mark, Self.other])
            #expect(versions.map(\.device) == ["ABCDEFG", "HIJKLMN"] && versions.map(\.size) == [13, 6])
            #expect(versions[0].date == "2026-02-01T00:00:00Z" && versions.allSatisfy { $0.state == "unresolved" })
            #expect(versions[0].path == desk.path("Letter.\(Self.mark).txt").string)
            let text = try await desk.conflict("list").output
            #expect(text.contains("\n  1  2026-02-01T00:00:00Z  13 bytes  ABCDEFG  \(Self.mark)\n"), "\(text)")

            #expect(try await desk.list(desk.path("sub").string).map(\.path) == [desk.path("sub/Plan.rtfd").string])
            #expect(try await desk.list(desk.path("sub/Plan.rtfd/a.txt").string).map(\.path) == [desk.path("sub/Plan.rtfd").string])
            #expect(try await desk.list(desk.path("Letter.\(Self.mark).txt").string).map(\.path) == [desk.path("Letter.txt").string])
            for name in ["link", ".hidden"] { #expect(try await desk.list(desk.path(name).string).isEmpty) }
            #expect(try await desk.list("--container", "org.example.notes").count == 2)
            for arguments in [["/etc"], [desk.path("none").string], ["--container", "org.example.none"]] {
                let refused = try await desk.run(["list"] + arguments)
                #expect(refused.status == 64 && refused.errors.hasPrefix("Error: ") && refused.output.isEmpty, "\(arguments): \(refused)")
            }
        }
    }

    @Test("D-07: with --all the list also has resolved versions, and those that an app has kept")
    func listAll() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try await desk.markResolved("Letter.\(Self.mark).txt")
            try desk.write("kept", to: "Plain.txt")
            try desk.write("old", to: ".versions.nosync/Plain.txt/20260102-030405-678-ABC123.txt")
            #expect(try await desk.list().flatMap(\.versions).map(\.number) == [2])
            let all = try await desk.list("--all")
            #expect(all.map(\.path) == [desk.path("Letter.txt").string, desk.path("Plain.txt").string])
            #expect(all.map { $0.versions.map(\.state) } == [["resolved", "unresolved"], ["kept"]])
            let text = try await desk.conflict("list", "--all").output
            #expect(text.contains("\(Self.mark)  (resolved)\n"), "\(text)")
            #expect(text.contains("this device  kept-20260102-030405-678-ABC123.txt  (kept)\n"), "\(text)")
        }
    }

    // MARK: Comparing

    @Test("D-07: versions are compared with the current one: text by lines, and other files by their hashes")
    func show() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            let letter = desk.path("Letter.txt")
            let shown = try await desk.conflict("show", letter.string)
            let difference = """
                --- \(letter)
                +++ \(desk.path("Letter.\(Self.mark).txt"))
                @@ -1,3 +1,3 @@
                 one
                -two
                +2\t2
                 three
                \\ No newline at end of file

                """
            #expect(shown.status == 0 && shown.output.contains("\n\n\(difference)"), "\(shown)")
            #expect(shown.output.contains("  current  ") && shown.output.contains("+++ \(desk.path("Letter.\(Self.other).txt"))\n"), "\(shown)")
            for option in ["--version", "--only"] {
                for name in ["1", Self.mark] {
                    let one = try await desk.conflict("show", letter.string, option, name)
                    #expect(one.output.contains(difference) && !one.output.contains(Self.other), "\(one)")
                }
            }
            let report = try await desk.show("Letter.txt")
            #expect(report.current.size == 13 && report.versions.map(\.comparison.kind) == ["text", "text"])
            #expect(report.versions[0].comparison.diff == difference && report.versions[0].id == Self.mark)

            try desk.write("one\ntwo\nthree", to: "Letter.\(Self.mark).txt")
            try desk.write("\u{0}", to: "Letter.\(Self.other).txt")
            let again = try await desk.show("Letter.txt")
            #expect(Set(again.versions.map(\.comparison.kind)) == ["same", "binary"])
            let hash = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
            #expect(again.versions.contains { $0.comparison.kind == "binary" && $0.comparison.sha256 == hash })
            #expect(try await desk.conflict("show", letter.string).output.contains("sha256 \(hash)\n"))
        }
    }

    @Test("D-07: a text above the limits is not compared by lines, and both paths are named", arguments: [1 << 20, 0])
    func tooLarge(bytes: Int) async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try desk.write(bytes > 0 ? String(repeating: "x", count: bytes + 1) : String(repeating: "x\n", count: 20_001), to: "Letter.txt")
            let shown = try await desk.conflict("show", desk.path("Letter.txt").string, "--version", "1")
            #expect(shown.status == 0 && shown.output.contains("a text is above 1 MiB or 20000 lines"), "\(shown.errors)")
            #expect(shown.output.hasSuffix("\(desk.path("Letter.txt")) and \(desk.path("Letter.\(Self.mark).txt"))\n"))
            #expect(try await desk.show("Letter.txt").versions[0].comparison.kind == "tooLarge")
        }
    }

    @Test("D-07: of packages the files that differ are listed")
    func packages() async throws {
        try await withDesk { desk in
            for (name, text) in [("Plan.rtfd", "a"), ("Plan.\(Self.mark).rtfd", "b")] {
                try desk.write("same", to: "\(name)/deep/same.txt")
                try desk.write(text, to: "\(name)/deep/changed.txt")
                try desk.write(text, to: "\(name)/only \(text)")
            }
            let report = try await desk.show("Plan.rtfd")
            #expect(report.versions.map(\.comparison.kind) == ["package"])
            let files = try #require(report.versions[0].comparison.files).map { "\($0.change) \($0.path)" }
            #expect(files == ["changed deep/changed.txt", "onlyCurrent only a", "onlyVersion only b"])
            let text = try await desk.conflict("show", desk.path("Plan.rtfd").string).output
            #expect(text.hasSuffix("  * deep/changed.txt\n  - only a  (only in the current version)\n  + only b  (only in version 1)\n"), "\(text)")
        }
    }

    @Test("D-07: what is no document, has no such version, or is in no conflict is refused with its path and what to do")
    func refusals() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try desk.write("x", to: "plain/Plain.txt")
            try desk.write("x", to: "Plan.rtfd/a.txt")
            let refusals: [(path: String, status: Int32, says: String)] = [
                ("none", 64, "There is no document at"), ("plain", 64, "is a directory, and no package: name a document in it"),
                ("Plan.rtfd/a.txt", 64, "is a part of the package"), ("Letter.\(Self.mark).txt", 64, "is a version of"),
                ("..", 64, "is a container: name one of its documents"), ("../CoreData", 64, "belongs to a store"),
                ("plain/Plain.txt", 1, "has no version in conflict"),
            ]
            for command in [["show"], ["resolve", "--keep", "current", "--yes"]] {
                for refusal in refusals {
                    let path = desk.documents.pushing(FilePath(refusal.path)).string
                    let outcome = try await desk.run([command[0], path] + command.dropFirst())
                    #expect(outcome.status == refusal.status && outcome.output.isEmpty, "\(command) \(refusal.path): \(outcome)")
                    #expect(outcome.errors.hasPrefix("Error: /") || outcome.errors.hasPrefix("Error: There is no document at /"))
                    #expect(outcome.errors.contains(refusal.says) && outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
                }
            }
            for command in [["--version", "3"], ["--version", "kept-x"]] {
                let outcome = try await desk.run(["show", desk.path("Letter.txt").string] + command)
                #expect(outcome.status == 64 && outcome.errors.contains("1 (2026-02-01T00:00:00Z, 13 bytes, ABCDEFG): \(Self.mark)"), "\(outcome)")
            }
            try FileManager.default.createDirectory(atPath: desk.path("plain.\(Self.mark)").string, withIntermediateDirectories: false)
            let plain = try await desk.conflict("show", desk.path("plain").string)
            #expect(plain.status == 64 && plain.errors.contains("compare it with the directory \(desk.path("plain.\(Self.mark)"))"), "\(plain)")
            // A package of an app whose extension is not known here.
            for name in ["a.sketchbook/x", "a.\(Self.mark).sketchbook/x"] { try desk.write(name, to: name) }
            let unknown = try await desk.conflict("show", desk.path("a.sketchbook").string)
            #expect(unknown.status == 64 && unknown.errors.contains("add \"sketchbook\" to the member packages of downloads in"), "\(unknown)")
            let settings = desk.device.home.appending("config.json").string
            try Data(#"{"format": 1, "downloads": {"packages": ["SketchBook"]}}"#.utf8).write(to: URL(filePath: settings))
            #expect(try await desk.show("a.sketchbook").versions.map(\.comparison.kind) == ["package"])
        }
    }

    // MARK: Resolving

    @Test("D-07: the current version is kept and the others are removed once that is confirmed, and not before")
    func keepCurrent() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            let before = try desk.contents()
            let command = ["resolve", desk.path("Letter.txt").string, "--keep", "current"]
            let refused = try await desk.run(command)
            #expect(refused.status == 64 && refused.errors.contains("2 versions of \(desk.path("Letter.txt")): 1 (2026-02-01"), "\(refused)")
            #expect(refused.errors.contains("add --yes"))
            let declined = try await onTerminal(["ubcontrol", "conflict"] + command + ["--home", desk.device.home.string], typing: "no")
            #expect(declined.status == 1 && declined.output.contains("Nothing has been changed."), "\(declined)")
            let dry = try await desk.run(command + ["--dry-run"])
            #expect(dry.status == 0 && dry.output.hasPrefix("Would remove 2 versions of "), "\(dry)")
            #expect(try desk.contents() == before)
            let confirmed = try await onTerminal(["ubcontrol", "conflict"] + command + ["--home", desk.device.home.string], typing: "yes")
            #expect(confirmed.status == 0 && confirmed.output.contains("and removed 2 versions."), "\(confirmed)")
            #expect(try desk.contents() == ["Letter.txt": "one\ntwo\nthree"])
            let again = try await desk.run(command + ["--yes"])
            #expect(again.status == 1 && again.errors.contains("has no version in conflict"), "\(again)")
        }
    }

    @Test(
        "D-07: a version that is chosen by its number or its id takes the document's place, and the others are removed",
        arguments: ["2", "sync-conflict-20260103-030405-HIJKLMN"])
    func keepVersion(name: String) async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try desk.write("old", to: ".versions.nosync/Letter.txt/20200102-030405-678-ABC123.txt")
            let command = ["resolve", desk.path("Letter.txt").string, "--keep", name]
            let refused = try await desk.run(command)
            #expect(refused.status == 64 && refused.errors.contains("\(desk.path("Letter.txt")) by version 2 ("), "\(refused)")
            let outcome = try await desk.run(command + ["--yes", "--json"])
            #expect(outcome.status == 0, "\(outcome)")
            #expect(outcome.output.contains(#""left":[]"#) && outcome.output.contains("\"removed\":[\"\(Self.mark)\"]"), "\(outcome)")
            // What an app has kept is in no conflict.
            #expect(try desk.contents() == ["Letter.txt": "other\n", ".versions.nosync/Letter.txt/20200102-030405-678-ABC123.txt": "old"])
        }
    }

    @Test("D-07: a version of a package takes the package's place as a whole")
    func keepPackage() async throws {
        try await withDesk { desk in
            for (name, text) in [("Plan.rtfd", "a"), ("Plan.\(Self.mark).rtfd", "b")] { try desk.write(text, to: "\(name)/\(text).txt") }
            let outcome = try await desk.conflict("resolve", desk.path("Plan.rtfd").string, "--keep", "1", "--yes")
            #expect(outcome.status == 0, "\(outcome)")
            #expect(try desk.contents() == ["Plan.rtfd/b.txt": "b"])
        }
    }

    @Test("D-07: with both each unresolved version becomes a document beside the other, under a free name, and nobody is asked")
    func keepBoth() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try desk.write("taken", to: "Letter (ABCDEFG, 2026-01-02 03.04.05).txt")
            try desk.write("done", to: "Letter.sync-conflict-20260104-030405-AAAAAAA.txt")
            try await desk.markResolved("Letter.sync-conflict-20260104-030405-AAAAAAA.txt")
            for name in ["Plan.rtfd", "Plan.\(Self.mark).rtfd"] { try desk.write(name, to: "\(name)/a.txt") }
            let outcome = try await desk.conflict("resolve", desk.path("Letter.txt").string, "--keep", "both")
            #expect(outcome.status == 0 && outcome.output.hasPrefix("Made a document of \(desk.path("Letter.\(Self.mark).txt")): "), "\(outcome)")
            #expect(try await desk.conflict("resolve", desk.path("Plan.rtfd").string, "--keep", "both").status == 0)
            #expect(
                try desk.contents() == [
                    "Letter.txt": "one\ntwo\nthree", "Letter (ABCDEFG, 2026-01-02 03.04.05).txt": "taken",
                    "Letter (ABCDEFG, 2026-01-02 03.04.05) 2.txt": "one\n2\t2\nthree", "Letter (HIJKLMN, 2026-01-03 03.04.05).txt": "other\n",
                    "Letter.sync-conflict-20260104-030405-AAAAAAA.txt": "done", "Plan.rtfd/a.txt": "Plan.rtfd",
                    "Plan (ABCDEFG, 2026-01-02 03.04.05).rtfd/a.txt": "Plan.\(Self.mark).rtfd",
                ])
            #expect(try await desk.list().isEmpty)
        }
    }

    @Test("D-07: versions that appear or change while the question is open stay in conflict, and the status says so")
    func meanwhile() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try await TestTerminal.with(columns: 400, rows: 20) { terminal in
                let command = "\(Tool.path("ubcontrol")) conflict resolve \(desk.path("Letter.txt")) --keep current --home \(desk.device.home)"
                try await terminal.type("\(command); echo status $?")
                try await terminal.shows("Type yes to continue:")
                try desk.write("new", to: "Letter.sync-conflict-20260105-030405-AAAAAAA.txt")
                try desk.write("changed since", to: "Letter.\(Self.other).txt")
                try await terminal.type("yes")
                try await terminal.shows("status 5")
            }
            #expect(
                try desk.contents() == [
                    "Letter.txt": "one\ntwo\nthree", "Letter.\(Self.other).txt": "changed since",
                    "Letter.sync-conflict-20260105-030405-AAAAAAA.txt": "new",
                ])
        }
    }

    @Test("D-07: a program that shows a version is asked before the version becomes a document, and hears of its new name")
    func presenters() async throws {
        try await withDesk { desk in
            try desk.writeLetter()
            try await withPlayers(1) { scene, players in
                try await players[0].say("present p \(desk.path("Letter.\(Self.mark).txt"))")
                try await players[0].hears("presenting p")
                let outcome = try await Tool.run(
                    "ubcontrol", ["conflict", "resolve", desk.path("Letter.txt").string, "--keep", "both", "--home", desk.device.home.string],
                    environment: scene.environment)
                #expect(outcome.status == 0, "\(outcome)")
                try await players[0].hears("told p relinquishToWriter")
                #expect(try await players[0].hears("told p didMove") == "told p didMove Letter (ABCDEFG, 2026-01-02 03.04.05).txt")
            }
        }
    }
}
