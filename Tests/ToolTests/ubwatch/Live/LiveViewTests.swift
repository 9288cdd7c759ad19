import Foundation
import SystemPackage
import Testing
import ToolProcesses

@testable import ubwatch

/// `ubwatch CONTAINER` in a real terminal.
@Suite(.timeLimit(.minutes(40)))
struct LiveViewTests {
    /// What a shell is told to run a device's view, in which colours are there whatever the environment of the tests says of them.
    private func command(_ device: ToolDevice, _ arguments: String = "", environment: String = "") -> String {
        "env -u NO_COLOR \(environment) \(Tool.path("ubwatch")) \(device.container) --home \(device.home) \(arguments)"
    }

    @Test("At 80 by 24 the view shows account, state, stores, peers against peers and the keys; q gives the terminal back as it was")
    func usual() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "one")
            try await devices[1].takeIn()
            try await devices[0].run("notes", "add", "two")
            try await TestTerminal.with { terminal in
                try await terminal.type("stty -g > \(devices[0].home)/before; echo before")
                try await terminal.shows("before")
                try await terminal.type(command(devices[0]) + "; ended=$?; stty -g > \(devices[0].home)/after; echo status $ended")
                let rows = try await terminal.shows("peers") { $0.contains { $0.contains("(here)") } }
                #expect(rows[0].hasPrefix("org.example.notes of alice"))
                #expect(rows.contains { $0.hasPrefix("Notes epoch 1, 2 logs of 2 peers, local storage 0") }, "\(rows)")
                #expect(rows.contains { $0.hasPrefix("exports ") } && rows.contains { $0.hasPrefix("imports ") })
                // The other has read one of this device's two logs.
                let lagging = rows.filter { $0.contains("1+1") }
                #expect(lagging.count == 1, "\(rows)")
                #expect(rows[23].hasPrefix("? help  q quit"))
                #expect(rows.count <= 25 && rows.allSatisfy { $0.count <= 80 })
                try await terminal.press("q")
                let after = try await terminal.shows("status 0")
                // What the shell showed before is back.
                #expect(after.contains { $0.contains("before") } && !after.contains { $0.contains("exports") }, "\(after)")
                try await terminal.type("echo again")
                try await terminal.shows("again")
                let settings = try ["before", "after"].map { try String(contentsOfFile: "\(devices[0].home)/\($0)", encoding: .utf8) }
                #expect(settings[0] == settings[1] && !settings[0].isEmpty)
            }
        }
    }

    @Test("A peer is looked into, and from there a log, which shows what ubwatch log prints; escape goes back")
    func lookingInside() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "Milk")
            let log = try #require(try devices[0].logs().first)
            let printed = try await Tool.run("ubwatch", ["log", log.string]).output
            try await TestTerminal.with(columns: 120, rows: 40) { terminal in
                try await terminal.type(command(devices[0]))
                try await terminal.shows("(here)")
                try await terminal.press("Enter")
                try await terminal.shows("Its logs, the newest first:")
                // Down to the last line, which is the log.
                try await terminal.press("End")
                try await terminal.press("Enter")
                let rows = try await terminal.shows("title = Milk")
                for line in printed.split(separator: "\n") {
                    #expect(
                        rows.contains { $0.hasPrefix(String(line).trimmingCharacters(in: .newlines)) || line.hasPrefix($0) && !$0.isEmpty }, "\(line)"
                    )
                }
                try await terminal.press("Escape")
                try await terminal.shows("Its logs, the newest first:")
                try await terminal.press("Escape")
                try await terminal.shows("? help")
                try await terminal.press("q")
                try await terminal.shows("$ ") { $0.last { !$0.isEmpty }?.hasPrefix("$") == true }
            }
        }
    }

    @Test("What changes while somebody watches is told in words, and counted in the graph; a pause holds the screen still")
    func changes() async throws {
        try await withDevices(2) { devices in
            try await devices[0].run("notes", "add", "one")
            try await TestTerminal.with { terminal in
                try await terminal.type(command(devices[0]))
                try await terminal.shows("(here)")
                try await terminal.press("6")
                try await devices[0].run("notes", "add", "two")
                try await terminal.shows("Notes: log 2 of")
                try await terminal.shows("graph") { $0.contains { $0.hasPrefix("exports") && $0.hasSuffix(" 1") } }
                try await terminal.press("p")
                try await terminal.shows("paused")
                try await devices[1].run("notes", "add", "three")
                let rows = try await terminal.shows("since")
                #expect(rows.contains { $0.hasPrefix("imports") && $0.hasSuffix(" 0") }, "\(rows)")
                try await terminal.press("p")
                try await terminal.shows("graph") { $0.contains { $0.hasPrefix("imports") && $0.hasSuffix(" 1") } }
                try await terminal.shows("Notes: log 1 of")
                // A receipt is told of at the finest level only.
                #expect(!(try await terminal.screen()).contains { $0.contains("(receipt") })
                try await terminal.press("l")
                // A device that has read something new leaves one.
                try await devices[0].run("notes", "add", "four")
                try await devices[1].takeIn()
                try await terminal.shows("(receipt")
                try await terminal.press("l")
                try await terminal.shows("level 1") { $0.contains { $0.contains("level 1") } && !$0.contains { $0.contains("Notes: log") } }
                try await terminal.press("q")
            }
        }
    }

    @Test("A container that is wiped is said to be gone, and to be back when it is, in the view that goes on")
    func wiped() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            try await TestTerminal.with { terminal in
                try await terminal.type(command(device))
                try await terminal.shows("(here)")
                try await terminal.press("6")
                try await device.apart {
                    try await terminal.shows("the container is gone: it was moved away")
                    try await terminal.shows("title") { $0[0].hasSuffix("gone") }
                }
                try await terminal.shows("the container is back")
                try await terminal.shows("title") { !$0[0].hasSuffix("gone") && $0[0].hasPrefix("org.example.notes of alice") }
                try FileManager.default.removeItem(atPath: device.container.string)
                try await terminal.shows("the container is gone: it was deleted")
                try await terminal.shows("title") { $0[0].hasSuffix("gone") }
                try await terminal.press("q")
            }
        }
    }

    @Test("The view fits the terminal that it is in: narrow, wide, and another size from one moment to the next")
    func sizes() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            try await TestTerminal.with(columns: 40, rows: 12) { terminal in
                try await terminal.type(command(devices[0]))
                let narrow = try await terminal.shows(" 1 Peers ")
                #expect(narrow[0].hasPrefix("org.example.notes"))
                #expect(narrow[11].hasPrefix("? help") && narrow.allSatisfy { $0.count <= 40 }, "\(narrow)")
                #expect(!narrow.contains { $0.hasPrefix("exports") })
                try await terminal.resize(columns: 160, rows: 40)
                let wide = try await terminal.shows("the changes beside") {
                    $0.contains { $0.contains("│") && $0.contains("Change") } && $0.count >= 40 && $0[39].hasPrefix("? help")
                }
                #expect(wide[39].hasPrefix("? help") && wide.contains { $0.hasPrefix("exports") }, "\(wide)")
                try await terminal.resize(columns: 20, rows: 4)
                try await terminal.shows("a tiny one") { $0.count <= 5 && $0[0].hasPrefix("org.example") }
                try await terminal.resize(columns: 80, rows: 24)
                try await terminal.shows("the usual one") { $0.count >= 24 && $0[23].hasPrefix("? help  q quit") }
                try await terminal.press("q")
            }
        }
    }

    @Test(
        "Colours are there, and gone with NO_COLOR and --no-color; what is chosen stands out in either case",
        arguments: ["", "NO_COLOR=1", "--no-color"])
    func colours(_ without: String) async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            try await TestTerminal.with { terminal in
                let isOption = without.hasPrefix("-")
                try await terminal.type(command(devices[0], isOption ? without : "", environment: isOption ? "" : without))
                try await terminal.shows("(here)")
                let text = try await terminal.screen(withStyles: true).joined(separator: "\n")
                let hasColour = ["\u{1B}[31m", "\u{1B}[32m", "\u{1B}[33m", "\u{1B}[34m"].contains { text.contains($0) } || text.contains(";32m")
                #expect(hasColour == without.isEmpty, "\(text.debugDescription)")
                #expect(text.contains("\u{1B}[7m") || text.contains("\u{1B}[1m\u{1B}[7m") || text.contains(";7m"))
                try await terminal.press("q")
            }
        }
    }

    @Test("Every key is told of by ?, and in --help")
    func help() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            let help = try await Tool.run("ubwatch", ["live", "--help"]).output
            try await TestTerminal.with(columns: 100, rows: 40) { terminal in
                try await terminal.type(command(devices[0]))
                try await terminal.shows("(here)")
                try await terminal.press("?")
                let lines = ViewHelp.lines.filter { !$0.text.isEmpty }
                try await terminal.shows("each line of the help") { rows in
                    lines.allSatisfy { line in rows.contains { $0.contains(line.text) } }
                }
                for line in lines {
                    #expect(line.keys.isEmpty || help.contains(line.keys), "\(line.keys)")
                }
                try await terminal.press("Escape")
                try await terminal.shows("(here)")
                try await terminal.press("q")
            }
        }
    }

    @Test("Signals that end it give the terminal back", arguments: ["TERM", "HUP", "INT"])
    func signals(_ name: String) async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            try await TestTerminal.with { terminal in
                try await terminal.type("stty -g > \(devices[0].home)/before")
                try await terminal.type(
                    "sh -c 'echo $$ > \(devices[0].home)/pid; exec \(command(devices[0]))'; echo status $?; stty -g > \(devices[0].home)/after; echo done"
                )
                try await terminal.shows("(here)")
                let pid = try String(contentsOfFile: "\(devices[0].home)/pid", encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
                kill(try #require(Int32(pid)), ["TERM": SIGTERM, "HUP": SIGHUP, "INT": SIGINT][name]!)
                let rows = try await terminal.shows("done") { $0.contains("done") }
                #expect(rows.contains { $0.hasSuffix("status 0") } && !rows.contains { $0.hasPrefix("exports") }, "\(rows)")
                let settings = try ["before", "after"].map { try String(contentsOfFile: "\(devices[0].home)/\($0)", encoding: .utf8) }
                #expect(settings[0] == settings[1])
            }
        }
    }

    @Test("Stopped with Ctrl-Z the shell has its terminal; in the foreground again the view is as it was, and ends as it should")
    func stopping() async throws {
        try await withDevices(1) { devices in
            try await devices[0].run("notes", "add", "one")
            try await TestTerminal.with { terminal in
                // A shell with job control.
                try await terminal.type("exec bash --norc -i")
                try await terminal.type("stty -g > \(devices[0].home)/before; \(command(devices[0]))")
                try await terminal.shows("(here)")
                try await terminal.press("C-z")
                let stopped = try await terminal.shows("Stopped")
                #expect(!stopped.contains { $0.hasPrefix("exports") })
                try await terminal.type("fg")
                try await terminal.shows("the view") { $0[0].hasPrefix("org.example.notes of alice") && $0.contains { $0.contains("(here)") } }
                try await terminal.press("q")
                // What is typed before belongs to the view.
                try await terminal.shows("the shell") { $0.last { !$0.isEmpty } == "$" && !$0.contains { $0.hasPrefix("exports") } }
                try await terminal.type("stty -g > \(devices[0].home)/after; echo done")
                try await terminal.shows("done") { $0.contains("done") }
                let settings = try ["before", "after"].map { try String(contentsOfFile: "\(devices[0].home)/\($0)", encoding: .utf8) }
                #expect(settings[0] == settings[1])
            }
        }
    }

    /// Without optimisation each path of swift-system costs milliseconds.
    #if DEBUG
        private static let items = 300
    #else
        private static let items = 10_000
    #endif

    @Test("Among many items a filter finds one, and with 50 peers every row and column can be reached")
    func many() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            let documents = device.container.appending("Documents")
            try FileManager.default.createDirectory(atPath: documents.string, withIntermediateDirectories: true)
            for number in 0..<Self.items { _ = FileManager.default.createFile(atPath: "\(documents)/item-\(number)-\u{65E5}.txt", contents: nil) }
            let content = device.container.appending("CoreData/Notes")
            for number in 10..<60 {
                let peer = "alice~00000000-0000-4000-8000-0000000000\(number)"
                let directory = "\(content)/\(peer)/1"
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                _ = FileManager.default.createFile(atPath: "\(directory)/000000000001.\(String(repeating: "ab", count: 32)).ublog", contents: nil)
            }
            try await TestTerminal.with { terminal in
                try await terminal.type(command(device))
                try await terminal.shows("items") { $0.contains { $0.contains("3 Items \(Self.items + 1)") } }
                try await terminal.shows("51 peers")
                try await terminal.press("End")
                let last = try await terminal.shows("the last peer") { $0.contains { $0.hasPrefix("50  alice~0000") } }
                #expect(!last.contains { $0.hasPrefix(" 1  alice") }, "\(last)")
                for _ in 0..<30 { try await terminal.press("Right") }
                try await terminal.shows("a later column") { $0.contains { $0.contains("of 27") } && !$0.contains { $0.contains("of 2 ") } }
                try await terminal.press("3")
                try await terminal.press("/")
                try await terminal.write("277 TXT")
                try await terminal.press("Enter")
                let found = try await terminal.shows("/277 TXT: 1 of \(Self.items + 1)")
                #expect(found.contains { $0.contains("Documents/item-277-\u{65E5}.txt") })
                #expect(!found.contains { $0.contains("item-1") })
                try await terminal.press("Enter")
                try await terminal.shows("modified")
                try await terminal.press("Escape", "Escape")
                try await terminal.shows("no filter") { !$0.contains { $0.contains("of \(Self.items + 1)") } }
                try await terminal.press("q")
            }
        }
    }

    @Test("It writes nothing in the container nor beside the stores, and makes no home")
    func writesNothing() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            func listing() throws -> [String] {
                try [device.container, device.home].flatMap { place in
                    // Memory that all who have a store open share; SQLite's readers count in it.
                    try FileManager.default.subpathsOfDirectory(atPath: place.string).filter { !$0.hasSuffix("-shm") }.sorted().map { name in
                        let path = "\(place)/\(name)"
                        let attributes = try FileManager.default.attributesOfItem(atPath: path)
                        return "\(path) \(attributes[.size] ?? 0) \(attributes[.modificationDate] ?? 0)"
                    }
                }
            }
            let before = try listing()
            let other = device.root.appending("no home")
            try await TestTerminal.with { terminal in
                for home in [device.home, other] {
                    try await terminal.type("\(Tool.path("ubwatch")) \(device.container) --home '\(home)'; clear")
                    try await terminal.shows("1 log of 1 peer")
                    try await terminal.press("2", "3", "4", "5", "6", "1", "Enter", "Escape", "r", "q")
                    // The prompt alone: the typed line is back before the view has ended, and what is typed then is the view's.
                    try await terminal.shows("the shell") { $0[0] == "$" }
                }
            }
            #expect(try listing() == before)
            #expect(!FileManager.default.fileExists(atPath: other.string))
        }
    }
}
