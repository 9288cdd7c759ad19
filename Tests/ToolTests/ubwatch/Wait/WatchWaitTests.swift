import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// `ubwatch wait`, on real containers and with apps that are processes of their own.
@Suite(.timeLimit(.minutes(40)))
struct WatchWaitTests {
    private struct Waited: Decodable {
        var goal: String
        var outcome: String
        var reasons: [String]
    }

    private func decode(_ outcome: Tool.Outcome) throws -> Waited { try JSONDecoder().decode(Waited.self, from: Data(outcome.output.utf8)) }

    @Test(
        "F-33, F-12: ubwatch wait --until current does not end while a log that a receipt names has not arrived, nor before the app has read it, and says what is awaited"
    )
    func lateLog() async throws {
        try await withDevices(3) { devices in
            let (writer, device) = (devices[0], devices[1])
            // It has read the content before: else it would show none of it before all has arrived.
            #expect(try await device.list().isEmpty)
            for title in ["Milk", "Bread"] { try await writer.run("notes", "add", title) }
            let author = try #require(try await writer.watched().device.peer)
            // Late: the receipt of one that has read it has arrived before it.
            #expect(try await devices[2].list().count == 2)
            let late = try #require(try writer.logs().last)
            let away = writer.root.appending("late")
            try FileManager.default.moveItem(atPath: late.string, toPath: away.string)
            #expect(try await device.list().map(\.title) == ["Milk"])

            let early = try await device.wait(until: "current", "--timeout", "0.2", "--json")
            #expect(early.status == 4)
            let waited = try decode(early)
            #expect(waited.outcome == "timedOut" && waited.reasons.count == 1, "\(waited)")
            let stall = "waits for log 2 of \(author), which is not here yet"
            #expect(waited.reasons.first?.hasSuffix(stall) == true, "\(waited)")
            #expect(
                try await device.run("ubwatch", "status", device.container.string).output.contains("waits for log 2 of laptop, which is not here yet")
            )
            // What is here has been read all the same.
            #expect(try await device.wait(until: "imported", "--timeout", "0.2").status == 0)
            let facts = try await device.watched()
            #expect(facts.state == "downloading" && facts.localStores.first?.files.first?.exchange?.awaited.first?.sequence == 2, "\(facts)")

            let waiting = try await RunningTool(
                "ubwatch", ["wait", "--until", "current", "--json", "--home", device.home.string, device.container.string])
            try FileManager.default.moveItem(atPath: away.string, toPath: late.string)
            // It has arrived, and nobody has read it.
            for goal in ["current", "imported"] {
                let unread = try await device.wait(until: goal, "--timeout", "0.2")
                #expect(unread.status == 4 && unread.errors.contains("not read: 1 log of laptop from log 2 on"), "\(unread)")
            }
            #expect(try await device.list().count == 2)
            let lines = waiting.lines.limited().makeAsyncIterator()
            let line = try #require(try await lines.next())
            #expect(try JSONDecoder().decode(Waited.self, from: Data(line.utf8)).outcome == "reached")
            #expect(try await waiting.end().status == 0)
            #expect(try await device.wait(until: "current", "--timeout", "0.2").output == "current\n")
        }
    }

    @Test("ubwatch wait --until current does not end while a save of this device has not gone out")
    func unpublished() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            #expect(try await device.wait(until: "current", "--timeout", "0.2").status == 0)
            let store = try device.storeFile().string
            #expect(try await Tool.run("ubcontrol", ["store", "pause", store]).status == 0)
            try await device.run("notes", "add", "Bread")
            #expect(try await device.wait(until: "imported", "--timeout", "0.2").status == 0)
            let held = try await device.wait(until: "current", "--timeout", "0.2")
            #expect(held.status == 4 && held.errors.hasPrefix("Not current in time:\n"), "\(held)")
            #expect(try await Tool.run("ubcontrol", ["store", "resume", store]).status == 0)
            #expect(try await device.list().count == 2)
            #expect(try await device.wait(until: "current", "--timeout", "0.2").status == 0)
        }
    }

    @Test("ubwatch wait ends with status 3 as soon as the container is gone, also while it waits, and with 1 where no store is known")
    func gone() async throws {
        try await withDevices(2) { devices in
            let (writer, device) = (devices[0], devices[1])
            try await writer.run("notes", "add", "Milk")
            let unknown = try await device.wait(until: "current", "--timeout", "60")
            #expect(unknown.status == 1 && unknown.errors.contains("--store"), "\(unknown)")
            #expect(try await device.wait(until: "imported", "--timeout", "0.2", "--store", writer.storeFile().string).status == 0)
            #expect(try await device.list().count == 1)
            try await writer.run("notes", "add", "Bread")
            let waiting = try await RunningTool("ubwatch", ["wait", "--until", "current", "--home", device.home.string, device.container.string])
            try FileManager.default.removeItem(atPath: device.container.string)
            for await _ in waiting.lines {}
            let outcome = try await waiting.end()
            #expect(outcome.status == 3 && outcome.errors == "The container is gone: \(device.container)\n", "\(outcome)")
            #expect(try await device.wait(until: "quiet", "--timeout", "60").status == 3)
        }
    }

    @Test("ubwatch wait --until quiet ends when nothing has changed for so long, and not before")
    func quiet() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            try await device.run("notes", "add", "Milk")
            #expect(try await device.wait(until: "quiet", "--quiet-for", "50ms", "--timeout", "600").output == "quiet\n")
            let short = try await device.wait(until: "quiet", "--quiet-for", "600", "--timeout", "0.1")
            #expect(short.status == 4 && short.errors.contains("something has changed"), "\(short)")
        }
    }

    @Test("ubwatch wait waits for a store that is named and is not there yet, whatever other stores hold, and ends when it has come")
    func namedStore() async throws {
        try await withDevices(2) { devices in
            let (device, other) = (devices[0], devices[1])
            try await device.run("notes", "add", "Milk")
            #expect(try await device.wait(until: "imported", "--timeout", "0.2").status == 0)
            // Where the app will keep it on the other device: <directory>/CoreDataUbiquitySupport/<peer>/<content>/store/<file>
            var file = try device.storeFile()
            for _ in 0..<5 { file.removeLastComponent() }
            let store = "\(other.home)\(file.appending("Notes.sqlite").string.dropFirst(device.home.string.count))"
            for goal in ["current", "imported"] {
                let absent = try await device.wait(until: goal, "--timeout", "0.2", "--store", store)
                #expect(absent.status == 4 && absent.errors.contains("there is no store at \(store) yet"), "\(absent)")
            }
            let waiting = try await RunningTool(
                "ubwatch", ["wait", "--until", "imported", "--store", store, "--home", device.home.string, device.container.string])
            #expect(try await other.list().map(\.title) == ["Milk"])
            for await _ in waiting.lines {}
            #expect(try await waiting.end().status == 0)
        }
    }
}
