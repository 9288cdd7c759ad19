import Foundation
import SyncthingStatus
import SystemPackage
import Testing
import UbiquityContainers

/// The rules and readers that need no Syncthing.
struct RuleTests {
    private static func entry(_ version: Int?, isDeleted: Bool = false, isIgnored: Bool = false, isInvalid: Bool = false) -> IndexEntry? {
        guard let version else { return nil }
        var entry = IndexEntry()
        entry.version = ["ABCDEFG:\(version)"]
        entry.isDeleted = isDeleted
        entry.isIgnored = isIgnored
        entry.isInvalid = isInvalid
        entry.modified = "2026-01-02T03:04:05.000000006Z"
        entry.size = 5
        entry.type = "FILE_INFO_TYPE_FILE"
        return entry
    }

    private static let indexed = DiskState(isDirectory: false, size: 5, seconds: 1_767_323_045, nanoseconds: 6)

    @Test(
        "versions here and elsewhere make a status",
        arguments: [
            // on disk, here, newest, being fetched → status
            (false, nil, nil, false, .unknown),
            (true, nil, nil, false, .waitingToUpload),
            (false, nil, entry(1), false, .notDownloaded),
            (false, nil, entry(1), true, .downloading),
            (false, entry(1, isDeleted: true), entry(2), false, .notDownloaded),
            (true, entry(1), entry(2), false, .downloaded),
            (true, entry(1), entry(2), true, .downloading),
            (true, entry(1), entry(2, isDeleted: true), false, .downloaded),
            (false, entry(2, isDeleted: true), entry(2, isDeleted: true), false, .unknown),
            (true, entry(2, isDeleted: true), entry(2, isDeleted: true), false, .waitingToUpload),
            (true, entry(1, isIgnored: true), entry(2), false, .excluded),
            (true, entry(1), entry(2, isInvalid: true), false, .unknown),
            (false, entry(1), entry(1), false, .unknown),
        ] as [(Bool, IndexEntry?, IndexEntry?, Bool, ItemStatus)])
    func versions(isOnDisk: Bool, local: IndexEntry?, global: IndexEntry?, isFetched: Bool, status: ItemStatus) {
        var evidence = ItemEvidence()
        evidence.disk = isOnDisk ? Self.indexed : nil
        evidence.local = local
        evidence.global = global
        evidence.isFetched = isFetched
        #expect(evidence.status == status)
    }

    @Test("the newest version is current only if another device has it and the disk still holds it")
    func holders() {
        var evidence = ItemEvidence()
        evidence.disk = Self.indexed
        evidence.local = Self.entry(1)
        evidence.global = Self.entry(1)
        #expect(evidence.status == .waitingToUpload)
        evidence.isConnected = true
        #expect(evidence.status == .uploading)
        evidence.isElsewhere = true
        #expect(evidence.status == .current)
        evidence.disk!.nanoseconds += 1
        #expect(evidence.status == .waitingToUpload)
        // A disk that cannot keep the time.
        evidence.diskTime = "2026-01-02T04:04:05.000000007+01:00"
        #expect(evidence.status == .current)
        evidence.disk!.size += 1
        #expect(evidence.status == .waitingToUpload)
        evidence.disk = DiskState(isDirectory: true, size: 5, seconds: 0, nanoseconds: 0)
        #expect(evidence.status == .waitingToUpload)
    }

    @Test(
        "patterns leave out what Syncthing leaves out: the first that matches decides",
        arguments: [
            (["*.o", "**/*.o"], "a.o", true), (["*.o"], "b/a.o", false), (["**/*.o"], "b/c/a.o", true),
            (["!keep.o", "*.o"], "keep.o", false), (["*.o", "!keep.o"], "keep.o", true),
            (["(?i)READ*"], "readme", true), (["READ*"], "readme", false), (["(?d)(?i)x"], "X", true),
            (["/top"], "top", true), (["/top"], "a/top", false), (["a?c"], "abc", true), (["a?c"], "a/c", false),
            (["[a-c]1"], "b1", true), (["[!a-c]1"], "b1", false), (["*.{jpg,p[ns]g}"], "x.png", true), (["*.{jpg,png}"], "x.gif", false),
            (["\\*"], "*", true), (["\\*"], "x", false), (["a/**"], "a/b/c", true), ([], "x", false),
        ] as [([String], String, Bool)])
    func ignorePatterns(patterns: [String], name: String, isIgnored: Bool) {
        #expect(IgnorePatterns(patterns).ignores(name) == isIgnored)
    }

    @Test("answers with missing, foreign and mistyped fields are read for what they hold")
    func lenientAnswers() throws {
        func read<Answer: Decodable>(_ text: String, as type: Answer.Type = Answer.self) throws -> Answer {
            try JSONDecoder().decode(type, from: Data(text.utf8))
        }
        let file: FileAnswer = try read(#"{"global": {"version": ["A:1"], "size": "five", "new": {}}, "availability": null, "other": [1]}"#)
        #expect(file.global?.version == ["A:1"] && file.global?.size == 0 && file.local == nil && file.holders.isEmpty && file.diskTime == nil)
        let holders: FileAnswer = try read(#"{"availability": [{"id": "A", "fromTemporary": true}, {"id": "B"}, 7, {}]}"#)
        #expect(holders.holders == ["B"] && holders.global == nil)
        let event: SyncthingEvent = try read(#"{"id": 3, "type": "Future", "data": [1]}"#)
        #expect(event.id == 3 && event.item == nil && event.filenames.isEmpty)
        let fetched: SyncthingEvent = try read(#"{"id": 3, "type": "RemoteDownloadProgress", "data": {"state": {"a": 1, "b": 2}, "folder": "f"}}"#)
        #expect(fetched.filenames == ["a", "b"] && fetched.folder == "f")
        let finished: SyncthingEvent = try read(#"{"id": 3, "data": {"item": "a", "error": null, "filenames": null, "folder": 5}}"#)
        #expect(finished.item == "a" && finished.folder.isEmpty)
        let page: NeedPage = try read(#"{"progress": [{"name": "a"}], "queued": null, "rest": [{"name": "b"}, {}]}"#)
        #expect(page.progress.map(\.name) == ["a"] && page.waiting.map(\.name) == ["b"])
        let completion: Completion = try read(#"{"completion": 100}"#)
        #expect(completion.needed == nil && !completion.isNotSharing)
        let connections: Connections = try read(#"{"connections": {"A": {"connected": true}, "B": {}, "C": 5}}"#)
        #expect(connections.connected == ["A"])
    }

    @Test("a container belongs to the innermost folder that holds it, through links and ~ too")
    func folders() throws {
        let base = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-test-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(atPath: base.string) }
        try FileManager.default.createDirectory(atPath: base.appending("real/inner").string, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: base.appending("link").string, withDestinationPath: "real")
        let folders = try JSONDecoder().decode(
            [FolderConfiguration].self,
            from: Data(
                #"[{"id": "all", "path": "~/real", "devices": [{"deviceID": "ME"}, {"deviceID": "B"}, {}]}, {"id": "in", "path": "\#(base)/real/inner/", "paused": true}]"#
                    .utf8))
        let status = try JSONDecoder().decode(SystemStatus.self, from: Data(#"{"myID": "ME", "tilde": "\#(base)"}"#.utf8))
        let all = try #require(SharedFolder(of: base.appending("link/alice/x"), among: folders, status: status))
        #expect(all.id == "all" && all.others == ["B"] && !all.isPaused)
        #expect(all.name(of: base.appending("link/alice/x")) == "alice/x")
        let inner = try #require(SharedFolder(of: base.appending("link/inner/x"), among: folders, status: status))
        #expect(inner.id == "in" && inner.isPaused && inner.name(of: base.appending("real/inner")) == nil)
        #expect(SharedFolder(of: base.appending("real2"), among: folders, status: status) == nil)
    }

    @Test("an address that nobody can ask, and a key that cannot be one, are refused with an example or the remedy")
    func endpoints() {
        #expect { try SyncthingEndpoint("8384", key: "k") } throws: { "\($0)".contains("http://127.0.0.1:8384") }
        #expect { try SyncthingEndpoint("http://127.0.0.1:8384", key: "a b") } throws: {
            ($0 as? SyncthingError)?.code == .wrongKey && !"\($0)".contains("a b")
        }
    }

    @Test("a build without the trait Syncthing says so, and how to get one with it", .enabled(if: !asksSyncthing))
    func withoutTrait() async throws {
        let source = SyncthingTransport("/nowhere", endpoint: try SyncthingEndpoint("http://127.0.0.1:1", key: "secret"))
        await #expect { try await source.state(of: "/nowhere/x").status } throws: {
            ($0 as? SyncthingError)?.code == .notIncluded && "\($0)".contains("swift build --traits Syncthing")
        }
        #expect { try SyncthingEndpoint("https://127.0.0.1:1", key: "k", certificate: "/etc/passwd") } throws: {
            ($0 as? SyncthingError)?.code == .notIncluded
        }
    }

    @Test("where nothing listens the check says so with the address, and the status is unknown", .asking)
    func notRunning() async throws {
        let endpoint = try SyncthingEndpoint("http://127.0.0.1:1", key: "secret")
        let source = SyncthingTransport("/nowhere", endpoint: endpoint)
        await #expect { try await source.check() } throws: {
            ($0 as? SyncthingError)?.code == .notReachable && "\($0)".contains("http://127.0.0.1:1") && !"\($0)".contains("secret")
        }
        #expect(try await source.state(of: "/nowhere/x").status == .unknown)
        #expect(try await source.state(of: "/nowhere/x.nosync/y").status == .excluded)
        await #expect { try await source.state(of: "/elsewhere").status } throws: { ($0 as? ContainerError)?.code == .notInContainer }
    }
}
