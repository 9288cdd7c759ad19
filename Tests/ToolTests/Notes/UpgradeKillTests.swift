import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Real processes, killed with SIGKILL while they take a store to a newer version of its schema.
struct UpgradeKillTests {
    private static let count = 120
    private static let batches = ["UBIQUITY_BATCH_ROWS": "100"]

    @Test(
        "S-110: a kill at any point of an upgrade leaves the old store or the new one, whole; the next start completes it, and nothing is lost or told twice",
        arguments: [
            "migrate.copied", "migrate.run", "migrate.checked", "migrate.upgraded", "migrate.replacing:1", "migrate.replacing:2",
            "migrate.replaced", "open.prepared", "adopt.batch:1", "adopt.batch:2",
        ])
    func upgradesSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(Self.count))"
            let fill = "\(rows) INSERT INTO thing SELECT printf('%05d', i), 'red', 'name ' || i, i FROM n"
            _ = try await lines(writer, 1, "SELECT 1", execute: fill)
            _ = try await lines(reader, 1, "SELECT 1")
            _ = try await lines(reader, 1, "SELECT 1", execute: "UPDATE thing SET size = 'edited' WHERE id = '00007'")
            _ = try await lines(writer, 1, "SELECT 1", execute: "DELETE FROM thing WHERE id = '00009'", offline: true)

            let killed = try await writer.run(
                "ubiquity-simulate", "upgrade", "--schema", "2", "--query", "SELECT 1",
                environment: Self.batches.merging(["UBIQUITY_KILL_AT": point]) { $1 })
            #expect(killed.signal == SIGKILL, "\(killed)")
            let store = try writer.storeFile("Things")
            let tables = try await Tool.run("/usr/bin/sqlite3", [store.string, "SELECT name FROM sqlite_master WHERE name IN ('thing', 'item')"])
            let isOld = point.hasPrefix("migrate.") && point != "migrate.replaced"
            #expect(tables.output == (isOld ? "thing\n" : "item\n"))
            if isOld {
                // An app of the old version goes on with it.
                #expect(try await lines(writer, 1, "SELECT count(*) FROM thing", offline: true) == ["\(Self.count - 1)"])
            }

            let query = "SELECT count(*), sum(weight = 'edited'), sum(label = 'label of ' || id), count(DISTINCT name) FROM item"
            let expected = ["\(Self.count - 1)|1|\(Self.count - 1)|\(Self.count - 1)"]
            #expect(try await lines(writer, 2, query) == expected)
            #expect(try await lines(reader, 2, query) == expected)
            #expect(try await lines(writer, 2, query) == expected)
            for device in devices {
                let directory = try device.storeFile("Things").removingLastComponent().string
                let left = try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.contains("-migration") }
                #expect(left.isEmpty)
                let check = try await device.run("ubcontrol", "store", "check", try device.storeFile("Things").string)
                #expect(check.status == 0, "\(check)")
            }
        }
    }

    @Test(
        "a kill between a save and what it shows, or in the midst of showing it, leaves both to the next start",
        arguments: ["save.committed", "relations.shown", "import.applied", "import.committed"])
    func relationsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, reader) = (devices[0], devices[1])
            let query = "SELECT (SELECT count(*) FROM parent), (SELECT count(*) FROM child)"
            _ = try await lines(writer, 3, query, execute: "INSERT INTO parent VALUES ('1', 'x')")
            _ = try await lines(reader, 3, query)
            _ = try await lines(reader, 3, query, execute: "INSERT INTO child VALUES ('1', '1')", offline: true)
            _ = try await lines(writer, 3, query, execute: "DELETE FROM parent")
            // The child waits for a parent that is gone, and its parent comes back.
            #expect(try await lines(reader, 3, query) == ["0|0"])
            let revive = "INSERT INTO parent VALUES ('1', 'y')"
            var arguments = ["upgrade", "--schema", "3", "--query", query]
            if point.hasPrefix("import.") {
                _ = try await lines(writer, 3, query, execute: revive)
            } else {
                arguments += ["--execute", revive]
            }
            let killed = try await Tool.run(
                "ubiquity-simulate", arguments + ["--home", reader.home.string], environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await lines(reader, 3, query) == ["1|1"])
            #expect(try await lines(writer, 3, query) == ["1|1"])
            let check = try await reader.run("ubcontrol", "store", "check", try reader.storeFile("Things").string)
            #expect(check.status == 0, "\(check)")
        }
    }

    private func lines(_ device: ToolDevice, _ schema: Int, _ query: String, execute: String? = nil, offline: Bool = false) async throws -> [String] {
        var arguments = ["upgrade", "--schema", "\(schema)", "--query", query, "--home", device.home.string]
        if let execute { arguments += ["--execute", execute] }
        if offline { arguments.append("--offline") }
        let outcome = try await Tool.run("ubiquity-simulate", arguments, environment: Self.batches)
        try #require(outcome.status == 0, "\(outcome.errors)")
        return outcome.output.split(separator: "\n").map(String.init)
    }
}
