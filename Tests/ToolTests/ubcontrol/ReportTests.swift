import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// `ubcontrol report`: what is in the archive, and what is not.
@Suite(.timeLimit(.minutes(40)))
struct ReportTests {
    /// What nobody is to learn, each where it is kept.
    private enum Secret {
        static let title = "sekret-title", body = "sekret-body", document = "sekret-document", folder = "sekret-folder", text = "sekret-text"
        static let lost = "sekret-lost", key = "sekretkey0123456789", conflict = "sekret-conflicting"
        /// Behind a dot, as short as an extension.
        static let ending = "sekretXY"
        static let kept = [title, body, document, folder, text, lost, conflict, ending]
    }

    /// A device with secrets in records, documents, conflicts, quarantined files and its configuration; the notes' identifiers are secret as well.
    private func withSecrets(_ body: (ToolDevice, _ store: FilePath, _ identifiers: [String]) async throws -> Void) async throws {
        try await withDevices(2) { devices in
            let device = devices[0]
            func say(_ device: ToolDevice, _ arguments: String...) async throws -> String {
                let outcome = try await Tool.run("notes", arguments + ["--home", device.home.string])
                try #require(outcome.status == 0, "\(outcome)")
                return outcome.output.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            let first = try await say(device, "add", Secret.title, "--body", Secret.body)
            let second = try await say(devices[1], "add", "other")
            // Of two edits apart from each other one loses.
            for each in devices { _ = try await say(each, "list") }
            try await device.apart { _ = try await say(devices[1], "edit", first, "--title", Secret.lost) }
            _ = try await say(device, "edit", first, "--title", Secret.title + "2")
            _ = try await say(devices[1], "list")
            _ = try await say(device, "list")
            _ = try await say(device, "compact")
            let folder = device.container.appending("Documents").appending(Secret.folder)
            try FileManager.default.createDirectory(atPath: folder.string, withIntermediateDirectories: true)
            let trip = folder.appending("\(Secret.folder).\(Secret.ending)")
            try FileManager.default.createDirectory(atPath: trip.string, withIntermediateDirectories: true)
            let names = [
                "\(Secret.document).txt", "\(Secret.conflict).sync-conflict-20260102-030405-ABCDEFG.txt", "\(Secret.document): a\\b.txt",
                "\(Secret.document).\(Secret.ending)",
            ]
            for name in names {
                try Data(Secret.text.utf8).write(to: URL(filePath: folder.appending(name).string))
            }
            // Another peer's log that nobody can use, and what is no log.
            let before = Set(try device.logs())
            _ = try await say(devices[1], "add", Secret.body)
            let log = try #require(try Set(device.logs()).subtracting(before).first)
            try Data(contentsOf: URL(filePath: log.string)).dropLast().write(to: URL(filePath: log.string))
            try Data(Secret.text.utf8).write(to: URL(filePath: log.removingLastComponent().appending("\(Secret.document).ublog").string))
            _ = try await say(device, "list")
            let settings = #"{"format": 1, "syncthing": {"address": "http://127.0.0.1:1", "key": "\#(Secret.key)"}}"#
            try Data(settings.utf8).write(to: URL(filePath: device.home.appending("config.json").string))
            try await body(device, device.storeFile(), [first, second])
        }
    }

    /// Unpacks an archive, and reads every file in it; the SQLite files and logs too.
    private func unpack(_ archive: FilePath) async throws -> [String: Data] {
        let place = archive.removingLastComponent().appending("unpacked-\(UUID().uuidString)")
        try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: true)
        let outcome = try await Tool.run("/bin/tar", ["-xzf", archive.string, "-C", place.string])
        try #require(outcome.status == 0, "\(outcome)")
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: place.string) {
            files[path] = FileManager.default.contents(atPath: place.pushing(FilePath(path)).string) ?? Data()
        }
        return files
    }

    private func occurs(_ secret: String, in files: [String: Data]) -> [String] {
        files.filter { $0.key.contains(secret) || $0.value.range(of: Data(secret.utf8)) != nil }.keys.sorted()
    }

    @Test(
        "S-136: a report packs versions, the home, the container, headers of logs and the store, and no key, value, document name or content is in it"
    )
    func redacted() async throws {
        try await withSecrets { device, store, identifiers in
            let archive = device.home.appending("report.tar.gz")
            let outcome = try await device.run("ubcontrol", "report", "--output", archive.string, "--store", store.string, "--json")
            try #require(outcome.status == 0, "\(outcome)")
            let files = try await unpack(archive)
            for secret in Secret.kept + identifiers + [Secret.key] {
                #expect(occurs(secret, in: files) == [])
                // Nor what tar itself says of them.
                #expect(!outcome.output.contains(secret) && !outcome.errors.contains(secret))
            }
            let container = "ubiquity-report/containers/org.example.notes"
            func json(_ path: String) throws -> Any { try JSONSerialization.jsonObject(with: try #require(files[path], "\(files.keys.sorted())")) }
            let versions = try #require(try json("ubiquity-report/versions.json") as? [String: Any])
            #expect((versions["kernel"] as? String)?.hasPrefix("Linux ") == true && versions["formats"] != nil)
            let home = try #require(try json("ubiquity-report/home.json") as? [String: Any])
            #expect(home["account"] as? String == "alice" && home["syncthing"] as? String == "http://127.0.0.1:1")
            let findings = try #require(try json("ubiquity-report/doctor.json") as? [[String: Any]])
            #expect(findings.contains { $0["area"] as? String == "item" && $0["what"] == nil && $0["remedy"] != nil })

            // Documents: sizes, and names that are told apart.
            let listing = try #require(try json("\(container)/files.json") as? [String: Any])
            let entries = try #require(listing["entries"] as? [[String: Any]])
            let documents = entries.filter { ($0["path"] as? String)?.hasPrefix("Documents/") == true && $0["kind"] as? String == "file" }
            #expect(documents.count == 4 && documents.allSatisfy { $0["size"] as? Int == Secret.text.utf8.count })
            #expect(documents.contains { ($0["path"] as? String)?.hasSuffix(".sync-conflict-20260102-030405-ABCDEFG.txt") == true })
            #expect(Set(documents.compactMap { $0["path"] as? String }).count == 4)
            #expect(documents.filter { ($0["path"] as? String)?.hasSuffix(".txt") == true }.count == 3)

            // The content and the store, as they say of themselves.
            let content = try #require(try json("\(container)/Notes.content.json") as? [String: Any])
            let parts = try #require(content["parts"] as? [[String: Any]])
            let logs = parts.flatMap { $0["logs"] as? [[String: Any]] ?? [] }
            #expect(logs.contains { ($0["header"] as? [String: Any])?["sequence"] as? Int == 2 && $0["fault"] == nil })
            #expect(logs.contains { $0["header"] != nil && $0["fault"] != nil })
            #expect(parts.contains { ($0["receipts"] as? [Any])?.isEmpty == false })
            #expect(parts.contains { (($0["baselines"] as? [[String: Any]])?.first?["logs"] as? Int) ?? 0 > 0 })
            #expect((content["epochs"] as? [Any])?.isEmpty == false)
            let state = try #require(try json("ubiquity-report/stores/1-Notes.sqlite.json") as? [String: Any])
            #expect((state["rows"] as? [String: Int])?["note"] == 2)
            #expect((state["quarantine"] as? [Any])?.count == 1)
            #expect((state["conflicts"] as? [[String: Any]])?.first?["columns"] as? [String] == ["title"])
            #expect((state["schema"] as? [[String: Any]])?.contains { ($0["sql"] as? String)?.contains("note") == true } == true)
        }
    }

    @Test("With --contents the containers as they are and copies of the stores are in it, and Syncthing's key is not")
    func contents() async throws {
        try await withSecrets { device, store, identifiers in
            let archive = device.home.appending("report.tar.gz")
            let outcome = try await device.run(
                "ubcontrol", "report", "--contents", "--output", archive.string, "--store", store.string, "--container", "org.example.notes")
            try #require(outcome.status == 0, "\(outcome)")
            let files = try await unpack(archive)
            for secret in Secret.kept + identifiers { #expect(!occurs(secret, in: files).isEmpty, "\(secret)") }
            #expect(occurs(Secret.key, in: files) == [])
            let copy = "ubiquity-report/contents/stores/1-Notes.sqlite"
            #expect(files[copy]?.starts(with: Data("SQLite format 3".utf8)) == true)
            let logs = Set(try device.logs().map { $0.lastComponent!.string })
            let copied = files.keys.filter { $0.hasPrefix("ubiquity-report/contents/") }
            #expect(logs.isSubset(of: copied.map { FilePath($0).lastComponent!.string }))
        }
    }

    @Test("What is there is not overwritten, a container that is not there is refused, and nothing is left behind; signed out there is a report too")
    func refuses() async throws {
        try await withDevices(1) { devices in
            let device = devices[0], place = device.home.appending("reports")
            try FileManager.default.createDirectory(atPath: place.string, withIntermediateDirectories: true)
            let archive = place.appending("report.tar.gz")
            try Data("mine".utf8).write(to: URL(filePath: archive.string))
            let refused = try await device.run("ubcontrol", "report", "--output", archive.string)
            #expect(refused.status == 1 && refused.errors.contains("\(archive) is there already"))
            #expect(FileManager.default.contents(atPath: archive.string) == Data("mine".utf8))
            let other = place.appending("other.tar.gz")
            #expect(try await device.run("ubcontrol", "report", "--output", other.string, "--container", "org.example.none").status == 64)
            #expect(try await device.run("ubcontrol", "report", "--output", other.string, "--store", "/none").status == 64)
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.string) == ["report.tar.gz"])
            #expect(try await device.run("ubcontrol", "sign-out").status == 0)
            let outcome = try await device.run("ubcontrol", "report", "--output", other.string)
            #expect(outcome.status == 0 && outcome.output.contains("home.json"), "\(outcome)")
            #expect(try await Set(unpack(other).keys).isSuperset(of: ["ubiquity-report/home.json", "ubiquity-report/doctor.json"]))
        }
    }
}
