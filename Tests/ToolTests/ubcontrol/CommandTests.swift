import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The programs as a person meets them: what they print, how they end, what they say of bad input.
struct CommandTests {
    /// Expects one clear line on standard error, and a failure.
    private func expectRefusal(_ outcome: Tool.Outcome, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(outcome.status != 0 && outcome.signal == nil, "\(outcome)", sourceLocation: sourceLocation)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 1, "\(outcome.errors)", sourceLocation: sourceLocation)
        for part in parts { #expect(outcome.errors.contains(part), "\(outcome.errors)", sourceLocation: sourceLocation) }
    }

    @Test("ubcontrol signs in, tells the account, and signs out")
    func account() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("ubcontrol", "account").output == "alice, containers in \(device.root)\n")
            let json = try await device.run("ubcontrol", "account", "--json").output
            #expect(json == #"{"account":"alice","containers":"\#(device.root)","home":"\#(device.home)"}"# + "\n")
            #expect(try await device.run("ubcontrol", "sign-in", "bob").output.hasPrefix("Signed out of alice.\nSigned in to bob"))
            #expect(try await device.run("ubcontrol", "sign-out").output == "Signed out of bob.\n")
            let out = try await device.run("ubcontrol", "account")
            #expect(out.output == "Signed out.\n" && out.status == 1)
            #expect(try await device.list().isEmpty)
            expectRefusal(try await device.run("notes", "clear", "--yes"), "ubcontrol sign-in", device.home.string)
        }
    }

    @Test("notes adds, edits, lists, removes and imports, on two devices")
    func notes() async throws {
        try await withDevices(2) { devices in
            let id = try await devices[0].run("notes", "add", "Milk", "--body", "one litre").output.trimmingCharacters(in: .newlines)
            #expect(try await devices[1].list() == [.init(id: id, title: "Milk", body: "one litre")])
            #expect(try await devices[1].run("notes", "edit", id, "--body", "two litres").status == 0)
            #expect(try await devices[0].list() == [.init(id: id, title: "Milk", body: "two litres")])
            let file = devices[0].root.removingLastComponent().appending("some.csv")
            try Data("id,title,body\nx,\"Title, quoted\",\n\(id),Bread,\"two\nlines\"\n".utf8).write(to: URL(filePath: file.string))
            #expect(try await devices[0].run("notes", "import", file.string).output == "Imported 2 notes.\n")
            let imported = try await devices[1].list()
            #expect(Set(imported) == [.init(id: id, title: "Bread", body: "two\nlines"), .init(id: "x", title: "Title, quoted", body: nil)])
            #expect(try await devices[0].run("notes", "rm", "x").status == 0)
            #expect(try await devices[1].list().map(\.id) == [id])
            expectRefusal(try await devices[0].run("notes", "rm", "x"), "x", "notes list")
            expectRefusal(try await devices[0].run("notes", "import", "/nowhere.csv"), "/nowhere.csv")
        }
    }

    @Test("ubcontrol store lists what lost a conflict, and restores it for every device")
    func conflicts() async throws {
        try await withDevices(2) { devices in
            let id = try await devices[0].run("notes", "add", "Milk").output.trimmingCharacters(in: .newlines)
            _ = try await devices[1].list()
            // Two devices that do not hear of each other.
            try await devices[0].apart { try await devices[0].run("notes", "edit", id, "--body", "mine") }
            try await devices[1].run("notes", "edit", id, "--body", "theirs")
            for device in devices + devices { _ = try await device.list() }
            let store = try devices[0].storeFile()
            let app = store.removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
                .appending("Notes.sqlite")
            let listed = try await Tool.run("ubcontrol", ["store", "conflicts", app.string])
            let body = try #require(try await devices[0].list().first?.body)
            let (lost, number) = (body == "mine" ? "theirs" : "mine", "1")
            #expect(listed.output == "\(number)  note/t:\(id)  lost to a later write: body=\(lost) (now body=\(body))\n")
            let json = try await Tool.run("ubcontrol", ["store", "conflicts", store.string, "--json"]).output
            #expect(json.contains(#""lost":{"body":"\#(lost)"}"#) && json.contains(#""reason":"laterWrite""#))
            #expect(try await Tool.run("ubcontrol", ["store", "restore", store.string, number]).output == "Restored note/t:\(id).\n")
            #expect(try await Tool.run("ubcontrol", ["store", "conflicts", store.string]).output.isEmpty)
            for device in devices + devices { _ = try await device.list() }
            #expect(try await devices[1].list().first?.body == lost)
            expectRefusal(try await Tool.run("ubcontrol", ["store", "restore", store.string, "9"]), "no conflict 9")
            expectRefusal(try await Tool.run("ubcontrol", ["store", "conflicts", "/nowhere/Notes.sqlite"]), "/nowhere")
            expectRefusal(try await Tool.run("ubcontrol", ["store", "conflicts", "/etc/passwd"]), "/etc/passwd")
        }
    }

    @Test("a store at rest exchanges no more: what its own exchange writes does not wake it for ever")
    func rest() async throws {
        try await withDevices(2) { devices in
            let running = try await RunningTool("notes", ["run", "--home", devices[0].home.string])
            let lines = running.lines.limited().makeAsyncIterator()
            #expect(try await lines.next() == "ready")
            try await devices[1].run("notes", "add", "Milk")
            #expect(try await lines.next() == "imported 1 inserted, 0 updated, 0 deleted")
            let store = try devices[0].storeFile()
            let lock = store.string + "-exchange"
            func exchanged() throws -> Date { try #require(FileManager.default.attributesOfItem(atPath: lock)[.modificationDate] as? Date) }
            var (quiet, rounds, last) = (0, 0, Date.distantPast)
            while quiet < 20, rounds < 400 {
                // Takes as long as an exchange, or longer.
                _ = try await Tool.run("ubcontrol", ["store", "conflicts", store.string])
                let time = try exchanged()
                (quiet, last) = (time == last ? quiet + 1 : 0, time)
                rounds += 1
            }
            #expect(quiet == 20, "after \(rounds) rounds")
            #expect(try await running.stop().status == 0)
        }
    }

    @Test("notes run prints each import, and ends on SIGTERM with status 0")
    func run() async throws {
        try await withDevices(2) { devices in
            let running = try await RunningTool("notes", ["run", "--home", devices[0].home.string])
            let lines = running.lines.limited().makeAsyncIterator()
            #expect(try await lines.next() == "ready")
            try await devices[1].run("notes", "add", "Milk")
            #expect(try await lines.next() == "imported 1 inserted, 0 updated, 0 deleted")
            #expect(try await running.stop().status == 0)
        }
    }

    @Test("ubwatch events prints ready first, then a line a change with the documented keys")
    func events() async throws {
        try await withDevices(1) { devices in
            let directory = devices[0].root
            let watching = try await RunningTool("ubwatch", ["events", directory.string, "--json"])
            let lines = watching.lines.limited().makeAsyncIterator()
            func next() async throws -> [String: Any] {
                let line = try #require(try await lines.next())
                return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            }
            #expect(try await next()["kind"] as? String == "ready")
            let file = directory.appending("a")
            try Data("1".utf8).write(to: URL(filePath: file.string))
            let created = try await next()
            #expect(created["kind"] as? String == "created")
            #expect(created["path"] as? String == file.string)
            #expect(created["isDirectory"] as? Bool == false)
            #expect(created["tick"] is Int)
            #expect((created["time"] as? String)?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
            #expect(try await watching.stop().status == 0)
        }
    }

    @Test("ubwatch status tells peers, knowledge and lag, and log tells a log, each also as JSON")
    func status() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "Milk")
            #expect(try await devices[1].list().count == 1)
            try await devices[0].run("notes", "add", "Bread")
            let output = try await Tool.run("ubwatch", ["status", devices[0].container.string, "--json"]).output
            let status = try #require(try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])
            #expect(status["account"] as? String == "alice")
            #expect(status["container"] as? String == "org.example.notes")
            let store = try #require((status["stores"] as? [[String: Any]])?.first)
            #expect(store["name"] as? String == "Notes")
            #expect(store["logs"] as? Int == 2)
            let peers = try #require(store["peers"] as? [[String: Any]])
            let lags = peers.flatMap { $0["knowledge"] as? [[String: Any]] ?? [] }
            #expect(lags.compactMap { $0["behind"] as? Int }.sorted() == [0, 1])
            let text = try await Tool.run("ubwatch", ["status", devices[0].container.string]).output
            #expect(
                text.contains("1 behind") && text.contains("wrote 0 logs, 0 bytes") && text.contains("store Notes, epoch 1: 2 logs")
                    && !text.contains("\u{1B}"))
            let log = try #require(try devices[0].logs().last)
            #expect(try await Tool.run("ubwatch", ["log", log.string]).output.contains("title = Bread"))
            let json = try await Tool.run("ubwatch", ["log", log.string, "--json"]).output
            let report = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
            #expect(report["sequence"] as? Int == 2 && report["fault"] == nil)
        }
    }

    @Test("ubwatch log tells of a damaged log with exit status 1, and refuses what is no log")
    func damagedLog() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "Milk")
            let log = try #require(try devices[0].logs().first)
            var bytes = try Data(contentsOf: URL(filePath: log.string))
            bytes[bytes.count - 3] ^= 0x20
            try bytes.write(to: URL(filePath: log.string))
            let outcome = try await Tool.run("ubwatch", ["log", log.string])
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains(log.string) && outcome.errors.contains("hash"))
            try Data("not a log".utf8).write(to: URL(filePath: log.string))
            expectRefusal(try await Tool.run("ubwatch", ["log", log.string]), log.string, "not a log")
            expectRefusal(try await Tool.run("ubwatch", ["log", "/nowhere"]), "/nowhere")
            let container = devices[0].container.string
            expectRefusal(try await Tool.run("ubwatch", ["log", container]), "\(container) is a directory; name a log in it, CoreData/")
            expectRefusal(try await Tool.run("ubwatch", ["status", devices[0].home.string]), devices[0].home.string, "not a container")
            expectRefusal(try await Tool.run("ubwatch", ["status", "/nowhere"]), "/nowhere")
        }
    }

    @Test("a corrupt log does not stop notes, which names it")
    func corruptLog() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "Milk")
            let log = try #require(try devices[0].logs().first)
            try Data("garbage".utf8).write(to: URL(filePath: log.string))
            try await devices[1].run("notes", "add", "Bread")
            #expect(try await devices[1].list().map(\.title) == ["Bread"])
            let status = try await devices[1].run("notes", "status").output
            let name = try #require(log.lastComponent).string
            #expect(status.contains("unusable: ") && status.contains(name))
        }
    }

    @Test("a store file that is not SQLite is set aside, which is said with its path, and made again from the container")
    func notSQLite() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "Milk")
            let file = try devices[0].storeFile()
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file.string + suffix) }
            let garbage = Data(repeating: 7, count: 5000)
            try garbage.write(to: URL(filePath: file.string))
            let listed = try await devices[0].run("notes", "list")
            #expect(listed.status == 0 && listed.output.hasSuffix("  Milk\n"), "\(listed)")
            let content = file.removingLastComponent().removingLastComponent()
            let aside = try #require(FileManager.default.contentsOfDirectory(atPath: content.string).first { $0.hasPrefix("damaged-") })
            let moved = content.appending(aside).appending(file.lastComponent!)
            #expect(listed.errors.contains("\(file): it cannot be read, and is now at \(moved)"), "\(listed)")
            #expect(try Data(contentsOf: URL(filePath: moved.string)) == garbage)
            #expect(try devices[0].storeFile() == file)
            #expect(try await devices[0].list().map(\.title) == ["Milk"])
        }
    }

    @Test("a missing containers root, an unknown option and a hostile account are refused")
    func badInput() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            expectRefusal(try await device.run("ubcontrol", "sign-in", "alice", "--containers", "/nowhere/at/all"), "/nowhere/at/all", "create it")
            expectRefusal(try await device.run("ubcontrol", "sign-in", "a/b"), "slash")
            try FileManager.default.removeItem(atPath: device.root.string)
            expectRefusal(try await device.run("notes", "list"), device.root.string)
            let unknown = try await device.run("notes", "list", "--frobnicate")
            #expect(unknown.status == 64 && unknown.errors.contains("--frobnicate"))
        }
    }

    @Test("an unwritable home is refused with its path")
    func unwritableHome() async throws {
        try await withDevices(1) { devices in
            // Root passes every mode: the program runs as somebody else.
            let home = devices[0].root.appending("unwritable")
            try FileManager.default.createDirectory(atPath: home.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o555])
            let outcome = try await Tool.run(
                "/usr/bin/setpriv",
                [
                    "--reuid=65534", "--regid=65534", "--clear-groups", Tool.path("ubcontrol").string, "sign-in", "alice", "--home",
                    home.appending("x").string,
                ])
            expectRefusal(outcome, home.string, "UBIQUITY_HOME")
        }
    }
}
