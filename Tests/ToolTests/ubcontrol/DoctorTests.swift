import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// `ubcontrol doctor` and `ubcontrol container status`, as a person meets them.
@Suite(.timeLimit(.minutes(40)))
struct DoctorTests {
    private struct Report: Decodable {
        struct Finding: Decodable {
            var severity: String
            var area: String
            var path: String?
            var what: String
            var remedy: String
        }

        var home: String
        var account: String?
        var isSound: Bool
        var findings: [Finding]

        /// What is said of one area, but for remarks.
        func about(_ area: String) -> [Finding] { findings.filter { $0.area == area && $0.severity != "remark" } }
    }

    /// Nobody is root here, and so nobody may write what root has made; of the directory for run-time files that root may have, nobody hears.
    private static let nobody = [
        "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/env", "-u", "XDG_RUNTIME_DIR", Tool.path("ubcontrol").string,
    ]

    /// Runs the doctor with a broker's place of the test's own.
    private func examine(_ device: ToolDevice, _ arguments: String...) async throws -> (status: Int32?, report: Report) {
        let runtime = device.home.removingLastComponent().appending("run")
        try FileManager.default.createDirectory(atPath: runtime.string, withIntermediateDirectories: true)
        let outcome = try await Tool.run(
            "ubcontrol", ["doctor", "--json", "--home", device.home.string] + arguments, environment: ["XDG_RUNTIME_DIR": runtime.string])
        #expect(outcome.errors.isEmpty, "\(outcome)")
        return (outcome.status, try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8)))
    }

    /// Every file with its size and times of change; but for SQLite's shared memory, in which a reader notes how far it reads, and for the time at which a
    /// write-ahead log got its owner: where root reads, SQLite sets the same owner once more (fchown(2)).
    private func listing(_ directory: FilePath) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: directory.string).filter { !$0.hasSuffix("-shm") }.sorted().map { path in
            var status = stat()
            try #require(lstat(directory.appending(path).string, &status) == 0)
            let changed = path.hasSuffix("-wal") ? 0 : status.st_ctim.tv_nsec
            return "\(path) \(status.st_mode) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec) \(changed)"
        }
    }

    private func write(_ text: String, to path: FilePath) throws {
        try FileManager.default.createDirectory(atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: path.string))
    }

    @Test("F-29: where sync works for one account and not for another, the doctor is silent on the one and names what is wrong with the other")
    func accounts() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let well = try await examine(device)
            #expect(well.status == 0 && well.report.isSound && well.report.account == "alice", "\(well)")
            #expect(well.report.findings.allSatisfy { $0.severity == "remark" }, "\(well)")
            #expect(well.report.findings.contains { $0.area == "syncthing" && $0.remedy.contains("ubcontrol setup syncthing") }, "\(well)")

            // The other account's root is on a disk that is away.
            let away = device.root.removingLastComponent().appending("disk")
            try FileManager.default.createDirectory(atPath: away.string, withIntermediateDirectories: true)
            #expect(try await device.run("ubcontrol", "sign-in", "bob", "--containers", away.string).status == 0)
            #expect(try await device.run("notes", "add", "Bread").status == 0)
            try FileManager.default.moveItem(atPath: away.string, toPath: away.string + "-away")
            let ill = try await examine(device)
            #expect(ill.status == 1 && !ill.report.isSound && ill.report.account == "bob")
            let faults = ill.report.findings.filter { $0.severity == "fault" }
            #expect(faults.map(\.area) == ["root"] && faults.first?.path == away.string, "\(faults)")
            #expect(faults.first?.what == "the containers root is not there")

            // A damaged record, and nobody signed in.
            let record = device.home.appending("accounts/bob.json")
            try write("{", to: record)
            let damaged = try await examine(device)
            #expect(damaged.status == 1 && damaged.report.about("account").contains { $0.path == record.string && $0.what.hasPrefix("is damaged") })
            #expect(try await device.run("ubcontrol", "sign-in", "alice").status == 0)
            #expect(try await examine(device).report.about("account").map(\.path) == [record.string])
            try FileManager.default.removeItem(atPath: record.string)
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            let out = try await examine(device)
            #expect(out.status == 0 && out.report.account == nil)
            #expect(out.report.about("account").map(\.what) == ["nobody is signed in, so there are no containers"])
        }
    }

    @Test("F-29: the doctor writes nothing, makes nothing, and needs no right to write, which it tells")
    func writesNothing() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            let directory = device.home.removingLastComponent()
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let store = try device.storeFile()
            _ = try await examine(device)
            let before = try listing(directory)
            #expect(try await examine(device, "--deep").status == 0)
            #expect(try listing(directory) == before)
            #expect(try await examine(device, "--deep", "--store", store.string).report.about("store").isEmpty)

            let missing = directory.appending("missing")
            let absent = try await Tool.run("ubcontrol", ["doctor", "--home", missing.string])
            #expect(
                absent.status == 1 && absent.output.contains("there is no device home") && !FileManager.default.fileExists(atPath: missing.string))

            let other = try await Tool.run("/usr/bin/setpriv", Self.nobody + ["doctor", "--json", "--home", device.home.string])
            let report = try JSONDecoder().decode(Report.self, from: Data(other.output.utf8))
            #expect(other.status == 1 && other.errors.isEmpty, "\(other)")
            let faults = report.findings.filter { $0.severity == "fault" }
            #expect(faults.count == 5 && faults.allSatisfy { $0.what.contains("cannot be written") }, "\(faults)")
            #expect(faults.map(\.area) == ["home", "home", "root", "root", "container"])
            // What cannot be read is told as that.
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: device.home.appending("accounts").string)
            let blind = try await Tool.run("/usr/bin/setpriv", Self.nobody + ["doctor", "--home", device.home.string])
            #expect(blind.status == 1 && blind.errors.isEmpty && blind.output.contains("cannot be read by user 65534"), "\(blind)")
        }
    }

    @Test("F-29: what hinders a container is found: a mark that is gone or garbage, a link, colliding names, a rule that is missing")
    func containers() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let marks = device.container.appending(".ubiquity")
            let name = try #require(try FileManager.default.contentsOfDirectory(atPath: marks.string).first)
            let mark = marks.appending(name)
            let content = try String(contentsOfFile: mark.string, encoding: .utf8)
            for (text, words) in [("x", "is not a valid"), (#"{"format":9}"#, "newer version (format 9)")] {
                try write(text, to: mark)
                let found = try await examine(device).report.about("container")
                #expect(found.count == 1 && found.first?.path == mark.string && found.first?.what.contains(words) == true, "\(found)")
            }
            try FileManager.default.removeItem(atPath: mark.string)
            let gone = try await examine(device)
            #expect(gone.status == 1 && gone.report.about("container").first?.what.contains("attachment mark is gone") == true)
            try write(content, to: mark)
            for file in ["Letter", "letter", "a:b", "x.nosync/a:b"] { try write("", to: device.container.appending("Documents").appending(file)) }
            let items = try await examine(device)
            #expect(items.status == 0 && items.report.about("item").map(\.severity) == ["warning", "warning"], "\(items)")
            #expect(items.report.about("item").map { $0.path?.split(separator: "/").last } == ["a:b", "letter"])

            // A folder of Syncthing's, as its marker tells, in which somebody has taken the rule out.
            try FileManager.default.createDirectory(atPath: device.root.appending(".stfolder").string, withIntermediateDirectories: true)
            let rule = try await examine(device)
            #expect(rule.status == 1 && rule.report.about("root").first?.what.contains("*.nosync is missing") == true, "\(rule)")

            // Elsewhere, with a link where it was.
            try FileManager.default.moveItem(atPath: device.container.string, toPath: device.container.string + ".elsewhere")
            try FileManager.default.createSymbolicLink(atPath: device.container.string, withDestinationPath: device.container.string + ".elsewhere")
            #expect(try await examine(device).report.about("container").first?.what.contains("is a symbolic link") == true)
        }
    }

    @Test("F-29: files of a store's content are read only with --deep, and a store only where it is named")
    func stores() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let log = try #require(try device.logs().first)
            let bytes = try Data(contentsOf: URL(filePath: log.string))
            try bytes.dropLast().write(to: URL(filePath: log.string))
            #expect(try await examine(device).status == 0)
            let deep = try await examine(device, "--deep")
            #expect(deep.status == 1 && deep.report.about("store").map(\.path) == [log.string], "\(deep)")
            try bytes.write(to: URL(filePath: log.string))
            let store = try device.storeFile().string
            #expect(try await Tool.run("/usr/bin/sqlite3", [store, "DELETE FROM ubiquity_clock_1"]).status == 0)
            #expect(try await examine(device, "--deep").status == 0)
            let named = try await examine(device, "--store", store)
            #expect(named.status == 1 && named.report.about("store").allSatisfy { $0.path == store }, "\(named)")
            let none = try await examine(device, "--store", "/nowhere/Notes.sqlite")
            #expect(none.status == 1 && none.report.about("store").first?.what.contains("/nowhere") == true)
        }
    }

    @Test("F-29: the limit of watches in force is compared with the directories there are")
    func watches() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let outcome = try await Tool.run(
                "/usr/bin/unshare",
                [
                    "-Ur", "/bin/sh", "-c",
                    "echo 3 > /proc/sys/user/max_inotify_watches && exec \(Tool.path("ubcontrol")) doctor --json --home \(device.home)",
                ], environment: ["XDG_RUNTIME_DIR": device.home.string])
            let report = try JSONDecoder().decode(Report.self, from: Data(outcome.output.utf8))
            let found = report.about("root")
            #expect(found.count == 1 && found.first?.what.contains("may watch 3:") == true && outcome.status == 0, "\(outcome)")
        }
    }

    @Test("F-29: for people it is a line a finding with what to do, without colours in a pipe, and what is alike is summed up")
    func text() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            for number in 10...40 { try write("", to: device.container.appending("Documents/a:\(number)")) }
            try write("", to: device.container.appending("Documents/x\u{1B}y"))
            try write(#"{"format":1,"syncthing":{"address":"nowhere","key":"topsecret"}}"#, to: device.home.appending("config.json"))
            // No broker that other tests have left.
            let outcome = try await device.run("ubcontrol", "doctor", environment: ["XDG_RUNTIME_DIR": device.home.string])
            let lines = outcome.output.split(separator: "\n")
            #expect(outcome.status == 1 && outcome.errors.isEmpty && !outcome.output.contains("\u{1B}") && !outcome.output.contains("topsecret"))
            #expect(lines.filter { $0.hasPrefix("warning: item: ") }.count == 21, "\(lines)")
            #expect(lines.contains("warning: item: 12 more like these (rename it); --json lists all"), "\(lines)")
            #expect(
                lines.first?.hasPrefix("fault: syncthing: \(device.home)/config.json: \"nowhere\" is not an address of Syncthing; give one") == true)
            #expect(
                lines.contains { $0.hasPrefix("warning: home: \(device.home)/config.json: holds Syncthing's key, and others can read it; chmod") })
            #expect(lines.last == "something is in the way (1 fault, 33 warnings, 0 remarks)")
            #expect(try await device.run("ubcontrol", "doctor", "--frobnicate").status == 64)
            let help = try await Tool.run("ubcontrol", ["doctor", "--help"])
            #expect(help.status == 0 && help.output.contains("Exit status 0 if there is no fault"))
        }
    }

    @Test("ubcontrol container status shows items without Syncthing as far as they tell it themselves, and says that nobody was asked")
    func status() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let documents = device.container.appending("Documents")
            for name in ["Letter.txt", "Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "Plain.txt", "x.nosync/deep"] {
                try write("", to: documents.appending(name))
            }
            struct Line: Decodable {
                var path: String
                var status: String
            }
            let all = try await device.run("ubcontrol", "container", "status", "--recursive", "--json")
            #expect(all.status == 0 && all.errors.contains("Syncthing is not asked"), "\(all)")
            let lines = try all.output.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
            #expect(
                lines.map { $0.path.dropFirst(device.container.string.count) } == [
                    "/Documents", "/Documents/Letter.txt", "/Documents/Plain.txt", "/Documents/x.nosync",
                ])
            #expect(lines.map(\.status) == ["unknown", "conflicted", "unknown", "excluded"])
            let one = try await device.run("ubcontrol", "container", "status", documents.appending("x.nosync/deep").string)
            #expect(one.output == "excluded         \(documents)/x.nosync/deep\n")
            #expect(try await device.run("ubcontrol", "container", "status", "org.example.notes").output == "unknown          \(device.container)\n")
            let items = try await device.run("ubwatch", "items", device.container.string)
            #expect(items.output.hasPrefix("unknown          Documents\nconflicted       Documents/Letter.txt\n"), "\(items)")
            #expect(try await device.run("ubwatch", "items", documents.string).status == 64)
            let outside = try await device.run("ubcontrol", "container", "status", "/etc/passwd")
            #expect(outside.status == 64 && outside.errors.contains("lies in no container"), "\(outside)")
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            #expect(try await device.run("ubcontrol", "container", "status").status == 1)
        }
    }

    @Test(
        "--follow ends with status 0 once nobody reads any more, also where SIGPIPE is ignored, as it is by who speaks with Syncthing",
        arguments: [["ubwatch", "items"], ["ubcontrol", "container", "status", "--recursive"]])
    func readerGone(command: [String]) async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "Milk").status == 0)
            let documents = device.container.appending("Documents")
            try write("", to: documents.appending("Letter.txt"))
            let status = device.root.appending("status")
            let line = "\(Tool.path(command[0])) \(command.dropFirst().joined(separator: " ")) \(device.container) --follow --home \(device.home)"
            let running = try await RunningTool("/bin/bash", ["-c", "trap '' PIPE; { timeout 120 \(line); echo $? > \(status); } | head -n 1"])
            let lines = running.lines.limited().makeAsyncIterator()
            #expect(try await lines.next() != nil)
            // It notices with the next line that it writes.
            var number = 0
            while !FileManager.default.fileExists(atPath: status.string) {
                number += 1
                try write("", to: documents.appending("\(number).txt"))
                // Takes a while, in which it may notice.
                _ = try await Tool.run("/bin/true", [])
            }
            #expect(try await running.end().status == 0)
            #expect(try String(contentsOfFile: status.string, encoding: .utf8) == "0\n")
        }
    }
}
