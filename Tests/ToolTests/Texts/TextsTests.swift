import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The documents' example, in real processes that share files and a broker.
struct TextsTests {
    /// A device on which the example runs, with a broker of its own.
    private struct Desk {
        let device: ToolDevice
        let environment: [String: String]

        var documents: FilePath { device.root.appending("alice/org.example.texts/Documents") }

        init(_ device: ToolDevice) {
            self.device = device
            environment = [
                "UBIQUITY_HOME": device.home.string, "XDG_RUNTIME_DIR": device.home.removingLastComponent().appending("run").string,
                "SWIFT_BACKTRACE": "enable=no",
            ]
        }

        @discardableResult
        func texts(_ arguments: String..., environment more: [String: String] = [:]) async throws -> Tool.Outcome {
            try await Tool.run("texts", arguments, environment: environment.merging(more) { $1 })
        }

        /// The names in the documents' directory, hidden ones too.
        func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: documents.string).sorted() }
    }

    private func withDesk(_ body: (Desk) async throws -> Void) async throws {
        try await withDevices(1) { devices in
            let desk = Desk(devices[0])
            try FileManager.default.createDirectory(atPath: desk.environment["XDG_RUNTIME_DIR"]!, withIntermediateDirectories: true)
            try await body(desk)
        }
    }

    @Test("A text is created, listed, shown, added to, renamed and deleted; what is wrong is said in a sentence")
    func commands() async throws {
        try await withDesk { desk in
            #expect(try await desk.texts().output == "There is no text. Begin one: texts new NAME\n")
            #expect(try await desk.texts("new", "Letter", "--content", "Dear\n").output == "Letter.txt\n")
            #expect(try await desk.texts("new", "Book.textbundle", "--content", "Chapter").output == "Book.textbundle\n")
            #expect(try await desk.texts("append", "Letter", "you").status == 0)
            #expect(try await desk.texts("show", "Letter").output == "Dear\nyou\n")
            #expect(try await desk.texts("append", "Book", "One").status == 0)
            #expect(try await desk.texts("show", "Book").output == "Chapter\nOne\n")
            let list = try await desk.texts("list").output.split(separator: "\n")
            #expect(list.count == 2 && list[0].hasPrefix("Book.textbundle ") && list[1].hasPrefix("Letter.txt "), "\(list)")
            #expect(try await desk.texts("rename", "Letter", "Note").output == "Note.txt\n")
            let taken = try await desk.texts("new", "Note", "--content", "x")
            #expect(taken.status != 0 && taken.errors.contains("already"), "\(taken)")
            let missing = try await desk.texts("show", "Nothing")
            #expect(missing.status != 0 && missing.errors.contains("Nothing.txt cannot be read"), "\(missing)")
            #expect(try await desk.texts("delete", "Note").status == 0)
            #expect(try desk.names() == ["Book.textbundle"])
            #expect(try await desk.device.run("ubcontrol", "sign-out").status == 0)
            #expect(try await desk.texts("list").errors.contains("nobody is signed in"))
        }
    }

    @Test("An editor's text is saved; what is written elsewhere meanwhile is kept as a version; an editor that fails changes nothing")
    func editor() async throws {
        try await withDesk { desk in
            try await desk.texts("new", "Letter", "--content", "Dear\n")
            let script = desk.device.home.appending("editor")
            func edit(_ commands: String) async throws -> Tool.Outcome {
                try Data("#!/bin/sh\n\(commands)\n".utf8).write(to: URL(filePath: script.string))
                #expect(chmod(script.string, 0o755) == 0)
                return try await desk.texts("edit", "Letter", environment: ["EDITOR": script.string, "VISUAL": ""])
            }
            #expect(try await edit("echo you >> \"$1\"").status == 0)
            #expect(try await desk.texts("show", "Letter").output == "Dear\nyou\n")
            let failed = try await edit("echo lost >> \"$1\"; exit 3")
            #expect(failed.status != 0 && failed.errors.contains("has failed"))
            #expect(try await desk.texts("show", "Letter").output == "Dear\nyou\n")
            let other = try await edit("echo mine >> \"$1\"; \(Tool.path("texts")) append Letter theirs")
            #expect(other.status == 0 && other.errors.contains("changed elsewhere"), "\(other)")
            #expect(try await desk.texts("show", "Letter").output == "Dear\nyou\nmine\n")
            let shown = try await desk.texts("resolve", "Letter", "--all")
            #expect(shown.output.contains("+theirs") && shown.output.contains("-mine"), "\(shown)")
        }
    }

    @Test("D-07: a conflict is shown with its difference, and one version is kept", arguments: ["current", "1"])
    func resolve(choice: String) async throws {
        try await withDesk { desk in
            try await desk.texts("new", "Letter", "--content", "mine\n")
            let copy = desk.documents.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.txt")
            try Data("theirs\n".utf8).write(to: URL(filePath: copy.string))
            #expect(try await desk.texts("list").output.contains("in conflict"))
            #expect(try await desk.texts("show", "Letter").errors.contains("in conflict"))
            let shown = try await desk.texts("resolve", "Letter")
            #expect(shown.output.contains("version 1: ABCDEFG") && shown.output.contains("-mine\n+theirs"), "\(shown)")
            let none = try await desk.texts("resolve", "Letter", "--keep", "7")
            #expect(none.status != 0 && none.errors.contains("has no version “7”"), "\(none)")
            #expect(try await desk.texts("resolve", "Letter", "--keep", choice).status == 0)
            #expect(try await desk.texts("show", "Letter").output == (choice == "1" ? "theirs\n" : "mine\n"))
            #expect(try desk.names() == ["Letter.txt"])
        }
    }

    @Test(
        "D-04, D-06: a process that is killed at any point of a save leaves the old or the new, of a file and of a package; the next save cleans up",
        arguments: ["document.begun", "document.drafted", "document.replaced"], ["Letter.txt", "Letter.textbundle"])
    func kills(point: String, name: String) async throws {
        try await withDesk { desk in
            try await desk.texts("new", name, "--content", "old\n")
            let killed = try await desk.texts("append", name, "new", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            let text = try await desk.texts("show", name).output
            #expect(text == (point == "document.replaced" ? "old\nnew\n" : "old\n"))
            #expect(try await desk.texts("append", name, "next").status == 0)
            #expect(try await desk.texts("show", name).output == text + "next\n")
            #expect(try desk.names() == [name])
        }
    }

    @Test(
        "D-04, D-06: a process that is killed while it creates a file or a package leaves nothing, or all of it",
        arguments: ["document.drafted", "document.replaced"], ["Letter.txt", "Letter.textbundle"])
    func killedCreation(point: String, name: String) async throws {
        try await withDesk { desk in
            let killed = try await desk.texts("new", name, "--content", "new\n", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            let shown = try await desk.texts("show", name)
            if point == "document.replaced" {
                #expect(shown.output == "new\n", "\(shown)")
            } else {
                #expect(shown.status != 0 && shown.output.isEmpty, "\(shown)")
                #expect(try await desk.texts("new", name, "--content", "new\n").status == 0)
            }
            #expect(try await desk.texts("append", name, "next").status == 0)
            #expect(try await desk.texts("show", name).output == "new\nnext\n")
            #expect(try desk.names() == [name])
        }
    }

    @Test(
        "D-06: while a process writes a package, a program that coordinates nothing sees the whole old one, and then the whole new one",
        arguments: ["document.drafted", "document.replaced"])
    func stopped(point: String) async throws {
        try await withDesk { desk in
            try await desk.texts("new", "Letter.textbundle", "--content", "old\n")
            let saving = try await RunningTool(
                "texts", ["append", "Letter.textbundle", "new"], environment: desk.environment.merging(["UBIQUITY_STOP_AT": point]) { $1 })
            defer { saving.signal(SIGCONT) }
            try await until("it has stopped in the midst of its save") { ProcessFacts(saving.identifier).isStopped }
            let package = desk.documents.appending("Letter.textbundle").string
            #expect(try FileManager.default.contentsOfDirectory(atPath: package).sorted() == ["info.json", "text.md"])
            let text = try String(contentsOfFile: package + "/text.md", encoding: .utf8)
            #expect(text == (point == "document.replaced" ? "old\nnew\n" : "old\n"))
            saving.signal(SIGCONT)
            #expect(try await saving.end().status == 0)
            let names = try desk.names()
            #expect(names == ["Letter.textbundle"])
            #expect(try await desk.texts("show", "Letter.textbundle").output == "old\nnew\n")
        }
    }

    @Test("D-04: a document is opened once a writer in another process has finished, and moved and deleted once a reader has")
    func coordinated() async throws {
        try await withPlayers(1) { scene, players in
            let (player, path) = (players[0], scene.path("Letter.txt"))
            try Data("half".utf8).write(to: URL(filePath: path))
            /// Runs a command while the other process has an access, which ends once the command waits for it.
            func run(_ arguments: String..., during access: String, _ body: () throws -> Void) async throws -> Tool.Outcome {
                try await player.say("\(access) a \(path)")
                try await player.hears("granted a")
                let environment = scene.environment
                let tool = Task { try await Tool.run("texts", arguments, environment: environment) }
                try await scene.isQueued()
                try body()
                try await player.say("end a")
                try await player.hears("ended a")
                return try await within("the command") { try await tool.value }
            }
            let shown = try await run("show", path, during: "write") { try Data("whole\n".utf8).write(to: URL(filePath: path)) }
            #expect(shown.status == 0 && shown.output == "whole\n", "\(shown)")
            let moved = try await run("rename", path, "Note", during: "read") {
                #expect(FileManager.default.fileExists(atPath: path))
                #expect(!FileManager.default.fileExists(atPath: scene.path("Note.txt")))
            }
            #expect(moved.status == 0 && moved.output == "Note.txt\n", "\(moved)")
            try FileManager.default.moveItem(atPath: scene.path("Note.txt"), toPath: path)
            let deleted = try await run("delete", path, during: "read") { #expect(FileManager.default.fileExists(atPath: path)) }
            #expect(deleted.status == 0 && !FileManager.default.fileExists(atPath: path), "\(deleted)")
        }
    }

    @Test("D-04: a process that is killed after it has kept what another program wrote loses neither text")
    func killedInConflict() async throws {
        try await withPlayers(1) { scene, players in
            let path = scene.path("Letter.txt")
            try Data("old\n".utf8).write(to: URL(filePath: path))
            // A reader keeps the save waiting, while a program that does not coordinate writes the file.
            try await players[0].say("read r \(path)")
            try await players[0].hears("granted r")
            let environment = scene.environment.merging(["UBIQUITY_KILL_AT": "document.otherKept"]) { $1 }
            let tool = try await RunningTool("texts", ["append", path, "mine"], environment: environment)
            try await scene.isQueued()
            try Data("theirs\n".utf8).write(to: URL(filePath: path))
            try await players[0].say("end r")
            #expect(try await tool.end().signal == SIGKILL)
            let names = try FileManager.default.contentsOfDirectory(atPath: scene.path("")).filter { !$0.hasPrefix(".") }.sorted()
            #expect(names.count == 2 && names[0].hasPrefix("Letter.sync-conflict-") && names[1] == "Letter.txt", "\(names)")
            for name in names { #expect(try String(contentsOfFile: scene.path(name), encoding: .utf8) == "theirs\n") }
            // What was not saved is lost with the process; a new save sees no conflict.
            #expect(try await Tool.run("texts", ["append", path, "again"], environment: scene.environment).status == 0)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs\nagain\n")
        }
    }

    @Test("D-04: what another program writes in the last moment of a save is kept, though the saving process is killed then")
    func killedInLastMoment() async throws {
        try await withDesk { desk in
            try await desk.texts("new", "Letter", "--content", "old\n")
            let letter = desk.documents.appending("Letter.txt")
            // A program that writes in place has the file open, and goes on after the exchange.
            let open = try FileDescriptor.open(letter, .readWrite)
            let tool = try await RunningTool(
                "texts", ["append", "Letter", "new"], environment: desk.environment.merging(["UBIQUITY_STOP_AT": "document.replaced"]) { $1 })
            try await until("it has replaced the item") { (try? String(contentsOfFile: letter.string, encoding: .utf8)) == "old\nnew\n" }
            try open.writeAll(Array("theirs\n".utf8))
            try open.close()
            tool.signal(SIGKILL)
            _ = try await tool.end()
            #expect(try await desk.texts("append", "Letter", "next").status == 0)
            #expect(try await desk.texts("show", "Letter").output == "old\nnew\nnext\n")
            let names = try desk.names()
            #expect(names.count == 2 && names[0].hasPrefix("Letter.sync-conflict-") && names[1] == "Letter.txt", "\(names)")
            #expect(try String(contentsOfFile: desk.documents.appending(names[0]).string, encoding: .utf8) == "theirs\n")
        }
    }

    @Test("D-08: a document that is open in two processes shows the same after each save")
    func twoProcesses() async throws {
        try await withDesk { desk in
            try await desk.texts("new", "Letter", "--content", "begin\n")
            var tools: [RunningTool] = []
            var inputs: [Int32] = []
            for index in 0..<2 {
                let pipe = desk.device.home.appending("pipe\(index)")
                try #require(mkfifo(pipe.string, 0o600) == 0)
                tools.append(
                    try await RunningTool("/bin/sh", ["-c", "exec \(Tool.path("texts")) follow Letter < \(pipe)"], environment: desk.environment))
                inputs.append(open(pipe.string, O_WRONLY))
            }
            let lines = tools.map { $0.lines.limited("a line of the text").makeAsyncIterator() }
            func shows(_ index: Int, _ line: String) async throws { while let next = try await lines[index].next(), next != line {} }
            for index in 0..<2 { try await shows(index, "begin") }
            for round in 0..<6 {
                let line = "line \(round)"
                _ = (line + "\n").withCString { write(inputs[round % 2], $0, strlen($0)) }
                for index in 0..<2 { try await shows(index, line) }
            }
            for input in inputs { close(input) }
            for tool in tools { #expect(try await tool.end().status == 0) }
            #expect(try await desk.texts("show", "Letter").output == "begin\n" + (0..<6).map { "line \($0)\n" }.joined())
            #expect(try desk.names() == ["Letter.txt"])
        }
    }
}
