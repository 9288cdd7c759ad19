import FileCoordination
import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityContainers

/// What the doctor makes of what it has gathered.
@Suite(.timeLimit(.minutes(40)))
struct DiagnosisTests {
    private static func directory(_ path: FilePath) -> PathFacts {
        PathFacts(path: path, kind: .directory, mode: 0o755, owner: 1000, isReadable: true, isWritable: true)
    }

    /// A finding by how much it matters and words that it has.
    private func expect(_ findings: [Finding], _ severity: Finding.Severity?, _ words: String, sourceLocation: SourceLocation = #_sourceLocation) {
        if let severity {
            #expect(findings.count == 1, "\(findings)", sourceLocation: sourceLocation)
            #expect(findings.first?.severity == severity, "\(findings)", sourceLocation: sourceLocation)
            #expect(findings.first?.what.contains(words) == true, "\(findings)", sourceLocation: sourceLocation)
            #expect(findings.allSatisfy { !$0.remedy.isEmpty && !$0.remedy.contains("\n") }, "\(findings)", sourceLocation: sourceLocation)
        } else {
            #expect(findings.isEmpty, "\(findings)", sourceLocation: sourceLocation)
        }
    }

    @Test("F-29: a home that is missing, closed or open to others, and one that nobody is signed in to, are told apart")
    func home() {
        func home(_ change: (inout PathFacts) -> Void) -> HomeFacts {
            var place = Self.directory("/home")
            change(&place)
            let account = HomeFacts.Account(name: "alice", root: Self.directory("/root"), isRootChosen: true, peers: [:])
            return HomeFacts(
                user: 1000, home: place, accounts: PathFacts(path: "/home/accounts", kind: .nothing), files: [], account: account, hasKey: false)
        }
        expect(home { _ in }.findings, nil, "")
        expect(home { $0.kind = .nothing }.findings, .fault, "there is no device home")
        expect(home { $0.kind = .file }.findings, .fault, "not a directory")
        expect(home { $0.kind = .hidden(.permissionDenied) }.findings, .fault, "cannot be inspected")
        expect(home { $0.isWritable = false }.findings, .fault, "cannot be written by user 1000")
        expect(home { $0.isReadable = false }.findings, .fault, "cannot be read by user 1000")
        expect(home { $0.owner = 7 }.findings, .warning, "belongs to user 7")
        expect(home { $0.mode = 0o777 }.findings, .warning, "can be written by others")
        var signedOut = home { _ in }
        signedOut.account = nil
        expect(signedOut.findings, .warning, "nobody is signed in")
        var stranger = home { _ in }
        stranger.account?.peers = ["org.example.notes": .init(identifier: "bob~0", attached: true, root: nil)]
        expect(stranger.findings, .fault, "bob~0")
    }

    @Test("F-29: a file of the home that is damaged, newer, open to writers, or shows Syncthing's key is one finding with its remedy")
    func files() {
        func file(_ role: HomeFacts.File.Role, mode: UInt32 = 0o600, hasKey: Bool = false, _ fault: ContainerError? = nil) -> [Finding] {
            let place = PathFacts(path: "/home/f.json", kind: .file, mode: mode, owner: 1000, isReadable: true, isWritable: true)
            let account = HomeFacts.Account(name: "alice", root: Self.directory("/root"), isRootChosen: true, peers: [:])
            return HomeFacts(
                user: 1000, home: Self.directory("/home"), accounts: Self.directory("/home/accounts"),
                files: [.init(role: role, place: place, fault: fault)], account: account, hasKey: hasKey
            ).findings
        }
        expect(file(.configuration, hasKey: true), nil, "")
        expect(file(.configuration, mode: 0o644), nil, "")
        expect(file(.configuration, mode: 0o640, hasKey: true), .warning, "others can read it")
        expect(file(.account, mode: 0o662), .warning, "can be written by others")
        let damaged = file(.record("alice"), ContainerError(.malformed, "/home/f.json is damaged; restore it.", path: "/home/f.json"))
        expect(damaged, .fault, "is damaged")
        #expect(damaged.first?.what == "is damaged" && damaged.first?.remedy == "restore it" && damaged.first?.path == "/home/f.json")
    }

    @Test("F-29, S-147: the containers root is judged by what it is, what it lies on, its room, its watches and the rule against .nosync")
    func root() {
        func root(_ kind: PathFacts.Kind = .directory, isChosen: Bool = true, _ change: (inout RootFacts) -> Void = { _ in }) -> [Finding] {
            var place = Self.directory("/root")
            place.kind = kind
            var facts = RootFacts(place: place, isChosen: isChosen)
            facts.real = "/root"
            facts.account = Self.directory("/root/alice")
            facts.fileSystem = FileSystemFacts(type: 0xEF53, size: 1 << 40, available: 1 << 39, files: 1 << 20, freeFiles: 1 << 19)
            facts.watchLimit = 1000
            facts.directories = 500
            change(&facts)
            return facts.findings
        }
        expect(root(), nil, "")
        expect(root(.nothing), .fault, "is not there")
        expect(root(.nothing, isChosen: false), nil, "")
        expect(root(.file), .fault, "not a directory")
        expect(root(.link("/elsewhere")), .warning, "symbolic link to /elsewhere")
        expect(root(.link("/elsewhere")) { $0.real = nil }, .fault, "where nothing is")
        expect(root { $0.place.isWritable = false }, .fault, "cannot be written")
        expect(root { $0.account?.kind = .link("/x") }, .fault, "symbolic link")
        expect(root { $0.account?.isReadable = false }, .fault, "cannot be read")
        expect(root { $0.fileSystem?.type = 0x6969 }, .warning, "NFS")
        expect(root { $0.fileSystem?.type = 0xFE53_4D42 }, .warning, "SMB")
        expect(root { $0.fileSystem?.type = 0x6573_5546 }, .remark, "FUSE")
        expect(root { $0.fileSystem?.foldsCase = true }, .remark, "case")
        expect(root { $0.fileSystem?.available = 1000 }, .fault, "full")
        expect(root { $0.fileSystem?.available = 10 << 20 }, .warning, "nearly full")
        expect(root { $0.fileSystem?.freeFiles = 3 }, .warning, "3 more files")
        // btrfs knows no such limit.
        expect(root { $0.fileSystem = FileSystemFacts(type: 0x9123_683E, size: 1 << 40, available: 1 << 39) }, nil, "")
        expect(root { $0.directories = 501 }, .remark, "501 directories")
        expect(root { $0.directories = 1001 }, .warning, "1001 directories")
        expect(root { $0.rule = .failed("/root/.stignore", .noSuchFileOrDirectory) }, .fault, "*.nosync is missing")
        // Right after a sign-in nothing is there that it would keep.
        expect(
            root {
                $0.rule = .failed("/root/.stignore", .noSuchFileOrDirectory)
                $0.account?.kind = .nothing
            }, .remark, "not there yet")
        expect(root { $0.rule = .failed("/root/.stignore", .permissionDenied) }, .fault, "cannot be read")
        expect(root { $0.rule = .present("/root/.stignore") }, nil, "")
    }

    private static let own = "alice~00000000-0000-0000-0000-000000000001"

    @Test("F-29: a container's marks are judged by whose they are and what they hold, and its state by what is missing")
    func container() {
        func container(
            _ state: KnownContainer.State = .attachment(.attached), _ mark: ContainerFacts.Mark.Content = .good, name: String = Self.own,
            _ change: (inout ContainerFacts) -> Void = { _ in }
        ) -> [Finding] {
            var facts = ContainerFacts(
                identifier: "org.example.notes", account: "alice", place: Self.directory("/root/alice/org.example.notes"), state: state,
                peer: Self.own,
                marks: [.init(name: name, content: mark)])
            change(&facts)
            return facts.findings
        }
        let other = "alice~00000000-0000-0000-0000-000000000002"
        expect(container(), nil, "")
        expect(container(name: other), nil, "")
        expect(container(.unused), nil, "")
        expect(container(.notMade), .remark, "declared")
        expect(container(.attachment(.detached(.markGone))), .fault, "attachment mark is gone")
        expect(container(.attachment(.detached(.containerGone))), .fault, "directory is gone")
        expect(container(.attachment(.detached(.unreadable(.permissionDenied)))), .fault, "cannot be read")
        // That the root is gone is told of the root.
        expect(container(.attachment(.detached(.rootGone))), nil, "")
        expect(container(.attachment(.detached(.containerGone))) { $0.before = "/old" }, .fault, "below /old")
        expect(container { $0.place.kind = .link("/x") }, .fault, "symbolic link to /x")
        expect(container { $0.place.isWritable = false }, .fault, "cannot be written")
        expect(container(.unused, .newer(2)), .warning, "newer version (format 2)")
        expect(container(.unused, .garbage), .fault, "this device's own")
        expect(container(.unused, .garbage, name: other), .warning, "is not a valid")
        expect(container(.unused, .unreadable(.permissionDenied)), .fault, "cannot be read")
        expect(container(.unused, name: "bob~00000000-0000-0000-0000-000000000003"), .fault, "another account, bob")
        expect(container(.unused, name: "notes.txt"), .remark, "not an attachment mark")
    }

    @Test(
        "F-29: a name that other systems cannot store, or that Syncthing leaves out, is found",
        arguments: [
            ("Letter.txt", nil), ("Café", nil), ("COM10", nil), ("console", nil), (".hidden", nil), (String(repeating: "x", count: 217), nil),
            ("a:b", .hasPlainCharacters), ("what?", .hasPlainCharacters), ("a\\b", .hasPlainCharacters), ("tab\there", .hasPlainCharacters),
            ("con", .isNoDevice), ("NUL.txt", .isNoDevice), ("lpt1.tar.gz", .isNoDevice), ("end.", .endsPlainly), ("end ", .endsPlainly),
            ("Cafe\u{301}", .isComposed), (String(repeating: "x", count: 218), .leavesRoom),
        ] as [(String, NameRule?)])
    func names(name: String, rule: NameRule?) {
        #expect(NameRule.broken(by: name) == (rule.map { [$0] } ?? []))
    }

    @Test("F-29: names that are not text, collide on other systems, lead out or are no files are found in a directory, but not in a .nosync")
    func directory() async throws {
        try await withTemporaryDirectory { directory in
            let container = try #require(PathFacts.real(directory)).appending("c")
            let manager = FileManager.default
            for path in ["Sub", "x.nosync/deep"] {
                try manager.createDirectory(atPath: container.appending(path).string, withIntermediateDirectories: true)
            }
            for name in [
                "Letter", "letter", "Sub/A.sync-conflict-20260102-030405-ABCDEFG", "Sub/a.sync-conflict-20260102-030405-ABCDEFG", "x.nosync/a:b",
            ] {
                try Data().write(to: URL(filePath: container.appending(name).string))
            }
            for (name, target) in [("in", "Sub"), ("out", "../else"), ("away", "/nowhere/at/all"), ("round", "Sub/../Sub")] {
                try manager.createSymbolicLink(atPath: container.appending(name).string, withDestinationPath: target)
            }
            #expect(mkfifo(container.appending("pipe").string, 0o600) == 0)
            let bytes: [CChar] = Array(container.string.utf8CString.dropLast()) + [0x2F, 0x62, -1, 0]
            try #require(open(bytes, O_CREAT | O_WRONLY, 0o600) >= 0)
            var found: [Finding] = []
            var seen: [FilePath] = []
            DirectoryFacts.walk(container) { directory, isLocal in
                seen.append(directory.path)
                if !isLocal { found += directory.findings }
                return []
            }
            #expect(seen.count == 4, "\(seen)")
            let words = found.map { "\($0.path!.dropFirst(container.string.count + 1)): \($0.what)" }.sorted()
            try #require(words.count == 5, "\(words)")
            #expect(words[0].hasPrefix("away: is a symbolic link out of the container, to /nowhere/at/all"))
            #expect(words[1].hasPrefix("b\u{FFFD}: has a name that is not UTF-8"))
            #expect(words[2] == "letter: differs from Letter in case or spelling only: many other systems take both for one name")
            #expect(words[3].hasPrefix("out: is a symbolic link out") && words[4].hasPrefix("pipe: is neither"))
            #expect(found.filter { $0.severity == .fault }.count == 1)
        }
    }

    @Test("F-29: a stale socket is a remark, a stopped client a warning, and a place that programs refuse a fault; looking makes nothing")
    func broker() async throws {
        try await withTemporaryDirectory { directory in
            let place = directory.appending("ubiquity")
            let control = BrokerControl(place: BrokerPlace(directory: place))
            expect(control.condition().findings, nil, "")
            #expect(!FileManager.default.fileExists(atPath: place.string))
            try FileManager.default.createDirectory(
                atPath: place.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            expect(control.condition().findings, nil, "")
            try Data().write(to: URL(filePath: place.appending("broker.socket").string))
            expect(control.condition().findings, .remark, "has ended")
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.string)
            expect(control.condition().findings, .fault, "can be entered by others")
            #expect(try tree(below: place) == ["broker.socket"])
        }
    }
}
