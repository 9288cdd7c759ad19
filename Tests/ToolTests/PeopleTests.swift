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
}
