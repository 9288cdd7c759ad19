import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

@testable import FileCoordination

/// The versions of files that synchronisers left beside them.
@Suite(.timeLimit(.minutes(40))) struct FileVersionTests {
    private let mark = "sync-conflict-20260102-030405-ABCDEFG"
    private let other = "sync-conflict-20260103-030405-HIJKLMN"

    /// A directory with `Letter.txt` and its copies.
    private func withLetter(copies: [String] = [], _ body: (_ directory: FilePath, _ letter: URL) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            for name in ["Letter.txt"] + copies.map({ "Letter.\($0).txt" }) { try write(name, to: directory.appending(name)) }
            try await body(directory, URL(filePath: directory.appending("Letter.txt").string))
        }
    }

    private func write(_ text: String, to path: FilePath) throws { try Data(text.utf8).write(to: URL(filePath: path.string)) }
    private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    @Test(
        "U-76: a conflict copy's name is taken apart as Syncthing makes it",
        arguments: [
            ("Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "Letter.txt", "ABCDEFG"),
            ("README.sync-conflict-20260102-030405-ABCDEF7", "README", "ABCDEF7"),
            ("a.tar.sync-conflict-20260102-030405-ABCDEFG.gz", "a.tar.gz", "ABCDEFG"),
            (".sync-conflict-20260102-030405-ABCDEFG.bashrc", ".bashrc", "ABCDEFG"),
            ("end.sync-conflict-20260102-030405-ABCDEFG.", "end.", "ABCDEFG"),
            ("Brief ö.sync-conflict-20260102-030405-ABCDEFG.txt", "Brief ö.txt", "ABCDEFG"),
            ("old.sync-conflict-20260102-030405.txt", "old.txt", nil),
            ("a.sync-conflict-20260101-000000-AAAAAAA.sync-conflict-20260102-030405-ABCDEFG.txt", "a.txt", "ABCDEFG"),
        ] as [(String, String, String?)])
    func names(name: String, original: String, device: String?) throws {
        let parsed = try #require(ConflictName(name))
        #expect(parsed.original == original)
        #expect(parsed.device == device)
    }

    @Test(
        "U-76: what only resembles a conflict copy's name is a name like others",
        arguments: [
            "Letter.txt", "Letter.sync-conflict-.txt", "Letter.sync-conflict-20261302-030405-ABCDEFG.txt",
            "Letter.sync-conflict-20260102-240405-ABCDEFG.txt", "Letter.sync-conflict-20260102-030405-ABCDEF.txt",
            "Letter.sync-conflict-20260102-030405-ABCDEFGH.txt", "Letter.sync-conflict-20260102-030405-ABCDEF1.txt",
            "Letter.sync-conflict-20260102-030405-abcdefg.txt", "Letter.sync-conflict-2026010a-030405-ABCDEFG.txt",
            "Letter.sync-conflict-20260102-030405-ABCDEFG.tar.gz", "Letter.txt.sync-conflict-20260102-030405-ABCDEFG",
            "Letter.sync-conflict-20260102-030405-ABCDEFG~.txt", "Letter-sync-conflict-20260102-030405-ABCDEFG.txt",
            ".sync-conflict-20260102-030405-ABCDEFG", "..sync-conflict-20260102-030405-ABCDEFG.", ".sync-conflict-20260102-030405-ABCDEFG.", "", ".",
            "..",
        ])
    func noNames(name: String) { #expect(ConflictName(name) == nil) }

    @Test("U-76: losers of conflicts are unresolved versions of their item, the newest first, with the device that wrote them")
    func lookup() async throws {
        try await withLetter(copies: [mark, other]) { directory, letter in
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1000)], ofItemAtPath: directory.appending("Letter.\(other).txt").string)
            try write("", to: directory.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.md"))
            let current = try #require(await FileVersion.currentVersion(ofItemAt: letter))
            #expect(!current.isConflict && current.isResolved && current.hasLocalContents && current.url == letter)
            let versions = try #require(await FileVersion.unresolvedConflictVersions(ofItemAt: letter))
            #expect(versions.map(\.path.lastComponent?.string) == ["Letter.\(mark).txt", "Letter.\(other).txt"])
            #expect(versions.map(\.nameOfSavingComputer) == ["ABCDEFG", "HIJKLMN"])
            #expect(versions[1].modificationDate == Date(timeIntervalSince1970: 1000))
            #expect(versions.allSatisfy { $0.isConflict && !$0.isResolved && $0.hasLocalContents && $0.localizedName == "Letter.txt" })
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == versions)
            #expect(try text(versions[0].url) == "Letter.\(mark).txt")
        }
    }

    @Test("U-76: of a file that is not there the versions are nil, of one without others none")
    func missing() async throws {
        try await withLetter { directory, letter in
            #expect(try await FileVersion.unresolvedConflictVersions(ofItemAt: letter) == [])
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == [])
            try write("", to: directory.appending("Gone.\(mark).txt"))
            for name in ["Gone.txt", "no/Letter.txt", "Letter.txt/x"] {
                let url = URL(filePath: directory.appending(name).string)
                #expect(try await FileVersion.currentVersion(ofItemAt: url) == nil)
                #expect(try await FileVersion.otherVersions(ofItemAt: url) == nil)
                #expect(try await FileVersion.unresolvedConflictVersions(ofItemAt: url) == nil)
            }
        }
    }

    @Test("U-76: a persistent identifier finds its version again after a round trip through JSON, and after item and copy were renamed")
    func identifiers() async throws {
        try await withLetter(copies: [mark, other]) { directory, letter in
            var item = letter
            for rename in [false, true] {
                if rename {
                    item = URL(filePath: directory.appending("Note.md").string)
                    try FileManager.default.moveItem(at: letter, to: item)
                    for mark in [mark, other] {
                        try FileManager.default.moveItem(
                            atPath: directory.appending("Letter.\(mark).txt").string, toPath: directory.appending("Note.\(mark).md").string)
                    }
                }
                let versions = try #require(await FileVersion.otherVersions(ofItemAt: item))
                for version in try versions + [#require(await FileVersion.currentVersion(ofItemAt: item))] {
                    let archived = try JSONEncoder().encode(version.persistentIdentifier)
                    let identifier = try JSONDecoder().decode(FileVersionIdentifier.self, from: archived)
                    #expect(try await FileVersion.version(ofItemAt: item, forPersistentIdentifier: identifier) == version)
                }
                #expect(Set(versions.map(\.persistentIdentifier.rawValue)) == [mark, other])
            }
            let hostile = FileVersionIdentifier(rawValue: "../\(mark)")
            #expect(try await FileVersion.version(ofItemAt: item, forPersistentIdentifier: hostile) == nil)
        }
    }

    @Test("U-76: a resolved version stays, is unresolved in no process any more, and is not made unresolved again but by other content")
    func resolving() async throws {
        try await withLetter(copies: [mark, other]) { directory, letter in
            let version = try #require(await FileVersion.version(ofItemAt: letter, forPersistentIdentifier: .init(rawValue: mark)))
            let before = try tree(below: directory)
            try await version.setResolved(true)
            try await version.setResolved(true)
            #expect(version.isResolved && version.isConflict)
            // Nothing that a device could misread lies in the tree.
            #expect(try tree(below: directory) == before)
            #expect(try await FileVersion.unresolvedConflictVersions(ofItemAt: letter)?.map(\.persistentIdentifier.rawValue) == [other])
            #expect(try await FileVersion.otherVersions(ofItemAt: letter)?.count == 2)
            await #expect { try await version.setResolved(false) } throws: { ($0 as? ContainerError)?.code == .notAllowed }
            #expect(version.isResolved)
            // Written in place by somebody who does not know.
            let file = try FileHandle(forWritingTo: version.url)
            try file.write(contentsOf: Data("new".utf8))
            try file.close()
            #expect(try await FileVersion.unresolvedConflictVersions(ofItemAt: letter)?.count == 2)
        }
    }

    @Test("U-76: a version is removed, inside an accessor too; the current one is not")
    func removal() async throws {
        try await withLetter(copies: [mark, other]) { directory, letter in
            let current = try #require(await FileVersion.currentVersion(ofItemAt: letter))
            await #expect { try await current.remove() } throws: { ($0 as? ContainerError)?.code == .notAllowed }
            #expect(try text(letter) == "Letter.txt")
            let version = try #require(await FileVersion.version(ofItemAt: letter, forPersistentIdentifier: .init(rawValue: mark)))
            try await version.remove()
            // Gone already.
            try await version.remove()
            #expect(!version.hasLocalContents)
            let coordinator = FileCoordinator()
            try await coordinator.write(letter) { url in
                let left = try #require(await FileVersion.otherVersions(ofItemAt: url))
                #expect(left.map(\.persistentIdentifier.rawValue) == [other])
                try await left[0].remove(coordinator: coordinator, deadline: .after(.seconds(30)))
            }
            #expect(try tree(below: directory) == ["Letter.txt"])
        }
    }

    @Test("U-76: the removal of versions waits for a reader of the item, and of the version")
    func coordination() async throws {
        try await withLetter(copies: [mark]) { directory, letter in
            let version = try #require(await FileVersion.otherVersions(ofItemAt: letter)?.first)
            for url in [letter, version.url] {
                try await FileCoordinator().read(url) { _ in
                    // On a task of its own, so that it is nested in nothing.
                    let removal = Task.detached { try await version.remove(deadline: .after(.milliseconds(1))) }
                    await #expect(throws: FileCoordinationError.self) { try await removal.value }
                }
            }
            #expect(version.hasLocalContents)
        }
    }

    @Test("U-76: all other versions are removed, also a hundred, and what is no version stays")
    func removingAll() async throws {
        try await withLetter { directory, letter in
            for index in 0..<100 {
                try write(
                    "",
                    to: directory.appending(
                        "Letter.sync-conflict-2026010\(1 + index / 50)-01\(index % 60 < 10 ? "0" : "")\(index % 60)00-\(device(index)).txt"))
            }
            #expect(try await FileVersion.otherVersions(ofItemAt: letter)?.count == 100)
            let others = ["Letter.sync-conflict-x.txt", "Other.\(mark).txt", "Letter.\(mark).md"]
            for name in others { try write("", to: directory.appending(name)) }
            // Neither of these is a version, though their names are.
            try FileManager.default.createDirectory(
                atPath: directory.appending("Letter.sync-conflict-20260201-000000-DIRECTO.txt").string, withIntermediateDirectories: false)
            try FileManager.default.createSymbolicLink(
                atPath: directory.appending("Letter.sync-conflict-20260201-000000-LINKLIN.txt").string, withDestinationPath: "Letter.txt")
            try await FileVersion.removeOtherVersions(ofItemAt: letter)
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == [])
            #expect(try tree(below: directory).count == 1 + others.count + 2)
            #expect(try text(letter) == "Letter.txt")
        }
    }

    /// Seven characters of base 32.
    private func device(_ index: Int) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        return "AAAA" + String([digits[index >> 10 & 31], digits[index >> 5 & 31], digits[index & 31]])
    }

    @Test("U-76: a version that is chosen takes the item's place, and stays a version unless it is moved", arguments: [false, true])
    func replacing(moves: Bool) async throws {
        try await withLetter(copies: [mark, other]) { directory, letter in
            let version = try #require(await FileVersion.version(ofItemAt: letter, forPersistentIdentifier: .init(rawValue: mark)))
            try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1000)], ofItemAtPath: version.path.string)
            try await version.setResolved(true)
            #expect(try await version.replaceItem(at: letter, options: moves ? .byMoving : []) == letter)
            #expect(try text(letter) == "Letter.\(mark).txt")
            #expect(try await FileVersion.otherVersions(ofItemAt: letter)?.count == (moves ? 1 : 2))
            // It counts as changed now, for presenters and for the synchroniser.
            #expect(try #require(await FileVersion.currentVersion(ofItemAt: letter)).modificationDate > Date(timeIntervalSinceNow: -600))
            // No draft is left.
            #expect(try tree(below: directory).count == (moves ? 2 : 3))
            // Should it lose a conflict itself, that is another one.
            let lost = directory.appending("Letter.sync-conflict-20260104-030405-ABCDEFG.txt")
            try FileManager.default.moveItem(atPath: letter.path, toPath: lost.string)
            #expect(ConflictCopy(at: lost)?.isResolved == false)
        }
    }

    @Test("U-76: a replacement that cannot be made leaves all as it was, and never follows a link")
    func noReplacing() async throws {
        try await withLetter(copies: [mark]) { directory, letter in
            let version = try #require(await FileVersion.otherVersions(ofItemAt: letter)?.first)
            let current = try #require(await FileVersion.currentVersion(ofItemAt: letter))
            let folder = URL(filePath: directory.appending("Folder").string)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            let before = try tree(below: directory)
            for options in [[], FileVersion.ReplacingOptions.byMoving] {
                await #expect { try await version.replaceItem(at: folder, options: options) } throws: { ($0 as? ContainerError)?.code == .fileSystem }
                await #expect { try await current.replaceItem(at: letter, options: options) } throws: { ($0 as? ContainerError)?.code == .notAllowed }
            }
            let elsewhere = URL(filePath: directory.appending("Elsewhere.txt").string)
            await #expect { try await current.replaceItem(at: elsewhere, options: .byMoving) } throws: {
                ($0 as? ContainerError)?.code == .notAllowed
            }
            #expect(try tree(below: directory) == before)
            #expect(try text(letter) == "Letter.txt")
            let link = URL(filePath: directory.appending("Link.txt").string)
            try FileManager.default.createSymbolicLink(atPath: link.path, withDestinationPath: letter.path)
            try await version.replaceItem(at: link)
            #expect(try text(letter) == "Letter.txt" && text(link) == "Letter.\(mark).txt")
        }
    }

    @Test("U-76: a presenter hears of versions that were there, that come, are resolved and go, of each once")
    func presenters() async throws {
        try await withLetter(copies: [mark]) { directory, letter in
            let presenter = RecordingPresenter(letter)
            FileCoordinator.addFilePresenter(presenter)
            defer { FileCoordinator.removeFilePresenter(presenter) }
            let messages = presenter.messages
            #expect(try await messages.next() == "gained \(mark)")
            try write("", to: directory.appending("Letter.\(other).txt"))
            #expect(try await messages.next() == "gained \(other)")
            let versions = try #require(await FileVersion.unresolvedConflictVersions(ofItemAt: letter))
            for version in versions {
                try await version.setResolved(true)
                #expect(try await messages.next() == "resolved \(version.persistentIdentifier.rawValue)")
            }
            // What the watch has seen so far is told behind what the program's own calls tell, as known.
            func settle() async {
                for watch in CoordinationClient.shared.watches.all where watch.path == FilePath(letter.path) { await watch.settle() }
            }
            await settle()
            try await versions[0].remove()
            #expect(try await messages.next() == "lost \(versions[0].persistentIdentifier.rawValue)")
            await settle()
            // By a program that does not coordinate.
            try FileManager.default.removeItem(at: versions[1].url)
            #expect(try await messages.next() == "lost \(versions[1].persistentIdentifier.rawValue)")
        }
    }
}
