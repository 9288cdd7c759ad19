import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What `ubcontrol store` says of stores, and does to them beside an app.
struct StoreStateTests {
    private func state(_ device: ToolDevice) async throws -> [String: Any] {
        let outcome = try await device.runBare("ubcontrol", "store", "state", device.storeFile().string, "--json")
        return try #require(try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any], "\(outcome)")
    }

    @Test("ubcontrol store pause holds back what goes out and in, over restarts of the app, until it is resumed; list and state say so")
    func paused() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let store = try device.storeFile().string
            #expect(try await state(device)["isPaused"] as? Bool == false)
            #expect(try await device.runBare("ubcontrol", "store", "pause", store).output == "Paused.\n")
            #expect(try await device.runBare("ubcontrol", "store", "pause", store).output == "It was paused before.\n")
            _ = try await device.run("notes", "add", "two")
            #expect(try await devices[1].list().count == 1)
            let now = try await state(device)
            #expect(now["isPaused"] as? Bool == true && now["records"] as? Int == 2)
            #expect(now["isNoted"] as? Bool == true || now["unpublished"] as? Int == 1, "\(now)")
            let line = try await device.runBare("ubcontrol", "store", "list", FilePath(store).removingLastComponent().string + "/../../../..").output
            #expect(
                line.contains("account of ") && line.contains("2 records; not all has gone out; paused: ") && line.contains("store/Notes.sqlite"),
                "\(line)")
            #expect(try await device.runBare("ubcontrol", "store", "resume", store).output == "Resumed.\n")
            #expect(try await device.list().count == 2)
            #expect(try await devices[1].list().count == 2)
            #expect(try await device.runBare("ubcontrol", "store", "list", "/nowhere").output.isEmpty)
        }
    }

    @Test("ubcontrol store list without a path lists what this device's apps have opened, and names what is gone")
    func known() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let none = try await Tool.run("ubcontrol", ["store", "list", "--home", device.home.string])
            #expect(none.status == 0 && none.output.isEmpty && none.errors.isEmpty, "\(none)")
            #expect(try await device.run("notes", "add", "one").status == 0)
            let file = try device.storeFile()
            // The fallback file stays, and is empty: the account's content has been read.
            let fallback = file.removingLastComponent().removingLastComponent().appending("fallback").appending(file.lastComponent!)
            let lines = """
                fallback of alice; Notes in org.example.notes; 0 records: \(fallback)
                account of alice; Notes in org.example.notes; 1 record: \(file)

                """
            #expect(try await Tool.run("ubcontrol", ["store", "list", "--home", device.home.string]).output == lines)
            // <directory>/CoreDataUbiquitySupport/<peer>/<content>/store/<file>
            let support = file.removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
            try FileManager.default.removeItem(atPath: support.string)
            let gone = try await Tool.run("ubcontrol", ["store", "list", "--home", device.home.string])
            #expect(gone.status == 1 && gone.output.hasSuffix("Notes.sqlite: its files are gone\n"), "\(gone)")
        }
    }

    @Test("a directory means the one store in it, and where there is none or more than one, what to name is said")
    func directory() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let file = try device.storeFile()
            // <directory>/CoreDataUbiquitySupport/<peer>/<content>/store/<file>
            let support = file.removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent()
            let directory = support.removingLastComponent()
            let one = try await Tool.run("ubcontrol", ["store", "state", directory.string])
            #expect(one.status == 0 && one.output.contains(file.string), "\(one)")
            let none = try await Tool.run("ubcontrol", ["store", "state", device.container.string])
            let said = "\(device.container) is a directory, and there is no store in"
            #expect(none.status == 64 && none.errors.contains(said) && none.errors.contains("store list"), "\(none)")
            let inSupport = try await Tool.run("ubcontrol", ["store", "state", support.string])
            #expect(inSupport.status == 0 && inSupport.output.contains(file.string), "\(inSupport)")
            // What cannot be read may be the very store that is meant.
            let damaged = directory.appending(file.lastComponent!).string
            try Data("SQLite format 3\0 and no more".utf8).write(to: URL(filePath: damaged))
            let unreadable = try await Tool.run("ubcontrol", ["store", "state", damaged])
            #expect(unreadable.status == 1 && unreadable.errors.contains("\(damaged) cannot be read as a store"), "\(unreadable)")
            let link = directory.appending("link.sqlite").string
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.string)
            let linked = try await Tool.run("ubcontrol", ["store", "state", link])
            #expect(linked.status == 0 && linked.output.contains(link), "\(linked)")
            let other = file.removingLastComponent().appending("Other.sqlite")
            try FileManager.default.copyItem(atPath: file.string, toPath: other.string)
            let several = try await Tool.run("ubcontrol", ["store", "state", directory.string])
            #expect(several.status == 64 && several.errors.contains("has 2 stores; name one of them:"), "\(several)")
            #expect(several.errors.contains(file.string) && several.errors.contains(other.string), "\(several)")
        }
    }

    @Test("ubcontrol store rebuild has the app make the store anew, and can be withdrawn before it does")
    func rebuilt() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            for title in ["one", "two"] { #expect(try await device.run("notes", "add", title).status == 0) }
            let store = try device.storeFile().string
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, "DELETE FROM ubiquity_clock_1 WHERE rid = 1"]).status == 0)
            #expect(try await device.run("ubcontrol", "store", "check", store).status == 1)
            #expect(try await device.runBare("ubcontrol", "store", "rebuild", store).status == 0)
            #expect(try await state(device)["request"] as? String == "rebuild")
            #expect(try await device.runBare("ubcontrol", "store", "rebuild", store, "--cancel").output == "Withdrawn: rebuild.\n")
            _ = try await device.list()
            #expect(try await device.run("ubcontrol", "store", "check", store).status == 1)
            #expect(try await device.runBare("ubcontrol", "store", "rebuild", store).status == 0)
            #expect(try await device.list().count == 2)
            #expect(try await state(device)["request"] == nil)
            let check = try await device.run("ubcontrol", "store", "check", store)
            #expect(check.status == 0, "\(check)")
        }
    }

    @Test("ubcontrol store republish has the app put back what was wiped, and follow has it removed everywhere")
    func wiped() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let content = try #require(try device.logs().first).removingLastComponent().removingLastComponent().removingLastComponent()
            let store = try device.storeFile().string
            try FileManager.default.removeItem(atPath: content.string)
            _ = try await device.run("notes", "list")
            #expect(!FileManager.default.fileExists(atPath: content.string))
            #expect(try await device.runBare("ubcontrol", "store", "republish", store).status == 0)
            #expect(try await device.list().count == 1)
            #expect(try await devices[1].list().count == 1)
            try FileManager.default.removeItem(atPath: content.string)
            #expect(try await device.runBare("ubcontrol", "store", "follow", store).status == 64)
            #expect(try await device.runBare("ubcontrol", "store", "follow", store, "--yes").status == 0)
            #expect(try await device.list().isEmpty)
            #expect(try await state(device)["epoch"] as? Int == 2)
        }
    }

    @Test("while what was wiped is being put back nothing else can be asked for, and nothing of that is withdrawn")
    func finishing() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let store = try device.storeFile().string
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, "UPDATE ubiquity_state SET request = 'finish-republishing'"]).status == 0)
            let follow = try await device.runBare("ubcontrol", "store", "follow", store, "--yes")
            #expect(follow.status == 1 && follow.errors.contains("is being put back from \(store)"), "\(follow)")
            let rehearsal = try await device.runBare("ubcontrol", "store", "follow", store, "--dry-run")
            #expect(rehearsal.status == 1 && rehearsal.errors == follow.errors, "\(rehearsal)")
            let cancel = try await device.runBare("ubcontrol", "store", "republish", store, "--cancel")
            #expect(cancel.output == "No republish had been asked for.\n", "\(cancel)")
            #expect(try await state(device)["request"] as? String == "finish-republishing")
            #expect(try await device.list().count == 1)
            #expect(try await state(device)["request"] == nil)
            let files = try FileManager.default.subpathsOfDirectory(atPath: device.container.string)
            #expect(files.contains { $0.hasSuffix(".ubbaseline") }, "\(files)")
        }
    }

    @Test(
        "A kill while what was wiped is put back loses nothing: the next exchange goes on, and it is there for a device that comes then",
        arguments: ["reattach.placed", "reattach.marked", "roll.written", "roll.renamed"])
    func killed(point: String) async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            for title in ["one", "two"] { #expect(try await device.run("notes", "add", title).status == 0) }
            try FileManager.default.removeItem(atPath: device.container.string)
            #expect(try await device.runBare("ubcontrol", "store", "republish", device.storeFile().string).status == 0)
            #expect(try await device.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point]).signal == SIGKILL)
            #expect(try await device.list().count == 2)
            #expect(try await state(device)["request"] == nil)
            #expect(try await devices[1].list().count == 2)
            #expect(try await devices[1].run("notes", "add", "three").status == 0)
            #expect(try await device.list().count == 3)
        }
    }

    @Test(
        "A kill while a wipe is followed does not bring the content back: the next exchange goes on",
        arguments: ["reattach.placed", "reattach.marked", "epoch.sealed"])
    func killedFollowing(point: String) async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            for each in devices { #expect(try await each.run("notes", "add", "old").status == 0) }
            #expect(try await device.list().count == 2)
            try FileManager.default.removeItem(atPath: device.container.string)
            #expect(try await device.runBare("ubcontrol", "store", "follow", device.storeFile().string, "--yes").status == 0)
            #expect(try await device.run("notes", "list", environment: ["UBIQUITY_KILL_AT": point]).signal == SIGKILL)
            #expect(try await device.list().isEmpty)
            #expect(try await state(device)["epoch"] as? Int == 2)
            #expect(try await state(device)["request"] == nil)
        }
    }

    @Test("ubcontrol store remove-everything writes one mark, and the app empties its store by it, here and elsewhere")
    func removed() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            #expect(try await devices[1].list().count == 1)
            let store = try device.storeFile().string
            #expect(try await device.run("ubcontrol", "store", "remove-everything", store).status == 64)
            let dry = try await device.run("ubcontrol", "store", "remove-everything", store, "--dry-run")
            #expect(dry.status == 0 && dry.output.hasPrefix("Would remove ") && dry.output.contains("1 record here; epoch 2 would begin"), "\(dry)")
            let announced = try await device.run("ubcontrol", "store", "remove-everything", store, "--dry-run", "--json")
            #expect(announced.status == 0 && announced.output.contains("\"epoch\":2"), "\(announced)")
            #expect(try await device.list().count == 1)
            let outcome = try await device.run("ubcontrol", "store", "remove-everything", store, "--yes", "--json")
            #expect(outcome.status == 0 && outcome.output.contains("\"epoch\":2"), "\(outcome)")
            for each in devices { #expect(try await each.list().isEmpty) }
            #expect(try await device.run("notes", "add", "new").status == 0)
            #expect(try await devices[1].list().count == 1)
        }
    }

    @Test("what hinders a removal its rehearsal says, too, before anybody is asked: a pause, a file out of the way, a mark that is gone, a sign-out")
    func unremovable() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let file = try device.storeFile()
            func expectRefusal(_ store: FilePath, _ status: Int32, _ words: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
                for options in [["--dry-run"], ["--yes"], []] {
                    let arguments = ["store", "remove-everything", store.string, "--home", device.home.string] + options
                    let outcome = try await Tool.run("ubcontrol", arguments)
                    #expect(outcome.status == status && outcome.output.isEmpty, "\(options): \(outcome)", sourceLocation: sourceLocation)
                    #expect(outcome.errors.contains(words), "\(options): \(outcome)", sourceLocation: sourceLocation)
                }
            }
            #expect(try await device.runBare("ubcontrol", "store", "pause", file.string).status == 0)
            try await expectRefusal(file, 1, "is paused: resume it first, with: ubcontrol store resume \(file)")
            #expect(try await device.runBare("ubcontrol", "store", "resume", file.string).status == 0)

            let former = file.removingLastComponent().removingLastComponent().appending("former").appending(file.lastComponent!)
            try FileManager.default.createDirectory(atPath: former.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: file.string, toPath: former.string)
            try await expectRefusal(former, 1, "is no file of an account that is in use")

            let marks = device.container.appending(".ubiquity")
            let mark = marks.appending(try #require(FileManager.default.contentsOfDirectory(atPath: marks.string).first))
            let away = device.root.appending("mark")
            try FileManager.default.moveItem(atPath: mark.string, toPath: away.string)
            try await expectRefusal(file, 1, "The store has no place in")
            try FileManager.default.moveItem(atPath: away.string, toPath: mark.string)

            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            try await expectRefusal(file, 64, "who is not signed in")
            #expect(try await device.run("ubcontrol", "sign-in", "alice").status == 0)
            #expect(try await device.list().count == 1)
        }
    }

    @Test("what only reads a store leaves nothing beside its file that was not there, also where a write-ahead log lies there alone, which it reads")
    func leavesNothing() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let file = try device.storeFile()
            try await device.foldLogs()
            let former = file.removingLastComponent().removingLastComponent().appending("former").appending(file.lastComponent!)
            try FileManager.default.createDirectory(atPath: former.removingLastComponent().string, withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: file.string, toPath: former.string)
            // <directory>/CoreDataUbiquitySupport/<peer>/<content>/store/<file>
            var directory = file
            for _ in 0..<5 { directory.removeLastComponent() }
            func names() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: directory.string).sorted() }
            let commands: [[String]] =
                ["state", "check", "conflicts", "held", "duplicates"].map { ["store", $0, file.string] } + [
                    ["store", "quarantine", "list", file.string],
                    ["peers", "list", file.string], ["store", "list", directory.string], ["kept", "list", "--store", directory.string],
                    ["store", "rebuild", file.string, "--dry-run"], ["store", "remove-everything", file.string, "--dry-run"],
                    ["doctor", "--store", file.string],
                ]
            func expectNothingNew(_ before: [String], sourceLocation: SourceLocation = #_sourceLocation) async throws {
                for command in commands {
                    let bare = command[0] == "store" && ["state", "conflicts", "held", "duplicates", "quarantine", "rebuild"].contains(command[1])
                    let outcome = try await Tool.run(
                        "ubcontrol", command + (bare ? [] : ["--home", device.home.string]), environment: ["XDG_RUNTIME_DIR": device.home.string])
                    #expect(outcome.status == 0, "\(command): \(outcome)", sourceLocation: sourceLocation)
                    #expect(try names() == before, "\(command)", sourceLocation: sourceLocation)
                }
            }
            let rest = try names()
            #expect(!rest.contains { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }, "nobody has the store open")
            try await expectNothingNew(rest)

            // As a process that is killed leaves it, with the shared memory gone.
            let write = "UPDATE ubiquity_state SET gathered = 0"
            let left = try await Tool.run("/usr/bin/sqlite3", ["-cmd", ".dbconfig no_ckpt_on_close on", file.string, write])
            #expect(left.status == 0, "\(left)")
            try? FileManager.default.removeItem(atPath: file.string + "-shm")
            let log = FileManager.default.contents(atPath: file.string + "-wal")
            try #require(log?.isEmpty == false)
            let alone = try names()
            #expect(try await state(device)["isGathered"] as? Bool == false)
            try await expectNothingNew(alone)
        }
    }
}
