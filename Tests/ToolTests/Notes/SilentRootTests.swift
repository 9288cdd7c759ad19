import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

@Suite(
    "A containers root that does not answer", .timeLimit(.minutes(40)),
    .enabled(if: FileManager.default.fileExists(atPath: "/dev/fuse"), "the kernel has no FUSE"))
struct SilentRootTests {
    private static let silentMount = FilePath(#filePath).removingLastComponent().removingLastComponent().removingLastComponent()
        .removingLastComponent().appending("Tools/services/silent-mount")

    @Test("S-042: while the root does not answer, saves are stored, every tool ends and says so; when it answers again, all of them go out")
    func silent() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            try await first.run("notes", "add", "one")
            let (notes, control, watch) = (Tool.path("notes"), Tool.path("ubcontrol"), Tool.path("ubwatch"))
            // A tool that hangs is killed, and its status is 137.
            let inside = """
                t() { echo "-- $1"; shift; timeout -s KILL 120 "$@" 2>&1; echo "status $?"; }
                t add \(notes) add two --home \(first.home)
                t list \(notes) list --home \(first.home)
                t status \(notes) status --home \(first.home)
                t containers \(control) container list --home \(first.home)
                t doctor \(control) doctor --home \(first.home)
                t watch \(watch) status \(first.container) --home \(first.home)
                """
            let script = """
                \(Self.silentMount) \(first.root) /bin/sh -c "$INSIDE" || exit $?
                echo "-- after"; \(notes) list --home \(first.home)
                echo "-- other"; \(notes) list --home \(second.home)
                """
            let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/usr/bin/env", "INSIDE=\(inside)", "/bin/sh", "-c", script])
            #expect(outcome.status == 0, "\(outcome)")
            var parts: [String: [Substring]] = [:]
            var part = ""
            for line in outcome.output.split(separator: "\n") {
                if line.hasPrefix("-- ") { part = String(line.dropFirst(3)) } else { parts[part, default: []].append(line) }
            }
            func lines(_ part: String) -> String { parts[part, default: []].joined(separator: "\n") }
            #expect(parts["add"]?.last == "status 0" && lines("add").contains("Saved on this device only: the container's file system"), "\(outcome)")
            #expect(parts["list"]?.last == "status 0" && lines("list").contains("one") && lines("list").contains("two"), "\(outcome)")
            #expect(lines("status").contains("suspended: the container's file system does not answer"), "\(outcome)")
            #expect(lines("status").contains("logs not published: 1"), "\(outcome)")
            for part in ["containers", "watch"] {
                #expect(parts[part]?.last == "status 1" && lines(part).contains("has not answered since"), "\(outcome)")
            }
            #expect(parts["doctor"]?.last == "status 1" && lines("doctor").contains("the containers root does not answer"), "\(outcome)")
            #expect(lines("after").contains("two") && lines("other").contains("one") && lines("other").contains("two"), "\(outcome)")
        }
    }

    /// Runs a script in a mount namespace of its own, and returns the events of the app in it.
    ///
    /// `sqlite3 "$STORE" "$SQL"` in the script saves, as another program of the device. It does not look at the root: the
    /// kernel cannot end a process of which a thread waits there for another process's look.
    private func events(of script: String, _ device: ToolDevice, _ answer: ([String]) async throws -> Void) async throws -> [String] {
        let inside = try ["STORE=\(device.storeFile())", "SQL=UPDATE note SET title = 'two'"]
        let tool = try await RunningTool("/usr/bin/unshare", ["-Urm", "/usr/bin/env"] + inside + ["/bin/sh", "-c", script])
        var events: [String] = []
        for try await line in tool.lines.limited("a line of the app", limit: .seconds(300)) {
            guard let event = line.split(separator: #""event":""#).last?.split(separator: "\"").first else { continue }
            events.append(String(event))
            try await answer(events)
        }
        #expect(try await tool.end().status == 0, "\(events)")
        return events
    }

    @Test("T-15: while the root does not answer, an app that was started then hears at once of saves by another program of this device")
    func hears() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "one")
            let gate = "\(device.home)/gate"
            let script = """
                mkfifo \(gate) || exit 77
                \(Self.silentMount) \(device.root) /bin/sh -c '
                    \(Tool.path("notes")) run --json --home \(device.home) & app=$!
                    read line < \(gate); sqlite3 "$STORE" "$SQL" || exit 76
                    read line < \(gate); kill $app'
                """
            let events = try await events(of: script, device) { events in
                if ["ready", "changed"].contains(events.last) { _ = try await Tool.run("/bin/sh", ["-c", "echo > \(gate)"]) }
            }
            // It hears of the save while the silence lasts.
            let told = events.filter { $0 != "ready" }
            #expect(told.prefix(2) == ["suspended", "changed"], "\(events)")
        }
    }

    @Test("T-14: an app that runs on through the silence of the root goes on by itself when it answers: its saves leave, and others' changes come")
    func goesOn() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            try await first.run("notes", "add", "one")
            let notes = Tool.path("notes")
            func gate(_ number: Int) -> String { "\(first.home)/gate\(number)" }
            func open(_ number: Int) async throws { _ = try await Tool.run("/bin/sh", ["-c", "echo > \(gate(number))"]) }
            let script = """
                mkfifo \(gate(1)) \(gate(2)) \(gate(3)) || exit 77
                \(notes) run --json --home \(first.home) & app=$!
                read line < \(gate(1))
                \(Self.silentMount) \(first.root) /bin/sh -c 'sqlite3 "$STORE" "$SQL" || exit 76; read line < \(gate(2))' || exit $?
                read line < \(gate(3))
                kill $app; wait $app
                """
            let events = try await events(of: script, first) { events in
                switch events.last {
                case "ready": try await open(1)
                case "suspended" where events.count { $0 == "suspended" } == 1: try await open(2)
                case "resumed": try await second.run("notes", "add", "three")
                case "imported": try await open(3)
                default: break
                }
            }
            // Between the end of the silence and that of the mount, every call fails.
            let told = events.filter { ["suspended", "resumed", "imported"].contains($0) }
            let after = told.drop { $0 == "suspended" }
            #expect(told.first == "suspended" && Array(after) == ["resumed", "imported"], "\(events): \(told.map { Array($0.utf8) })")
            let others = try await second.run("notes", "list").output
            for title in ["two", "three"] { #expect(others.contains(title), "\(others)") }
        }
    }
}
