import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import UbiquityContainers

/// What the doctor makes of Syncthing's answers.
@Suite(.timeLimit(.minutes(40)))
struct SyncthingFindingsTests {
    private static let container: FilePath = "/f/alice/org.example.notes"

    private func expect(_ findings: [Finding], _ severity: Finding.Severity?, _ words: String, sourceLocation: SourceLocation = #_sourceLocation) {
        #expect(findings.map(\.severity) == (severity.map { [$0] } ?? []), "\(findings)", sourceLocation: sourceLocation)
        #expect(findings.allSatisfy { $0.what.contains(words) && !$0.remedy.isEmpty }, "\(findings)", sourceLocation: sourceLocation)
    }

    private func facts(_ change: (inout SyncthingFacts) -> Void) -> [Finding] {
        var facts = SyncthingFacts(address: "http://h:1")
        facts.version = "v1.19.2"
        facts.folders = [.init(id: "F", path: "/f", containers: [Self.container], devices: [.init(name: "phone"), .init(name: "desk")])]
        change(&facts)
        return facts.findings
    }

    @Test("F-29: each state of a folder that keeps items from travelling is one finding, and one that does not is none")
    func folders() {
        func folder(_ change: (inout SyncthingFacts.Folder) -> Void) -> [Finding] { facts { change(&$0.folders[0]) } }
        expect(folder { _ in }, nil, "")
        expect(folder { $0.type = "receiveonly" }, .fault, "nothing leaves this device")
        expect(folder { $0.type = "sendonly" }, .fault, "arrive here")
        expect(folder { $0.type = "receiveencrypted" }, .fault, "cannot contain a container")
        expect(folder { $0.type = "sideways" }, .warning, "unknown type, sideways")
        expect(folder { $0.isPaused = true }, .fault, "is paused")
        expect(folder { $0.error = "folder marker missing" }, .fault, "folder marker missing")
        expect(folder { $0.maxConflicts = 0 }, .warning, "keeps no copy")
        expect(folder { $0.maxConflicts = 10 }, nil, "")
        expect(folder { $0.maxConflicts = nil }, nil, "")
        expect(folder { $0.isWatched = false }, .warning, "not watched")
        expect(folder { $0.devices = [] }, .warning, "no other device")
        expect(folder { $0.devices = [.init(name: "phone", isPaused: true)] }, .fault, "are paused: phone")
        expect(folder { $0.devices[0].isPaused = true }, .warning, "devices that are paused: phone")
        expect(folder { $0.devices = [.init(name: "phone", isConnected: false)] }, .remark, "is connected: phone")
        expect(folder { $0.devices[0].isConnected = false }, nil, "")
        expect(folder { $0.hidden = [Self.container.appending("Documents/a.bak")] }, .warning, "exclude it")
        for vital in ["", "CoreData/Notes", ".ubiquity/alice~1"] {
            expect(folder { $0.hidden = [Self.container.pushing(FilePath(vital))] }, .fault, "exclude it")
        }
    }

    @Test("F-29: what Syncthing could not bring is told of containers' items, as its answer names them, and of no others'")
    func failures() throws {
        let json = #"{"errors":[{"path":"alice/org.example.notes/x","error":"no space"},{"path":"other/y","error":"e"},{"new":1}],"page":1}"#
        let answer = try JSONDecoder().decode(FolderErrors.self, from: Data(json.utf8))
        #expect(answer.items.count == 2)
        let found = facts { $0.folders[0].failures = answer.items }
        expect(found, .fault, "no space")
        #expect(found.first?.path == "/f/alice/org.example.notes/x")
        #expect(try JSONDecoder().decode(FolderErrors.self, from: Data(#"{"errors":null}"#.utf8)).items.isEmpty)
    }

    @Test("F-29: a container in no folder, a Syncthing that is old, and one that cannot be asked are told")
    func whole() {
        expect(facts { $0.unshared = ["/g"] }, .fault, "is in no folder")
        expect(facts { $0.version = "v1.18.6" }, .warning, "is v1.18.6")
        expect(facts { $0.version = "v2.0.1" }, nil, "")
        expect(facts { $0.version = "unknown-dev" }, nil, "")
        let failure = SyncthingError(.wrongKey, "Syncthing at http://h:1 does not accept the API key; copy it anew.")
        let found = facts { $0.failure = failure }
        expect(found, .fault, "does not accept the API key")
        #expect(found.first?.remedy == "copy it anew")
    }

    @Test("F-29: patterns leave out a container, an item or what stores rest on; a .nosync and other programs' files are not told of")
    func patterns() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-test-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let root = PathFacts.resolved(FilePath(directory))
        let container = root.appending("alice/c")
        for path in [
            "Documents/a.o", "Documents/sub.o/b.o", "CoreData/N/p/1/1.ublog", "x.nosync/a.o", "Documents/a.sync-conflict-20260102-030405-ABCDEFG.o",
        ] {
            let file = URL(filePath: container.appending(path).string)
            try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: file)
        }
        let folder = SyncthingFacts.Folder(id: "F", path: root)
        func leftOut(_ patterns: String...) -> [String] {
            folder.leftOut(of: container, by: IgnorePatterns(patterns)).map { String($0.string.dropFirst(container.string.count)) }.sorted()
        }
        #expect(leftOut("**/*.nosync") == [])
        #expect(leftOut("**/*.o") == ["/Documents/a.o", "/Documents/sub.o"])
        #expect(leftOut("**/*.ublog") == ["/CoreData/N/p/1/1.ublog"])
        #expect(leftOut("/alice/c") == [""])
        #expect(leftOut("!**/a.o", "**/*.o") == ["/Documents/sub.o"])
    }
}
