import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What was set aside, as the tool shows and restores it.
struct KeptToolTests {
    @Test("F-20: what a removal set aside is listed, shown, written back as a new save that reaches the other device, and removed with --yes only")
    func keptIsRestored() async throws {
        try await withKept { remover, other, id in
            let list = try await other.run("ubcontrol", "kept", "list")
            #expect(list.status == 0 && list.output.hasPrefix("\(id)  ") && list.output.contains("3 changes in 3 logs"), "\(list)")
            let show = try await other.run("ubcontrol", "kept", "show", String(id.prefix(6)))
            #expect(show.status == 0 && show.output.contains("title=kept") && show.output.contains("deleted"), "\(show)")
            #expect(try await remover.list() == [])

            let rehearsed = try await other.run("ubcontrol", "kept", "restore", id, "--dry-run")
            #expect(rehearsed.status == 0 && rehearsed.output == "Would restore \(id): 2 changes written, 0 deletions.\n", "\(rehearsed)")
            #expect(try await other.list() == [])
            #expect(try await other.kept().first?.entry?.restored == nil)
            let restored = try await other.run("ubcontrol", "kept", "restore", id)
            #expect(restored.status == 0 && restored.output.contains("2 changes written, 0 deletions"), "\(restored)")
            for device in [other, remover] { #expect(try await device.list().map(\.title) == ["kept"]) }
            let entry = try await other.kept()
            #expect(entry.count == 1 && entry[0].entry?.restored != nil)

            #expect(try await other.run("ubcontrol", "kept", "remove", id).status == 64)
            #expect(try await other.run("ubcontrol", "kept", "remove", id, "--dry-run").output == "Would remove \(id).\n")
            #expect(try await other.kept().count == 1)
            #expect(try await other.run("ubcontrol", "kept", "remove", id, "--yes").status == 0)
            #expect(try await other.kept().isEmpty)
            let gone = try await other.run("ubcontrol", "kept", "show", id)
            #expect(gone.status == 64 && gone.errors.contains("Nothing is kept under"), "\(gone)")
        }
    }

    @Test("a kept file that is damaged is named, the others are shown, and a restoring that cannot be whole writes nothing")
    func damage() async throws {
        try await withKept { remover, other, id in
            let place = other.home.appending("kept/\(id)")
            let logs = try FileManager.default.contentsOfDirectory(atPath: place.string).filter { $0.hasSuffix(".ublog") }.sorted()
            let damaged = place.appending(logs[0])
            let whole = try Data(contentsOf: URL(filePath: damaged.string))
            try whole.dropLast().write(to: URL(filePath: damaged.string))
            let show = try await other.run("ubcontrol", "kept", "show", id)
            #expect(show.status == 1 && show.output.contains("\(logs[0]): its bytes") && show.output.contains("deleted"), "\(show)")
            let json = try await other.run("ubcontrol", "kept", "show", id, "--json")
            #expect(json.status == 1 && json.output.contains("\"fault\":"), "\(json)")
            let refused = try await other.run("ubcontrol", "kept", "restore", id)
            #expect(refused.status == 1 && refused.errors.contains(logs[0]), "\(refused)")
            try whole.write(to: URL(filePath: damaged.string))

            // A table that the store does not have any more.
            let store = try other.storeFile()
            #expect(try await Tool.run("/usr/bin/sqlite3", [store.string, "UPDATE ubiquity_table SET name = 'x' WHERE name = 'note'"]).status == 0)
            let unknown = try await other.run("ubcontrol", "kept", "restore", id)
            #expect(unknown.status == 1 && unknown.errors.contains("The table “note” cannot be restored"), "\(unknown)")
            #expect(try await Tool.run("/usr/bin/sqlite3", [store.string, "UPDATE ubiquity_table SET name = 'note' WHERE name = 'x'"]).status == 0)
            // A record that the schema refuses, behind one that it took.
            let trigger = "CREATE TRIGGER no BEFORE UPDATE ON note BEGIN SELECT RAISE(ABORT, 'no'); END"
            #expect(try await Tool.run("/usr/bin/sqlite3", [store.string, trigger]).status == 0)
            let half = try await other.run("ubcontrol", "kept", "restore", id)
            #expect(half.status == 1 && half.errors.contains("Nothing has been restored"), "\(half)")
            #expect(try await Tool.run("/usr/bin/sqlite3", [store.string, "DROP TRIGGER no; SELECT count(*) FROM note"]).output == "0\n")
            #expect(try await other.list() == [])

            try FileManager.default.moveItem(atPath: store.string, toPath: store.string + "-away")
            let missing = try await other.run("ubcontrol", "kept", "restore", id)
            #expect(missing.status == 64 && missing.errors.contains("There is no store at"), "\(missing)")
            // An entry of which nothing is known is listed all the same.
            try Data("{}".utf8).write(to: URL(filePath: place.appending("entry.json").string))
            let list = try await other.run("ubcontrol", "kept", "list")
            #expect(list.status == 0 && list.output.hasPrefix("\(id)  what says whose it was is damaged"), "\(list)")
        }
    }

    @Test("S-105: the tools remove a content only with --yes or with its name typed, and what is typed instead removes nothing")
    func unconfirmed() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "note").status == 0)
            let refused = try await device.run("notes", "clear")
            #expect(refused.status == 64 && refused.errors.contains("--yes"))
            let store = try device.storeFile().string
            for command in [["store", "remove-everything", store, "--home", device.home.string], ["store", "follow", store]] {
                let bare = try await Tool.run("ubcontrol", command)
                #expect(bare.status == 64 && bare.output.isEmpty && bare.errors.contains("add --yes"), "\(bare)")
                for answer in ["yes", "y", "notes", "alice"] {
                    let declined = try await onTerminal(["ubcontrol"] + command, typing: answer)
                    #expect(declined.status == 1 && declined.output.contains("Type Notes to continue: "), "\(answer): \(declined)")
                    #expect(declined.output.contains("Nothing has been changed."), "\(answer): \(declined)")
                }
            }
            #expect(try await device.list().count == 1)
            let confirmed = try await onTerminal(["ubcontrol", "store", "remove-everything", store, "--home", device.home.string], typing: "Notes")
            #expect(confirmed.status == 0 && confirmed.output.contains("Removed Notes of alice"), "\(confirmed)")
            #expect(try await device.list().isEmpty)
            #expect(try await device.run("notes", "add", "again").status == 0)
            let unasked = try await device.run("ubcontrol", "store", "remove-everything", store, "--yes")
            #expect(unasked.status == 0, "\(unasked)")
            #expect(try await device.list().isEmpty)
        }
    }

    /// Runs a body with a device that has removed all, and one that has kept: a note written twice, and another's deletion.
    private func withKept(_ body: (_ remover: ToolDevice, _ other: ToolDevice, _ id: String) async throws -> Void) async throws {
        try await withDevices(2) { devices in
            let (remover, other) = (devices[0], devices[1])
            let old = try await remover.run("notes", "add", "old").output.trimmingCharacters(in: .newlines)
            #expect(try await other.list().count == 1)
            try await other.apart {
                let id = try await other.run("notes", "add", "first").output.trimmingCharacters(in: .newlines)
                #expect(try await other.run("notes", "edit", id, "--title", "kept").status == 0)
                #expect(try await other.run("notes", "rm", old).status == 0)
            }
            #expect(try await remover.run("notes", "clear", "--yes").status == 0)
            #expect(try await other.list().isEmpty)
            let entry = try #require(try await other.kept().first)
            try await body(remover, other, entry.id)
        }
    }
}

extension ToolDevice {
    /// An entry as `ubcontrol kept list --json` prints it.
    struct Kept: Decodable {
        struct Entry: Decodable {
            var changes: Int
            var missing: Int
            var restored: String?
        }

        var id: String
        var entry: Entry?
    }

    func kept() async throws -> [Kept] {
        let outcome = try await run("ubcontrol", "kept", "list", "--json")
        try #require(outcome.status == 0, "\(outcome.errors)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Kept.self, from: Data($0.utf8)) }
    }
}
