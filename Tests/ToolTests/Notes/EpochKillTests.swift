import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Real processes, killed with SIGKILL while they remove a store's content, or see that it was removed.
struct EpochKillTests {
    @Test(
        "S-102: a kill at any point of a removal leaves the old content or what the next start completes; what was not sent is kept once",
        arguments: [
            "removal.sealed", "place.marked", "removal.marked", "epoch.seen", "epoch.sealed", "kept.log-written", "kept.drafted", "kept.named",
            "epoch.placed", "epoch.emptied", "epoch.committed", "epoch.file-removed:1", "epoch.file-removed:2", "epoch.done",
        ])
    func removalsSurvive(point: String) async throws {
        try await withDevices(2) { devices in
            let (remover, other) = (devices[0], devices[1])
            #expect(try await remover.run("notes", "add", "old").status == 0)
            #expect(try await other.run("notes", "add", "other's").status == 0)
            for device in devices { #expect(try await device.list().count == 2) }
            // A save that is not published.
            let unsent = try await remover.run("notes", "add", "unsent", environment: ["UBIQUITY_KILL_AT": "save.committed"])
            #expect(unsent.signal == SIGKILL)
            let killed = try await remover.run("notes", "clear", "--yes", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            let isDecided = point != "removal.sealed"
            #expect(try await remover.list().map(\.title).sorted() == (isDecided ? [] : ["old", "other's", "unsent"]))
            if !isDecided { #expect(try await remover.run("notes", "clear", "--yes").status == 0) }
            // Nothing of the removal is done twice, nor its epoch begun twice.
            #expect(try await remover.kept().map { $0.entry?.changes } == (isDecided ? [1] : []))
            #expect(try await remover.run("notes", "add", "new").status == 0)
            for device in [other, remover, other] { #expect(try await device.list().map(\.title) == ["new"]) }
            #expect(try await other.kept().isEmpty)
            #expect(try await remover.kept().count == (isDecided ? 1 : 0))
            try expectOneEpoch(remover)
        }
    }

    @Test(
        "S-174: a kill at any point of seeing a removal leaves what the next start completes; what was not sent is kept once",
        arguments: [
            "epoch.seen", "epoch.sealed", "kept.log-written:1", "kept.log-written:2", "kept.drafted", "kept.named", "epoch.placed",
            "epoch.emptied", "epoch.committed", "epoch.file-removed:1", "epoch.file-removed:2", "epoch.done",
        ])
    func seeingSurvives(point: String) async throws {
        try await withDevices(2) { devices in
            let (remover, other) = (devices[0], devices[1])
            #expect(try await remover.run("notes", "add", "old").status == 0)
            #expect(try await other.list().count == 1)
            // Published and read by nobody; and not published.
            #expect(try await other.run("notes", "add", "unread").status == 0)
            let unsent = try await other.run("notes", "add", "unsent", environment: ["UBIQUITY_KILL_AT": "save.committed"])
            #expect(unsent.signal == SIGKILL)
            #expect(try await remover.run("notes", "clear", "--yes").status == 0)
            #expect(try await remover.run("notes", "add", "new").status == 0)

            let killed = try await other.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point])
            #expect(killed.signal == SIGKILL, "\(killed)")
            // A save that comes before the next start has seen it.
            if ["epoch.seen", "kept.named", "epoch.emptied"].contains(point) {
                let row = "INSERT INTO note VALUES ('later', 'later', NULL, '2014')"
                #expect(try await Tool.run("/usr/bin/sqlite3", [other.storeFile().string, row]).status == 0)
            }
            let count = ["epoch.seen", "kept.named", "epoch.emptied"].contains(point) ? 3 : 2
            for device in [other, remover, other] { #expect(try await device.list().map(\.title) == ["new"]) }
            let kept = try await other.kept()
            #expect(kept.map { $0.entry?.changes } == [count] && kept.map { $0.entry?.missing } == [0])
            #expect(try await remover.kept().isEmpty)
            #expect(try await other.run("notes", "add", "again").status == 0)
            for device in devices { #expect(try await device.list().map(\.title).sorted() == ["again", "new"]) }
            try expectOneEpoch(other)
        }
    }

    @Test(
        "rows from before, half taken over when the content was removed, are set aside whole, and go into the present epoch when they are restored",
        arguments: ["adopt.batch:1", "adopt.batch:2"])
    func adoptionGoesOn(point: String) async throws {
        try await withDevices(2) { devices in
            let (writer, other) = (devices[0], devices[1])
            let plain = writer.home.appending("Notes/Notes.sqlite")
            try FileManager.default.createDirectory(atPath: plain.removingLastComponent().string, withIntermediateDirectories: true)
            let sql = """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
                CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT, created TEXT NOT NULL);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
                INSERT INTO note SELECT printf('%05d', i), 'note ' || i, NULL, '2014' FROM n;
                """
            #expect(try await Tool.run("/usr/bin/sqlite3", ["-bail", plain.string, sql]).status == 0)
            // So few rows are a batch that the first of two is taken over before the kill.
            let killed = try await writer.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point, "UBIQUITY_BATCH_ROWS": "100"])
            #expect(killed.signal == SIGKILL, "\(killed)")
            #expect(try await other.run("notes", "clear", "--yes").status == 0)
            // The account's file had read the content before the removal, so its records are of the ended epoch.
            for device in [writer, other, writer] { #expect(try await device.list().isEmpty) }
            let kept = try await writer.kept()
            #expect(kept.map { $0.entry?.changes } == [120])
            let entry = try #require(kept.first)
            #expect(try await writer.run("ubcontrol", "kept", "restore", entry.id).status == 0)
            for device in [writer, other, writer] { #expect(try await device.list().count == 120) }
            let check = try await writer.run("ubcontrol", "store", "check", try writer.storeFile().string)
            #expect(check.status == 0, "\(check)")
        }
    }

    /// The content has no file of an ended epoch, and no second mark of the present one.
    private func expectOneEpoch(_ device: ToolDevice) throws {
        let content = device.container.appending("CoreData/Notes")
        let marks = try FileManager.default.contentsOfDirectory(atPath: content.appending("epochs").string)
        #expect(marks.count == 1 && marks.allSatisfy { $0.hasPrefix("2.") })
        let left = try FileManager.default.subpathsOfDirectory(atPath: content.string).filter { $0.contains("/1/") || $0.contains("tmp.nosync/") }
        #expect(left.isEmpty, "\(left)")
        let logs = try device.logs()
        #expect(logs.allSatisfy { $0.string.contains("/2/") })
    }
}
