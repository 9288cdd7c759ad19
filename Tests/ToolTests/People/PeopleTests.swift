import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// The example whose set-up two programs share.
struct PeopleTests {
    @Test("S-177: what one program of the example saves the other shows, for both are built on one set-up")
    func shared() async throws {
        try await withDevices(1) { devices in
            for (name, email, state) in [("Ann", "ann@example.org", "VT"), ("Ben", "ben@example.org", "VT"), ("Cid", "cid@example.org", "OR")] {
                let outcome = try await devices[0].run("people", "add", name, "--email", email, "--state", state)
                #expect(outcome.status == 0, "\(outcome)")
            }
            let table = try await devices[0].run("people-by-state")
            #expect(table.status == 0 && table.output.contains("Vermont") && table.output.contains("Oregon"), "\(table)")
            _ = try await devices[0].run("people", "rm", "cid@example.org")
            let now = try await devices[0].run("people-by-state")
            #expect(now.output.contains("Vermont") && !now.output.contains("Oregon"), "\(now)")
        }
    }

    @Test("S-144: what an account has on a read-only file system opens for reading alone, though it was last written with a write-ahead log")
    func readOnly() async throws {
        try await withDevices(1) { devices in
            let (device, people) = (devices[0], Tool.path("people"))
            #expect(try await device.run("people", "add", "Ann", "--email", "ann@example.org", "--state", "VT").status == 0)
            #expect(try await device.run("people", "list").status == 0)
            let script = """
                mount --bind \(device.home) \(device.home) && mount -o remount,bind,ro \(device.home) || exit 77
                \(people) list --account alice --home \(device.home) || exit 1
                \(people) list --account bob --home \(device.home) && exit 2
                \(people) list --home \(device.home) && exit 3
                true
                """
            func names() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: device.home.string).sorted() }
            // With its write-ahead log beside it, and alone, as whoever closes it last may leave it.
            for hasLog in [true, false] {
                if !hasLog {
                    let file = try #require(names().first { $0.hasSuffix("store/People.sqlite") })
                    let folding = try await Tool.run("/usr/bin/sqlite3", [device.home.appending(file).string, "PRAGMA wal_checkpoint(TRUNCATE)"])
                    #expect(folding.status == 0, "\(folding)")
                }
                let before = try names()
                #expect(before.contains { $0.hasSuffix("store/People.sqlite-wal") } == hasLog)
                let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/bin/sh", "-c", script])
                #expect(outcome.status == 0 && outcome.output == "Ann <ann@example.org>, Vermont\n", "\(outcome)")
                #expect(try names() == before)
            }
        }
    }

    @Test("On a read-only file system a store that a writer has left in the midst of a write is an error, and not shown half written")
    func halfWritten() async throws {
        try await withDevices(1) { devices in
            let (device, people) = (devices[0], Tool.path("people"))
            #expect(try await device.run("people", "add", "Ann", "--email", "ann@example.org", "--state", "VT").status == 0)
            #expect(try await device.run("people", "list").status == 0)
            let names = try FileManager.default.subpathsOfDirectory(atPath: device.home.string)
            let file = device.home.appending(try #require(names.first { $0.hasSuffix("store/People.sqlite") })).string
            // More than SQLite keeps in memory, so that the file holds some of it, and the journal what was there.
            let write = """
                PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN; CREATE TABLE junk (a);
                INSERT INTO junk WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT hex(randomblob(20)) FROM n;
                """
            let writing = try await Tool.run(
                "/usr/bin/sqlite3",
                ["-bail", file, write, ".system cp \(file) \(file)-half; cp \(file)-journal \(file)-old", "ROLLBACK"])
            #expect(writing.status == 0, "\(writing)")
            let script = """
                mv \(file)-half \(file) && mv \(file)-old \(file)-journal || exit 76
                mount --bind \(device.home) \(device.home) && mount -o remount,bind,ro \(device.home) || exit 77
                \(people) list --account alice --home \(device.home) && exit 2
                true
                """
            let outcome = try await Tool.run("/usr/bin/unshare", ["-Urm", "/bin/sh", "-c", script])
            #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.contains("\(file) cannot be opened for writing"), "\(outcome)")
            // Where it can be written the journal is played back.
            let whole = try await device.run("people", "list")
            #expect(whole.status == 0 && whole.output == "Ann <ann@example.org>, Vermont\n", "\(whole)")
        }
    }
}
