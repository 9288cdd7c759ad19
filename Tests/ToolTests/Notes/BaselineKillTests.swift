import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Real processes, killed with SIGKILL while they write a baseline, trim logs, join a baseline, or make a store anew.
struct BaselineKillTests {
    private func titles(_ device: ToolDevice) async throws -> [String] { try await device.list().map(\.title).sorted() }

    private func expectWhole(_ device: ToolDevice) async throws {
        let check = try await device.run("ubcontrol", "store", "check", try device.storeFile().string)
        #expect(check.status == 0, "\(check)")
    }

    @Test(
        "a kill at any point of writing a baseline and of trimming loses no note, for a new device neither",
        arguments: [
            "roll.written", "roll.synced", "roll.renamed", "roll.directory-synced", "trim.log:1", "trim.log:2", "trim.baseline",
        ])
    func rollsSurvive(point: String) async throws {
        try await withDevices(3) { devices in
            let (writer, reader, new) = (devices[0], devices[1], devices[2])
            for title in ["a", "b"] { #expect(try await writer.run("notes", "add", title).status == 0) }
            if point == "trim.baseline" { #expect(try await writer.run("notes", "compact").status == 0) }
            #expect(try await writer.run("notes", "add", "c").status == 0)
            #expect(try await titles(reader) == ["a", "b", "c"])
            let killed = try await writer.run("notes", "compact", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await titles(new) == ["a", "b", "c"])
            #expect(try await writer.run("notes", "add", "d").status == 0)
            #expect(try await reader.run("notes", "add", "e").status == 0)
            for device in devices + devices { _ = try await device.list() }
            #expect(try await writer.run("notes", "compact").status == 0)
            for device in devices { #expect(try await titles(device) == ["a", "b", "c", "d", "e"]) }
            let left = try FileManager.default.subpathsOfDirectory(atPath: writer.container.appending("CoreData/Notes").string)
            #expect(!left.contains { $0.contains("tmp.nosync/") }, "drafts are removed by the next start")
            #expect(left.filter { $0.hasSuffix(".ubbaseline") }.count == 1)
            for device in devices { try await expectWhole(device) }
        }
    }

    @Test(
        "a kill at any point of joining a baseline leaves a store that joins it at its next start",
        arguments: ["join.copied", "join.replacing", "join.table:1", "join.table:2", "join.applied", "join.committed"])
    func joinsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, new) = (devices[0], devices[1])
            for title in ["a", "b"] { #expect(try await writer.run("notes", "add", title).status == 0) }
            // Nobody else has a place there: all logs go.
            #expect(try await writer.run("notes", "compact").status == 0)
            #expect(try writer.logs().isEmpty)
            let killed = try await new.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await titles(new) == ["a", "b"])
            #expect(try await new.run("notes", "add", "c").status == 0)
            #expect(try await titles(writer) == ["a", "b", "c"])
            for device in devices { try await expectWhole(device) }
        }
    }

    @Test(
        "F-23: a kill at any point of a rebuild leaves the store as it was, or done",
        arguments: ["join.copied", "rebuild.emptied", "join.applied", "rebuild.joined", "join.replacing", "rebuild.committed"])
    func rebuildsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, other) = (devices[0], devices[1])
            for title in ["a", "b"] { #expect(try await writer.run("notes", "add", title).status == 0) }
            #expect(try await writer.run("notes", "compact").status == 0)
            #expect(try await other.run("notes", "add", "c").status == 0)
            #expect(try await titles(writer) == ["a", "b", "c"])
            let unsent = try await writer.run("notes", "add", "unsent", environment: ["UBIQUITY_KILL_AT": "save.committed"])
            #expect(unsent.signal == SIGKILL)
            let killed = try await writer.run("notes", "rebuild", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await titles(writer) == ["a", "b", "c", "unsent"])
            #expect(try await writer.run("notes", "rebuild").status == 0)
            for device in devices + devices { _ = try await device.list() }
            for device in devices { #expect(try await titles(device) == ["a", "b", "c", "unsent"]) }
            for device in devices { try await expectWhole(device) }
        }
    }
}
