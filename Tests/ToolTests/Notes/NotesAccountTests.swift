import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The notes example as its user signs in and out, with real processes.
@Suite(.timeLimit(.minutes(40)))
struct NotesAccountTests {
    /// Runs a body with devices that have never been signed in.
    private func withSignedOut(_ count: Int, _ body: ([ToolDevice]) async throws -> Void) async throws {
        try await withDevices(count) { devices in
            for device in devices { try await device.signOut() }
            try await body(devices)
        }
    }

    @Test("First launch, signed out: notes are added, edited, listed, removed and imported in the local file, and no container is made")
    func signedOut() async throws {
        try await withSignedOut(1) { devices in
            let device = devices[0]
            let id = try await device.add("Milk")
            #expect(try await device.run("notes", "edit", id, "--body", "one litre").status == 0)
            #expect(try await device.list() == [.init(id: id, title: "Milk", body: "one litre")])
            let file = device.root.removingLastComponent().appending("some.csv")
            try Data("title\nBread\n".utf8).write(to: URL(filePath: file.string))
            let imported = try await device.run("notes", "import", file.string)
            #expect(imported.status == 0 && imported.errors.isEmpty, "\(imported)")
            #expect(try await device.run("notes", "rm", id).status == 0)
            #expect(try await device.titles() == ["Bread"])
            let place = try await device.place()
            #expect(place.place == "local" && place.account == nil && place.file.contains("/local~"), "\(place)")
            let status = try await device.run("notes", "status")
            #expect(status.status == 0 && status.output.contains("place: local; nobody is signed in"), "\(status)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: device.root.string).isEmpty)
        }
    }

    @Test(
        "What concerns all devices of an account is refused while nobody is signed in, with the command that signs in, and changes nothing",
        arguments: [["clear", "--yes"], ["compact"], ["rebuild"]])
    func refused(command: [String]) async throws {
        try await withSignedOut(1) { devices in
            try await devices[0].add("Milk")
            let outcome = try await Tool.run("notes", command + ["--home", devices[0].home.string])
            #expect(outcome.status == 1 && outcome.output.isEmpty, "\(outcome)")
            #expect(outcome.errors.contains("Nobody is signed in at \(devices[0].home)"), "\(outcome)")
            #expect(outcome.errors.contains("ubcontrol sign-in ACCOUNT") && outcome.errors.split(separator: "\n").count == 1, "\(outcome)")
            #expect(try await devices[0].titles() == ["Milk"])
        }
    }

    @Test("A seed that is filled in while signed out joins the account once, also if another device has filled it in")
    func seeded() async throws {
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            let seed = device.root.removingLastComponent().appending("Seed.sqlite")
            let sql = """
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                INSERT INTO note VALUES ('1', 'One', NULL, '2014'), ('2', 'Two', NULL, '2014');
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", seed.string, sql]).status == 0)
            try await device.signOut()
            for each in devices {
                let seeded = try await each.run("notes", "seed", seed.string, "--token", "numbers")
                #expect(seeded.output == "Seeded 2 notes, passed over 0.\n" && seeded.errors.isEmpty, "\(seeded)")
            }
            try await device.signIn(to: "alice")
            for each in [device, other, device] { #expect(try await each.titles() == ["One", "Two"]) }
        }
    }

    @Test("Sign in: the notes from before join the account, go out, and are on the other device, each once")
    func signIn() async throws {
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            try await device.signOut()
            try await other.add("Theirs")
            let id = try await device.add("Mine")
            try await device.signIn(to: "alice")
            #expect(try await device.titles() == ["Mine", "Theirs"])
            let place = try await device.place()
            #expect(place.place == "account" && place.account == "alice" && place.unpublished == 0, "\(place)")
            #expect(try await other.titles() == ["Mine", "Theirs"])
            // It is the note from before, and can be edited there.
            #expect(try await other.run("notes", "edit", id, "--title", "Ours").status == 0)
            for each in [device, other, device] { #expect(try await each.titles() == ["Ours", "Theirs"]) }
            #expect(try device.logs().count == 3)
        }
    }

    @Test("Sign out: the account's notes are not shown, and stay for the next sign-in; notes from in between come along")
    func signOut() async throws {
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            try await device.add("Milk")
            try await device.signOut()
            #expect(try await device.titles().isEmpty)
            #expect(try await device.place().place == "local")
            try await device.add("In between")
            #expect(try await device.titles() == ["In between"])
            #expect(try await other.titles() == ["Milk"])
            try await device.signIn(to: "alice")
            #expect(try await device.titles() == ["In between", "Milk"])
            #expect(try await other.titles() == ["In between", "Milk"])
            // The local file is empty now.
            try await device.signOut()
            #expect(try await device.titles().isEmpty)
        }
    }

    @Test("Another account has its own notes; the first one's are untouched, and are there when it comes back, with what others wrote meanwhile")
    func anotherAccount() async throws {
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            try await device.add("Alice's")
            try await device.signIn(to: "bob")
            #expect(try await device.titles().isEmpty)
            try await device.add("Bob's")
            #expect(try await device.titles() == ["Bob's"])
            #expect(try await device.place().account == "bob")
            #expect(try await other.titles() == ["Alice's"])
            try await other.add("Meanwhile")
            try await device.signIn(to: "alice")
            #expect(try await device.titles() == ["Alice's", "Meanwhile"])
            try await device.signIn(to: "bob")
            #expect(try await device.titles() == ["Bob's"])
        }
    }

    @Test("A new device waits for the account's content before it lists or edits; with --offline it does not")
    func firstLook() async throws {
        try await withDevices(2) { devices in
            let (writer, device) = (devices[0], devices[1])
            let id = try await writer.add("Milk")
            let offline = try await device.run("notes", "list", "--json", "--offline")
            #expect(offline.status == 0 && offline.output.filter { !$0.isWhitespace } == "[]", "\(offline)")
            let before = try await device.run("notes", "where", "--json", "--offline")
            #expect(before.output.contains(#""place":"fallback""#), "\(before)")
            #expect(try await device.run("notes", "edit", id, "--title", "Oat milk").status == 0)
            #expect(try await device.place().place == "account")
            #expect(try await writer.titles() == ["Oat milk"])
        }
    }

    @Test("A save before the account's content can be read is kept in the fallback file, with a warning, and joins when it can be read")
    func fallback() async throws {
        try await withDevices(2) { devices in
            let (writer, device) = (devices[0], devices[1])
            try await writer.add("Milk")
            let away = FilePath(device.root.string + "-away")
            try FileManager.default.moveItem(atPath: device.root.string, toPath: away.string)
            let added = try await device.run("notes", "add", "Bread")
            #expect(added.status == 0 && added.errors.hasPrefix("Saved on this device only: "), "\(added)")
            #expect(added.errors.contains(device.root.string), "\(added)")
            let place = try await device.place()
            #expect(place.place == "fallback" && place.account == "alice", "\(place)")
            let offline = try await device.run("notes", "list", "--offline")
            #expect(offline.status == 0 && offline.output.hasSuffix("  Bread\n"), "\(offline)")
            let cleared = try await device.run("notes", "clear", "--yes")
            #expect(cleared.status == 1 && cleared.errors.contains(device.root.string), "\(cleared)")
            try FileManager.default.moveItem(atPath: away.string, toPath: device.root.string)
            #expect(try await device.titles() == ["Bread", "Milk"])
            #expect(try await writer.titles() == ["Bread", "Milk"])
            #expect(try await device.place().place == "account")
        }
    }

    @Test("notes run follows the account: it prints whose notes are shown after each sign-in and sign-out, and imports from then on")
    func run() async throws {
        struct Line: Decodable {
            var event: String
            var place: String?
            var account: String?
            var inserted: Int?
        }
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            try await device.signOut()
            let running = try await RunningTool("notes", ["run", "--json", "--home", device.home.string])
            let lines = running.lines.limited("a line of notes run", limit: .seconds(120)).makeAsyncIterator()
            func next(_ event: String) async throws -> Line {
                while let text = try await lines.next() {
                    let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
                    if line.event == event { return line }
                }
                throw Ended(event: event)
            }
            /// Returns the next place that lasts.
            func moved() async throws -> Line {
                while true {
                    let line = try await next("moved")
                    if line.place != "fallback" { return line }
                }
            }
            #expect(try await next("ready").place == "local")
            try await device.signIn(to: "alice")
            let first = try await moved()
            #expect(first.place == "account" && first.account == "alice", "\(first)")
            try await other.add("Milk")
            #expect(try await next("imported").inserted == 1)
            try await device.signIn(to: "bob")
            #expect(try await moved().account == "bob")
            try await device.signOut()
            let last = try await moved()
            #expect(last.place == "local" && last.account == nil, "\(last)")
            #expect(try await running.stop().status == 0)
            // Started again, it tells only where it is.
            let again = try await RunningTool("notes", ["run", "--home", device.home.string])
            let text = again.lines.limited("ready", limit: .seconds(120)).makeAsyncIterator()
            #expect(try await text.next() == "ready")
            try await device.signIn(to: "alice")
            #expect(try await text.next() == "moved: account of alice (accountAdded)")
            #expect(try await again.stop().status == 0)
        }
    }

    @Test("Remove everything: all devices of the account are empty, also one that was off, nothing comes back, and another account keeps its notes")
    func removeEverything() async throws {
        try await withDevices(3) { devices in
            let (device, other, off) = (devices[0], devices[1], devices[2])
            try await device.signIn(to: "bob")
            try await device.add("Bob's")
            try await device.signIn(to: "alice")
            try await device.add("Milk")
            for each in [other, off] { #expect(try await each.titles() == ["Milk"]) }
            let cleared = try await device.run("notes", "clear", "--yes")
            #expect(cleared.status == 0 && cleared.output == "Removed every note.\n", "\(cleared)")
            for each in [device, other, device] { #expect(try await each.titles().isEmpty) }
            try await other.add("New")
            for each in [off, device, other, off] { #expect(try await each.titles() == ["New"]) }
            // A sign-out and a sign-in bring back nothing either.
            try await off.signOut()
            try await off.signIn(to: "alice")
            #expect(try await off.titles() == ["New"])
            try await device.signIn(to: "bob")
            #expect(try await device.titles() == ["Bob's"])
        }
    }

    @Test("Notes from before the notebook synced are in the local file at the first launch, and go to the account that signs in first, once")
    func existingDatabase() async throws {
        try await withSignedOut(2) { devices in
            let (device, other) = (devices[0], devices[1])
            let plain = device.home.appending("Notes/Notes.sqlite")
            try FileManager.default.createDirectory(atPath: plain.removingLastComponent().string, withIntermediateDirectories: true)
            let sql = """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                INSERT INTO note VALUES ('1', 'Old', NULL, '2014');
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", plain.string, sql]).status == 0)
            #expect(try await device.titles() == ["Old"])
            try await device.add("Later")
            for each in devices { try await each.signIn(to: "alice") }
            for each in [device, other, device] { #expect(try await each.titles() == ["Later", "Old"]) }
            // The account that comes next has none of them.
            try await device.signIn(to: "bob")
            #expect(try await device.titles().isEmpty)
        }
    }
}

/// The program has ended before it printed an event.
private struct Ended: Error {
    var event: String
}

extension ToolDevice {
    /// The output of `notes where --json`.
    struct Place: Decodable {
        var place: String
        var account: String?
        var file: String
        var unpublished: Int
    }

    func place() async throws -> Place {
        let outcome = try await run("notes", "where", "--json")
        try #require(outcome.status == 0, "\(outcome)")
        return try JSONDecoder().decode(Place.self, from: Data(outcome.output.utf8))
    }

    /// Adds a note without a warning, and returns its identifier.
    @discardableResult
    fileprivate func add(_ title: String) async throws -> String {
        let outcome = try await run("notes", "add", title)
        try #require(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome)")
        return outcome.output.trimmingCharacters(in: .newlines)
    }

    /// The titles, sorted, after everything in the container has been read.
    fileprivate func titles() async throws -> [String] { try await list().map(\.title).sorted() }

    fileprivate func signIn(to account: String) async throws {
        let outcome = try await run("ubcontrol", "sign-in", account, "--containers", root.string)
        try #require(outcome.status == 0, "\(outcome)")
    }

    fileprivate func signOut() async throws {
        let outcome = try await run("ubcontrol", "sign-out")
        try #require(outcome.status == 0, "\(outcome)")
    }
}
