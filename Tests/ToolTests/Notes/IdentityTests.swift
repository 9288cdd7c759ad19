import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// Copied homes, with real processes.
struct IdentityTests {
    @Test(
        "a kill at any point of taking a new identifier loses nothing, repeats nothing, and leaves no second mark",
        arguments: ["identity.chosen", "identity.marked", "identity.placed", "identity.adopted"])
    func killed(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await writer.run("notes", "add", "before").status == 0)
            let copy = try copied(writer)
            // Sealed under the identifier that both homes have.
            let sealed = try await copy.run("notes", "add", "mine", environment: ["UBIQUITY_KILL_AT": "save.committed"])
            #expect(sealed.signal == SIGKILL)
            #expect(try await writer.run("notes", "add", "other").status == 0)
            let killed = try await copy.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            for device in [copy, reader, writer, copy] {
                let titles = try await device.list().map(\.title).sorted()
                #expect(titles == ["before", "mine", "other"])
            }
            // Three saves, and that nobody need wait for the old identifier.
            #expect(try reader.logs().count == 4)
            let marks = try FileManager.default.contentsOfDirectory(atPath: writer.container.appending(".ubiquity").string)
            #expect(marks.filter { !$0.hasPrefix(".") }.count == 3)
        }
    }

    @Test("a copied home in use at once with the original, each in two processes of its own: all saves reach all")
    func atOnce() async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            #expect(try await writer.run("notes", "add", "before").status == 0)
            let copy = try copied(writer)
            let running = try await [
                RunningTool("notes", ["run", "--home", writer.home.string]), RunningTool("notes", ["run", "--home", copy.home.string]),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (device, name) in [(writer, "original"), (copy, "copy")] {
                    group.addTask {
                        for index in 0..<3 {
                            let outcome = try await device.run("notes", "add", "\(name) \(index)")
                            #expect(outcome.status == 0, "\(outcome)")
                        }
                    }
                }
                try await group.waitForAll()
            }
            for tool in running {
                // From then on it handles the signal.
                for try await line in tool.lines.limited("ready") where line.hasPrefix("ready") { break }
                let outcome = try await tool.stop()
                #expect(outcome.status == 0, "\(outcome)")
            }
            let expected = ["before"] + ["copy", "original"].flatMap { name in (0..<3).map { "\(name) \($0)" } }
            for device in [writer, copy, reader, writer, copy] {
                _ = try await device.list()
            }
            for device in [writer, copy, reader] { #expect(try await device.list().map(\.title).sorted() == expected) }
        }
    }

    private func copied(_ device: ToolDevice) throws -> ToolDevice {
        let home = FilePath(device.home.string + "-copy")
        try FileManager.default.copyItem(atPath: device.home.string, toPath: home.string)
        return ToolDevice(home: home, root: device.root)
    }
}
