import Foundation
import SystemPackage
import Testing
import ToolProcesses

/// Containers as the tool lists, makes and copies them.
struct ContainerToolTests {
    private struct Listed: Decodable {
        var identifier: String
        var peer: String?
        var state: String
        var isDeclared: Bool
        var stores: [String]
    }

    private struct Copied: Decodable {
        struct LeftOut: Decodable {
            var path: String
            var reason: String
        }

        var files: Int
        var leftOut: [LeftOut]
    }

    private func list(_ device: ToolDevice) async throws -> [Listed] {
        let outcome = try await device.run("ubcontrol", "container", "list", "--json")
        #expect(outcome.status == 0, "\(outcome)")
        return try outcome.output.split(separator: "\n").map { try JSONDecoder().decode(Listed.self, from: Data($0.utf8)) }
    }

    @Test("ubcontrol container lists what is there, was there or is declared, makes one, and makes none again that is gone")
    func listAndCreate() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            #expect(try await list(first).isEmpty)
            #expect(try await first.run("notes", "add", "a").status == 0)
            let made = try await first.run("ubcontrol", "container", "create", "org.example.empty")
            #expect(made.status == 0 && made.output.hasSuffix("org.example.empty: attached\n"), "\(made)")
            try Data(#"{"format":1,"containers":["org.example.declared"]}"#.utf8).write(to: URL(filePath: first.home.appending("config.json").string))
            let listed = try await list(first)
            #expect(listed.map(\.identifier) == ["org.example.declared", "org.example.empty", "org.example.notes"])
            #expect(listed.map(\.state) == ["declared, and not made yet", "attached", "attached"])
            #expect(listed.map(\.stores) == [[], [], ["Notes"]] && listed.map(\.isDeclared) == [true, false, false])
            #expect(try await list(second).map(\.state) == ["not used on this device yet", "not used on this device yet"])

            try FileManager.default.removeItem(atPath: first.root.appending("alice/org.example.empty").string)
            #expect(try await list(first).map(\.state)[1] == "the container's directory is gone")
            #expect(try await first.run("ubcontrol", "container", "create", "org.example.empty").status == 3)
            #expect(!FileManager.default.fileExists(atPath: first.root.appending("alice/org.example.empty").string))
            #expect(try await first.run("ubcontrol", "sign-out").status == 0)
            #expect(try await first.run("ubcontrol", "container", "list").status == 1)
        }
    }

    @Test("S-097: a wipe deletes everything in a container, each app that uses it is told, and the stores on the device keep their notes")
    func wipe() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            for device in [first, second] { #expect(try await device.run("notes", "add", "a").status == 0) }
            #expect(try await first.list().count == 2)
            let documents = first.container.appending("Documents")
            try FileManager.default.createDirectory(atPath: documents.string, withIntermediateDirectories: false)
            try Data("x".utf8).write(to: URL(filePath: documents.appending("Letter.txt").string))
            // An app on each device that listens.
            var listening: [RunningTool] = []
            for device in [first, second] {
                let tool = try await RunningTool("ubcontrol", ["container", "events", "org.example.notes", "--json", "--home", device.home.string])
                for await line in tool.lines where line.contains("watching") { break }
                listening.append(tool)
            }
            let command = ["ubcontrol", "container", "wipe", "org.example.notes", "--home", first.home.string]
            let refused = try await Tool.run("ubcontrol", Array(command.dropFirst()))
            #expect(refused.status == 64 && refused.errors.contains("--yes"), "\(refused)")
            let declined = try await onTerminal(command, typing: "no")
            #expect(declined.status == 1 && declined.output.contains("Nothing has been changed."), "\(declined)")
            let dry = try await first.run("ubcontrol", "container", "wipe", "org.example.notes", "--dry-run")
            #expect(dry.status == 0 && dry.output.hasPrefix("Would delete ") && dry.output.contains("the content of Notes included"), "\(dry)")
            #expect(FileManager.default.fileExists(atPath: documents.appending("Letter.txt").string))
            let wipe = try await onTerminal(command, typing: "org.example.notes")
            #expect(wipe.status == 0 && wipe.output.contains("Deleted "), "\(wipe)")
            for tool in listening {
                for await line in tool.lines where line.contains("contentsRemoved") { break }
                try await tool.stop()
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: first.container.string) == [".ubiquity"])
            let again = try await first.run("ubcontrol", "container", "wipe", "org.example.notes", "--yes")
            #expect(again.output.hasPrefix("Deleted 0 files from \(first.container).\n"), "\(again)")
            #expect(try await first.list().count == 2)
            #expect(try FileManager.default.contentsOfDirectory(atPath: first.container.string) == [".ubiquity"])
            #expect(try await first.run("ubcontrol", "container", "wipe", "org.example.none", "--yes").status == 64)
        }
    }

    @Test("U-80: a wipe refuses before it touches anything where files cannot be coordinated, and says why")
    func wipeWithoutCoordination() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "a").status == 0)
            let documents = device.container.appending("Documents")
            try FileManager.default.createDirectory(atPath: documents.string, withIntermediateDirectories: false)
            try Data("x".utf8).write(to: URL(filePath: documents.appending("Letter.txt").string))
            func entries() throws -> [String] { try FileManager.default.subpathsOfDirectory(atPath: device.container.string).sorted() }
            let before = try entries()
            // Open to others, as another user would have made it.
            let runtime = device.home.removingLastComponent().appending("run")
            try FileManager.default.createDirectory(
                atPath: runtime.appending("ubiquity").string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            let wipe = try await device.run(
                "ubcontrol", "container", "wipe", "org.example.notes", "--yes", environment: ["XDG_RUNTIME_DIR": runtime.string])
            #expect(wipe.status == 1 && wipe.errors.contains("Files cannot be coordinated") && wipe.errors.contains("chmod 700"), "\(wipe)")
            #expect(try entries() == before)
            #expect(try await device.list().count == 1)
        }
    }

    @Test("S-135: a container is copied as it lies there, and what is left out is listed with the reason")
    func copy() async throws {
        try await withDevices(1) { devices in
            let device = devices[0]
            #expect(try await device.run("notes", "add", "a").status == 0)
            let documents = device.container.appending("Documents")
            for directory in [documents, documents.appending("cache.nosync")] {
                try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
            }
            for name in ["Letter.txt", ".syncthing.Big.tmp", "cache.nosync/x"] {
                try Data("text".utf8).write(to: URL(filePath: documents.appending(name).string))
            }
            try FileManager.default.createSymbolicLink(atPath: documents.appending("out").string, withDestinationPath: "/etc/passwd")
            let copy = device.home.removingLastComponent().appending("reports/copy")
            let outcome = try await device.run("ubcontrol", "container", "copy", "org.example.notes", "--to", copy.string, "--json")
            #expect(outcome.status == 0, "\(outcome)")
            let copied = try JSONDecoder().decode(Copied.self, from: Data(outcome.output.utf8))
            #expect(
                copied.leftOut.map(\.path).filter { $0.hasPrefix("Documents") } == [
                    "Documents/.syncthing.Big.tmp", "Documents/cache.nosync", "Documents/out",
                ])
            #expect(copied.leftOut.allSatisfy { $0.path.hasPrefix("Documents") || $0.path.hasSuffix(".nosync") }, "\(copied.leftOut)")
            #expect(try String(contentsOfFile: copy.appending("Documents/Letter.txt").string, encoding: .utf8) == "text")
            let subpaths = try FileManager.default.subpathsOfDirectory(atPath: copy.string)
            #expect(subpaths.contains { $0.hasSuffix(".ublog") } && !subpaths.contains { $0.contains(".nosync") || $0.hasSuffix("/out") })
            #expect(try await Tool.run("ubwatch", ["verify", copy.string]).status == 0)

            let again = try await device.run("ubcontrol", "container", "copy", "org.example.notes", "--to", copy.string)
            #expect(again.status == 1 && again.errors.contains("is there already"), "\(again)")
            let inside = try await device.run("ubcontrol", "container", "copy", device.container.string, "--to", documents.appending("x").string)
            #expect(inside.status == 1 && inside.errors.contains("lies in the container itself"), "\(inside)")
            #expect(try await device.run("ubcontrol", "container", "copy", "org.example.other", "--to", copy.string).status == 64)
        }
    }

    @Test("a wipe that is rehearsed or declined writes nothing, also where this device has never used the container; of one that is gone it fails")
    func wipeRehearsed() async throws {
        try await withDevices(2) { devices in
            let (first, second) = (devices[0], devices[1])
            #expect(try await first.run("notes", "add", "a").status == 0)
            let top = first.root.removingLastComponent()
            func everything() throws -> [String: Data] {
                let paths = try FileManager.default.subpathsOfDirectory(atPath: top.string)
                return Dictionary(
                    uniqueKeysWithValues: paths.map { ($0, FileManager.default.contents(atPath: top.pushing(FilePath($0)).string) ?? Data()) })
            }
            let before = try everything()
            let dry = try await second.run("ubcontrol", "container", "wipe", "org.example.notes", "--dry-run")
            #expect(dry.status == 0 && dry.output.contains("from \(second.container), the content of Notes included."), "\(dry)")
            let command = ["ubcontrol", "container", "wipe", "org.example.notes", "--home", second.home.string]
            let declined = try await onTerminal(command, typing: "no")
            #expect(declined.status == 1 && declined.output.contains("Nothing has been changed."), "\(declined)")
            #expect(try everything() == before)

            try FileManager.default.removeItem(atPath: first.container.string)
            for option in ["--dry-run", "--yes"] {
                let gone = try await first.run("ubcontrol", "container", "wipe", "org.example.notes", option)
                #expect(gone.status == 3 && gone.output.isEmpty, "\(gone)")
                #expect(gone.errors.contains("The container \(first.container) is not there: there is nothing to delete."), "\(gone)")
            }
        }
    }
}
