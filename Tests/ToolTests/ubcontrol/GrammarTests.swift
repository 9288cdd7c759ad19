import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// What the commands of ubcontrol have in common: they ask, say beforehand what they would do, and show how far they are.
struct GrammarTests {
    /// Everything that lies in a directory, with what is in it; but for SQLite's shared memory, which reading makes.
    private func contents(_ directory: FilePath) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.string) where !path.hasSuffix("-shm") && !path.hasSuffix("-wal") {
            contents[path] = (try? Data(contentsOf: URL(filePath: directory.pushing(FilePath(path)).string))) ?? Data()
        }
        return contents
    }

    @Test("what destroys something asks on a terminal and does it only when that is confirmed, and without a terminal refuses with 64")
    func confirmation() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "one").status == 0)
            let command = ["ubcontrol", "store", "remove-everything", try device.storeFile().string, "--home", device.home.string]
            let refused = try await Tool.run("ubcontrol", Array(command.dropFirst()))
            #expect(refused.status == 64 && refused.errors.contains("There is no terminal for the confirmation: add --yes."), "\(refused)")
            let declined = try await onTerminal(command, typing: "y")
            #expect(declined.status == 1 && declined.output.contains("This removes Notes of alice with 1 record here"), "\(declined)")
            #expect(declined.output.contains("Nothing has been changed."))
            #expect(try await device.list().count == 1)
            #expect(try await onTerminal(command, typing: "yes").status == 1, "what is typed is the name")
            let confirmed = try await onTerminal(command, typing: "Notes")
            #expect(confirmed.status == 0 && confirmed.output.contains("Removed Notes of alice"), "\(confirmed)")
            #expect(try await device.list().isEmpty)
        }
    }

    @Test("a dry run says what would be done, and does nothing of it")
    func dryRuns() async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            for each in devices { #expect(try await each.run("notes", "add", "note").status == 0) }
            #expect(try await device.list().count == 2)
            let store = try device.storeFile()
            let peer = try #require(
                FileManager.default.contentsOfDirectory(atPath: device.container.appending(".ubiquity").string).first { !store.string.contains($0) })
            let before = try (contents(device.home), contents(device.root))
            // SQLite moves its log into the file whenever the last one closes it: how large that is tells nothing.
            func state() async throws -> String {
                try await Tool.run("ubcontrol", ["store", "state", store.string, "--json"]).output.replacing(/"bytes":\d+/, with: "")
            }
            let asked = try await state()
            let runs: [(arguments: [String], says: String)] = [
                (["store", "remove-everything", store.string, "--home", device.home.string], "Would remove Notes of alice with 2 records here"),
                (["store", "rebuild", store.string], "Would ask the app to rebuild \(store), 2 records."),
                (["store", "republish", store.string], "Would ask the app to republish \(store), 2 records."),
                (["store", "follow", store.string], "Would ask the app to follow \(store), 2 records."),
                (["store", "follow", store.string, "--cancel"], "No follow has been asked for."),
                (["container", "wipe", "org.example.notes", "--home", device.home.string], "Would delete "),
                (["peers", "retire", store.string, peer, "--home", device.home.string], "Would retire phone."),
            ]
            for run in runs {
                let outcome = try await Tool.run("ubcontrol", run.arguments + ["--dry-run"])
                #expect(outcome.status == 0 && outcome.output.hasPrefix(run.says), "\(run.arguments): \(outcome)")
            }
            #expect(try await state() == asked)
            #expect(try contents(device.root) == before.1)
            #expect(try Set(contents(device.home).keys) == Set(before.0.keys))
        }
    }

    @Test("what has been asked of the app is told as JSON, stands in a dry run, and is withdrawn")
    func requests() async throws {
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "note").status == 0)
            let store = try devices[0].storeFile().string
            func control(_ arguments: String...) async throws -> Tool.Outcome { try await Tool.run("ubcontrol", ["store"] + arguments) }
            #expect(try await control("rebuild", store, "--json").output == #"{"asked":"rebuild","store":"\#(store)"}"# + "\n")
            #expect(try await control("republish", store, "--dry-run").output.contains("1 record, and no longer to rebuild."))
            #expect(try await control("rebuild", store, "--cancel", "--dry-run").output == "Would withdraw: rebuild.\n")
            #expect(try await control("rebuild", store, "--cancel").output == "Withdrawn: rebuild.\n")
            #expect(try await control("rebuild", store, "--cancel").output == "No rebuild had been asked for.\n")
            // What another command has asked for stands.
            #expect(try await control("republish", store).status == 0)
            #expect(try await control("rebuild", store, "--cancel").output == "No rebuild had been asked for.\n")
            #expect(try await control("republish", store, "--cancel").output == "Withdrawn: republish.\n")
            #expect(try await control("pause", store, "--json").output == #"{"isPaused":true,"wasPaused":false}"# + "\n")
            #expect(try await control("pause", store, "--json").output == #"{"isPaused":true,"wasPaused":true}"# + "\n")
            #expect(try await control("resume", store).output == "Resumed.\n")
        }
    }

    @Test("long work shows how far it is on a terminal, and wipes that off; elsewhere nothing is shown")
    func progress() async throws {
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "note").status == 0)
            let store = try devices[0].storeFile().string
            let target = devices[0].home.appending("copy").string
            let shown = try await onTerminal(["ubcontrol", "store", "backup", store, target])
            let parts = shown.output.components(separatedBy: "\u{1B}[K")
            #expect(shown.status == 0 && parts.contains { $0.contains("] ") && $0.contains(" %") }, "\(shown)")
            #expect(
                parts.count > 2 && parts[parts.count - 2].trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
                    && parts.last?.contains("Wrote \(target)") == true, "\(shown)")
            let plain = try await Tool.run("ubcontrol", ["store", "backup", store, target + "2"])
            #expect(plain.status == 0 && plain.errors.isEmpty, "\(plain)")
        }
    }

    @Test("ubcontrol kept lists the files of a store that were put out of its way, where it is given the store")
    func outOfTheWay() async throws {
        try await withDevices(1) { devices in
            #expect(try await devices[0].run("notes", "add", "note").status == 0)
            let place = try devices[0].storeFile().removingLastComponent()
            let app = place.removingLastComponent().removingLastComponent().removingLastComponent().removingLastComponent().appending("Notes.sqlite")
            func list(_ arguments: String...) async throws -> String {
                try await devices[0].runKept(["list", "--store", app.string] + arguments)
            }
            #expect(try await list().isEmpty)
            try FileManager.default.moveItem(atPath: place.string, toPath: place.removingLastComponent().appending("former").string)
            let damaged = place.removingLastComponent().appending("damaged-1")
            try FileManager.default.createDirectory(atPath: damaged.string, withIntermediateDirectories: false)
            try Data("no database".utf8).write(to: URL(filePath: damaged.appending("Notes.sqlite").string))
            let lines = try await list().split(separator: "\n")
            #expect(lines.count == 2 && lines[0].hasPrefix("\(damaged)/Notes.sqlite: ") && lines[0].contains("cannot be read"), "\(lines)")
            #expect(lines[1].hasPrefix("former account of alice  Notes in org.example.notes; 1 record: "), "\(lines)")
            let objects = try await list("--json").split(separator: "\n")
            #expect(objects.count == 2 && objects[0].contains("\"fault\":") && objects[1].contains("\"place\":\"former account\""), "\(objects)")
        }
    }
}

extension ToolDevice {
    fileprivate func runKept(_ arguments: [String]) async throws -> String {
        let outcome = try await Tool.run("ubcontrol", ["kept"] + arguments + ["--home", home.string])
        try #require(outcome.status == 0, "\(outcome)")
        return outcome.output
    }
}
