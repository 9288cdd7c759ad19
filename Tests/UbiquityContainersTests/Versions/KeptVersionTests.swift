import FileCoordination
import Foundation
import SystemPackage
import Testing
import UbiquityContainers
import Waiting

/// Versions that an app keeps, that have gone, or that are packages.
struct KeptVersionTests {
    private func write(_ text: String, to path: FilePath) throws { try Data(text.utf8).write(to: URL(filePath: path.string)) }
    private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    @Test("A version that an app keeps is listed with its content, is in no conflict, stays on this device, and comes back")
    func kept() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            let letter = URL(filePath: path.string)
            try write("one", to: path)
            let first = try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: letter)
            try write("two", to: path)
            let second = try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: letter)
            try write("three", to: path)
            for version in [first, second] {
                #expect(version.isKept && !version.isConflict && version.isResolved && version.hasLocalContents)
                #expect(ItemPath.isExcluded(version.path, in: directory) && version.path.extension == "txt")
                #expect(try await FileVersion.version(ofItemAt: letter, forPersistentIdentifier: version.persistentIdentifier) == version)
                #expect(abs(version.modificationDate.timeIntervalSinceNow) < 3600)
            }
            #expect(try await FileVersion.otherVersions(ofItemAt: letter).map { Set($0) } == [first, second])
            #expect(try await FileVersion.unresolvedConflictVersions(ofItemAt: letter) == [])
            try await first.replaceItem(at: letter)
            #expect(try text(letter) == "one" && first.hasLocalContents)
            try await first.remove()
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == [second])
            // By moving, the draft of the app is gone.
            let draft = directory.appending("draft")
            try write("four", to: draft)
            let moved = try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: URL(filePath: draft.string), byMoving: true)
            #expect(try text(moved.url) == "four" && !FileManager.default.fileExists(atPath: draft.string))
            try await FileVersion.removeOtherVersions(ofItemAt: letter)
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == [])
            await #expect {
                try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: URL(filePath: directory.appending("none").string))
            } throws: {
                ($0 as? ContainerError)?.code == .fileSystem && "\($0)".contains("none")
            }
        }
    }

    @Test("U-76: a version that has gone is described by its identifier: its URL, its device and its time")
    func lost() async throws {
        try await withTemporaryDirectory { directory in
            let letter = URL(filePath: directory.appending("Letter.txt").string)
            try write("mine", to: directory.appending("Letter.txt"))
            for mark in ["sync-conflict-20260102-030405-ABCDEFG", "sync-conflict-20260102-030405"] {
                let copy = directory.appending("Letter.\(mark).txt")
                try write("theirs", to: copy)
                let version = try #require(try await FileVersion.otherVersions(ofItemAt: letter)?.first)
                try FileManager.default.removeItem(atPath: copy.string)
                let lost = try #require(FileVersion.lost(version.persistentIdentifier, ofItemAt: letter))
                #expect(lost.url == version.url && lost.path == copy && lost.nameOfSavingComputer == version.nameOfSavingComputer)
                #expect(lost.isConflict && !lost.hasLocalContents && lost.modificationDate == Date(timeIntervalSince1970: 1_767_323_045))
            }
            let kept = try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: letter)
            try await kept.remove()
            #expect(FileVersion.lost(kept.persistentIdentifier, ofItemAt: letter)?.path == kept.path)
            for text in ["", "current", "sync-conflict-", "sync-conflict-../../x", "kept-", "kept-../x", "kept-.x"] {
                #expect(FileVersion.lost(FileVersionIdentifier(rawValue: text), ofItemAt: letter) == nil, "\(text)")
            }
        }
    }

    @Test(
        "U-76: a package is replaced by its version in one step, by copying and by moving; a directory that is no package is not",
        arguments: [false, true])
    func packages(moves: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let (path, copy) = (
                directory.appending("Pages.textbundle"), directory.appending("Pages.sync-conflict-20260102-030405-ABCDEFG.textbundle")
            )
            for (place, content) in [(path, "mine"), (copy, "theirs")] {
                try FileManager.default.createDirectory(atPath: place.appending("inner").string, withIntermediateDirectories: true)
                try write(content, to: place.appending("inner/text"))
            }
            let item = URL(filePath: path.string, directoryHint: .isDirectory)
            let version = try #require(try await FileVersion.unresolvedConflictVersions(ofItemAt: item)?.first)
            try await version.replaceItem(at: item, options: moves ? .byMoving : [])
            #expect(try String(contentsOfFile: path.appending("inner/text").string, encoding: .utf8) == "theirs")
            #expect(FileManager.default.fileExists(atPath: copy.string) != moves)
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.string)
            #expect(Set(names) == Set([path, copy].prefix(moves ? 1 : 2).map { $0.lastComponent!.string }))
        }
    }

    @Test("C-51: inside an accessor a version is removed, chosen, kept and resolved without a coordinator, and nobody waits for the accessor")
    func inAccessor() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            let letter = URL(filePath: path.string)
            try write("mine", to: path)
            for day in ["02", "03", "04"] { try write(day, to: directory.appending("Letter.sync-conflict-202601\(day)-030405-ABCDEFG.txt")) }
            try await within("the accessor") {
                try await FileCoordinator().write(letter) { letter in
                    let versions = try await FileVersion.unresolvedConflictVersions(ofItemAt: letter) ?? []
                    try await FileVersion.addVersion(ofItemAt: letter, withContentsOf: letter)
                    try await versions[0].replaceItem(at: letter)
                    try await versions[0].setResolved(true)
                    try await versions[1].remove()
                    try await FileVersion.removeOtherVersions(ofItemAt: letter)
                }
            }
            #expect(["02", "03", "04"].contains(try text(letter)))
            #expect(try await FileVersion.otherVersions(ofItemAt: letter) == [])
        }
    }
}
