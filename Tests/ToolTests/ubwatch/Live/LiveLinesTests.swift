import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubwatch CONTAINER` where there is no terminal.
@Suite(.timeLimit(.minutes(40)))
struct LiveLinesTests {
    private struct Change: Decodable {
        var time: Date
        var kind: String
        var level: Int
        var text: String
        var container: String
        var path: String?
        var isRemoved: Bool?
        var store: String?
        var peer: String?
        var epoch: Int?
        var sequence: Int?
        var isOwn: Bool?
    }

    private func decode(_ line: String) throws -> Change {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return try decoder.decode(Change.self, from: Data(line.utf8))
    }

    @Test("Without a terminal each change is one line, the state first")
    func plain() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "one")
            let running = try await RunningTool("ubwatch", [devices[0].container.string, "--home", devices[0].home.string])
            var lines: [String] = []
            for await line in running.lines {
                lines.append(line)
                if lines.count == 1 { try await devices[0].run("notes", "add", "two") }
                if line.contains("Notes: log 2 of") { try await devices[1].run("notes", "add", "three") }
                if line.contains("is attached") { break }
            }
            let outcome = try await running.stop()
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
            // The time, and nothing that only a terminal understands.
            #expect(lines.allSatisfy { $0.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ [^\u{1B}]+/) != nil }, "\(lines)")
            #expect(["idle", "uploading", "downloading", "setting up"].contains { lines[0].contains(" \($0)") }, "\(lines)")
            #expect(!lines.contains { $0.contains("receipt") })
        }
    }

    @Test("With --json each change is one object, which names the file, the store, the peer and whose it is")
    func json() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "one")
            let container = devices[0].container
            let running = try await RunningTool("ubwatch", [container.string, "--json", "--level", "3", "--home", devices[0].home.string])
            var changes: [Change] = []
            for await line in running.lines {
                let change = try decode(line)
                changes.append(change)
                if changes.count == 1 { try await devices[0].run("notes", "add", "two") }
                if change.kind == "log", change.isOwn == true { try await devices[1].run("notes", "add", "three") }
                if change.kind == "log", change.isOwn == false { break }
            }
            #expect(try await running.stop().status == 0)
            #expect(changes[0].kind == "state" && changes[0].level == 1)
            #expect(changes.allSatisfy { $0.container == container.string })
            let own = try #require(changes.first { $0.kind == "log" && $0.isOwn == true })
            #expect(own.store == "Notes" && own.epoch == 1 && own.sequence == 2 && own.level == 2 && own.isRemoved == false)
            let path = try #require(own.path)
            #expect(FileManager.default.fileExists(atPath: container.appending(path).string), "\(path)")
            #expect(path.contains(try #require(own.peer)))
            #expect(changes.contains { $0.kind == "attached" })
        }
    }

    @Test("A container that is wiped and comes back is told of, and so is this device's mark")
    func wiped() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            let running = try await RunningTool("ubwatch", [device.container.string, "--json", "--level", "1", "--home", device.home.string])
            let away = device.container.string + "-away"
            var texts: [String] = []
            for await line in running.lines {
                let change = try decode(line)
                texts.append(change.text)
                switch (change.kind, texts.count) {
                case ("state", 1): try FileManager.default.moveItem(atPath: device.container.string, toPath: away)
                case ("gone", _) where change.text.contains("moved away"):
                    try FileManager.default.moveItem(atPath: away, toPath: device.container.string)
                case ("back", _) where change.text == "the container is back":
                    let mark = try #require(
                        FileManager.default.contentsOfDirectory(atPath: device.container.appending(".ubiquity").string).first)
                    try FileManager.default.removeItem(atPath: device.container.appending(".ubiquity/\(mark)").string)
                default: break
                }
                // The watch of the files tells of the mark, and a look of the wipe: either may come first.
                let isMarkTold = texts.contains { $0.hasPrefix("the attachment mark of") && $0.hasSuffix("is gone") }
                if isMarkTold, texts.contains(where: { $0.contains("it has been wiped") }) { break }
            }
            #expect(try await running.stop().status == 0)
            #expect(texts.contains { $0.hasPrefix("the attachment mark of") && $0.hasSuffix("is gone") }, "\(texts)")
        }
    }

    @Test("A terminal that cannot draw, and --plain, are given lines", arguments: ["TERM=dumb %", "% --plain"])
    func dumbTerminal(_ form: String) async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            let program = "\(Tool.path("ubwatch")) \(devices[0].container) --home \(devices[0].home)"
            try await TestTerminal.with { terminal in
                try await terminal.type(form.replacing("%", with: program))
                let rows = try await terminal.shows("a line") {
                    $0.contains { $0.contains("Z idle") || $0.contains("Z setting up") || $0.contains("Z uploading") }
                }
                #expect(!rows.contains { $0.hasPrefix("exports") })
                try await terminal.press("C-c")
                try await terminal.type("echo status $?")
                try await terminal.shows("status 0")
            }
        }
    }

    @Test("--all tells of every container of the account; what is no container, and wrong usage, are refused with a remedy")
    func all() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            try await device.run("people", "add", "Ann", "--email", "ann@x")
            let running = try await RunningTool("ubwatch", ["--all", "--json", "--home", device.home.string])
            var containers: Set<String> = []
            for await line in running.lines {
                containers.insert(FilePath(try decode(line).container).lastComponent?.string ?? "")
                if containers.count == 2 { break }
            }
            #expect(try await running.stop().status == 0)
            #expect(containers.contains("org.example.notes"))
            let none = try await Tool.run("ubwatch", [device.home.string, "--home", device.home.string])
            #expect(none.status == 64 && none.errors.contains("\(device.home) is not a container; name <containers root>/<account>"), "\(none)")
            for arguments in [["--all", device.container.string], [], [device.container.string, "--level", "4"]] {
                #expect(try await Tool.run("ubwatch", arguments).status == 64, "\(arguments)")
            }
            let empty = try await Tool.run("ubwatch", ["--all", "--home", device.root.string])
            #expect(empty.status == 64 && empty.errors.contains("sign in"), "\(empty)")
        }
    }
}
