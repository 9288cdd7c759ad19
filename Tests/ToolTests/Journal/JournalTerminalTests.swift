import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The journal of Examples/Journal in a terminal, where somebody types while another device writes.
struct JournalTerminalTests {
    private func command(_ device: ToolDevice) -> String { "\(Tool.path("journal")) --home \(device.home); echo ended $?" }

    /// Runs a body with two devices, the first of which shows the journal on a terminal.
    private func withScreen(_ body: (_ devices: [ToolDevice], TestTerminal) async throws -> Void) async throws {
        try await withDevices(2) { devices in
            try await TestTerminal.with { terminal in
                try await terminal.type(command(devices[0]))
                try await terminal.shows("Journal of alice · online")
                try await body(devices, terminal)
                try await terminal.press("q")
                try await terminal.shows("the shell again") { rows in rows.contains("ended 0") && !rows.contains { $0.hasPrefix("Journal") } }
            }
        }
    }

    /// Runs the program on a device, and returns the first line of its output.
    @discardableResult
    private func journal(_ device: ToolDevice, _ arguments: String...) async throws -> String {
        let outcome = try await Tool.run("journal", arguments + ["--home", device.home.string])
        try #require(outcome.status == 0, "\(arguments): \(outcome)")
        return outcome.output.split(separator: "\n").first.map(String.init) ?? ""
    }

    @Test("A post that is typed reaches the other device, what that device writes appears without a key, and a form takes it in field by field")
    func following() async throws {
        try await withScreen { devices, terminal in
            try await terminal.shows("No posts yet: n writes one.")
            try await terminal.press("n")
            try await terminal.write("Hike")
            try await terminal.press("Tab")
            try await terminal.write("Up.")
            try await terminal.press("Tab")
            try await terminal.write("Summer, alps")
            try await terminal.press("C-s")
            try await terminal.shows("the post") { $0.contains { $0.hasPrefix(">") && $0.hasSuffix("Hike #alps #summer") } }
            try await until("the other device has the post") { try await self.journal(devices[1], "list").hasSuffix("Hike #alps #summer") }
            let id = String(try await journal(devices[1], "list").prefix(8))

            try await journal(devices[1], "add", "Sail", "--tag", "summer")
            try await terminal.shows("Sail #summer")
            try await terminal.press("/")
            try await terminal.write("hik")
            try await terminal.press("Enter")
            try await terminal.shows("the post that matches alone") { rows in
                rows.contains { $0.hasSuffix("Hike #alps #summer") } && !rows.contains { $0.contains("Sail") }
            }

            try await terminal.press("e")
            try await terminal.write("!")
            try await terminal.shows("> title: Hike!▏")
            try await journal(devices[1], "edit", id, "--title", "Long hike", "--body", "Up and down.")
            try await terminal.shows("! another device wrote: Long hike")
            try await terminal.shows("body: Up and down.")
            try await terminal.press("C-s")
            try await terminal.shows("Saved; u undoes it.")
            try await terminal.press("u")
            try await terminal.shows("Undone; r redoes it.")
            try await terminal.shows("Long hike #alps #summer")
            try await terminal.press("Enter")
            try await terminal.shows("the whole post") { $0.contains("Up and down.") }
            try await terminal.press("Escape")
        }
    }

    @Test("A second program of one device adds a post, and the screen shows it by itself")
    func otherProgram() async throws {
        try await withScreen { devices, terminal in
            try await journal(devices[0], "add", "Beside the screen")
            try await terminal.shows("Beside the screen")
            try await terminal.resize(columns: 30, rows: 8)
            try await terminal.shows("a small screen") { $0.contains { $0.hasPrefix("> ") } && $0.allSatisfy { $0.count <= 30 } }
        }
    }

    @Test("I-05: Offline, signed out, with another account and after a wipe the journal goes on, each by a key, and no post is lost")
    func life() async throws {
        try await withScreen { devices, terminal in
            func add(_ title: String) async throws {
                try await terminal.press("n")
                try await terminal.write(title)
                try await terminal.press("C-s")
                try await terminal.shows("the new post \(title)") { $0.contains { $0.hasPrefix(">") && $0.hasSuffix(title) } }
            }
            try await terminal.press("o")
            try await terminal.shows("Journal of alice · offline")
            try await add("Written offline")
            #expect(try await journal(devices[1], "list").isEmpty)
            try await terminal.press("o")
            try await terminal.shows("Journal of alice · online")
            try await until("the other device has the post") { try await self.journal(devices[1], "list").hasSuffix("Written offline") }

            try await terminal.press("S")
            try await terminal.shows("Journal of this device · nobody is signed in · 0 posts")
            try await add("Written signed out")
            try await terminal.press("S")
            try await terminal.write("alice")
            try await terminal.press("Enter")
            try await terminal.shows("both posts") { $0[0].hasPrefix("Journal of alice · online · 2 posts") }

            try await terminal.press("A")
            try await terminal.write("bob")
            try await terminal.press("Enter")
            try await terminal.shows("bob's journal") { $0[0].hasPrefix("Journal of bob · online · 0 posts") }
            try await terminal.press("A")
            try await terminal.write("alice")
            try await terminal.press("Enter")
            try await terminal.shows("alice's journal") { $0[0].hasPrefix("Journal of alice · online · 2 posts") }

            let container = devices[0].root.appending("alice/org.example.journal").string
            try await terminal.press("W", "y")
            try await terminal.shows("Journal of alice · suspended")
            #expect(!FileManager.default.fileExists(atPath: container))
            try await add("Written after the wipe")
            try await terminal.press("R", "y")
            try await terminal.shows("the journal is back") { $0[0].hasPrefix("Journal of alice · online · 3 posts") }
            #expect(FileManager.default.fileExists(atPath: container))
        }
    }

    @Test("Without a terminal the screen is refused, and what the screen does is done by subcommands")
    func subcommands() async throws {
        try await withDevices(2) { devices in
            let (desk, phone) = (devices[0], devices[1])
            let refused = try await Tool.run("journal", ["--home", desk.home.string])
            #expect(refused.status == 1 && refused.errors.contains("journal list"), "\(refused)")
            let first = try await journal(desk, "add", "Hike", "--body", "Alpine lakes", "--tag", "summer")
            let second = try await journal(desk, "add", "Sail")
            for id in [first, second] { try await journal(phone, "pin", String(id.prefix(8))) }
            #expect(try await journal(desk, "list").hasSuffix("Hike #summer"))
            try await journal(desk, "move", second)
            #expect(try await journal(phone, "list").hasSuffix("Sail"))
            try await journal(phone, "tag", first, "Alps", "lakes")
            try await journal(desk, "tag", first, "lakes", "--remove")
            #expect(try await journal(phone, "search", "lak").hasSuffix("Hike #alps #summer"))
            #expect(try await journal(phone, "list", "--tag", "alps").contains("Hike"))

            let file = desk.home.appending("grey.pgm").string
            let data = Data("P5 2 1 255\n".utf8) + Data([255, 0])
            try data.write(to: URL(filePath: file))
            #expect(try await journal(desk, "attach", first, file) == "████████████            ")
            let copy = phone.home.appending("copy.pgm").string
            try await journal(phone, "export-attachment", first, "grey.pgm", "--to", copy)
            #expect(try Data(contentsOf: URL(filePath: copy)) == data)
            let again = try await Tool.run("journal", ["export-attachment", first, "grey.pgm", "--to", copy, "--home", phone.home.string])
            #expect(again.status == 1 && again.errors.contains("exists already"), "\(again)")

            try await journal(phone, "edit", first, "--title", "Long hike")
            #expect(try await journal(desk, "show", first) == "Long hike")
            #expect(try await journal(desk, "list", "--json") == "[")
            try await journal(phone, "rm", first)
            #expect(try await journal(desk, "search", "hike").isEmpty)
            let unknown = try await Tool.run("journal", ["show", first, "--home", desk.home.string])
            #expect(unknown.status == 1 && unknown.errors.contains("No post has the identifier"), "\(unknown)")
            for wrong in [["edit", second], ["move", second, "--up", "0"], ["move", second, "--up", "1", "--down", "1"], ["sing"]] {
                #expect(try await Tool.run("journal", wrong + ["--home", desk.home.string]).status == 64, "\(wrong)")
            }
        }
    }
}
