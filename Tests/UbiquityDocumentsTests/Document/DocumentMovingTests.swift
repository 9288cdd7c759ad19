import FileCoordination
import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityDocuments
import UbiquityTesting
import Waiting

@MainActor
struct DocumentMovingTests {
    @Test("D-04: a document moves and is renamed with its versions, and its presenters follow; nothing is replaced")
    func moves() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            try directory.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.txt").write("Other")
            let (letter, other) = (try await Letter.opened(path), try await Letter.opened(path))
            #expect(letter.state == .inConflict)
            try await letter.addVersion()
            letter.set("Dear you")
            try await letter.rename(to: "Note")
            #expect(directory.names == ["Note.sync-conflict-20260102-030405-ABCDEFG.txt", "Note.txt"])
            #expect(letter.fileURL.lastPathComponent == "Note.txt" && letter.moves.count == 1 && letter.state == .inConflict)
            #expect(try await letter.otherVersions().map(\.isKept) == [true, false])
            try await until("the other document follows") { other.fileURL.lastPathComponent == "Note.txt" && other.text == "Dear you" }
            try await other.close()
            let below = directory.appending("below")
            try FileManager.default.createDirectory(atPath: below.string, withIntermediateDirectories: true)
            try await letter.move(to: below.appending("Letter.md").url)
            #expect(below.names == ["Letter.md", "Letter.sync-conflict-20260102-030405-ABCDEFG.md"] && directory.names == ["below"])
            try below.appending("Taken.md").write("taken")
            await #expect {
                try await letter.rename(to: "Taken")
            } throws: {
                ($0 as? CocoaError)?.code == .fileWriteFileExists
            }
            for name in ["", "a/b", ".hidden", "x.nosync"] {
                await #expect { try await letter.rename(to: name) } throws: { ($0 as? DocumentError)?.code == .invalidName }
            }
            await #expect(throws: (any Error).self) { try await letter.move(to: directory.appending("none/Letter.md").url) }
            letter.set("At last")
            try await letter.close()
            #expect(below.appending("Letter.md").text == "At last" && below.appending("Taken.md").text == "taken")
        }
    }

    @Test("D-04: a document that moves to another file system is saved there, with no conflict with itself")
    func otherFileSystem() async throws {
        try await withTemporaryDirectory { directory in
            let shared = FilePath("/dev/shm/ubiquity-test-\(UUID().uuidString)")
            try FileManager.default.createDirectory(atPath: shared.string, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: shared.string) }
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            try await letter.move(to: shared.appending("Letter.txt").url)
            letter.set("Dear you")
            try await letter.save()
            #expect(shared.names == ["Letter.txt"] && shared.appending("Letter.txt").text == "Dear you" && letter.state == .normal)
            #expect(rename(shared.appending("Letter.txt").string, shared.appending("Moved.txt").string) == 0)
            letter.set("Dear us")
            try await letter.close()
            #expect(shared.names == ["Moved.txt"] && shared.appending("Moved.txt").text == "Dear us" && directory.names == [])
        }
    }

    @Test("D-04: a document that another coordinator moves is followed, also by a save that waits for the move")
    func coordinatedMove() async throws {
        try await withTemporaryDirectory { directory in
            let (path, new) = (directory.appending("Letter.txt"), directory.appending("Moved.txt"))
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            letter.set("Dear you")
            let coordinator = FileCoordinator()
            let save = try await coordinator.write(path.url, options: .forMoving, writing: new.url, writingOptions: .forReplacing) { from, to in
                let save = apart { try await letter.save() }
                try await until("the save has begun") { letter.saves == 1 }
                #expect(rename(path.string, new.string) == 0)
                coordinator.item(at: from, didMoveTo: to)
                return save
            }
            try await within("the save") { try await save.value }
            #expect(letter.fileURL.lastPathComponent == "Moved.txt" && new.text == "Dear you" && directory.names == ["Moved.txt"])
            try await letter.close()
        }
    }

    @Test("D-04: a save right after a move without coordination writes the new name, not the old one; a backup that an editor makes is not followed")
    func uncoordinatedMove() async throws {
        try await withTemporaryDirectory { directory in
            let (path, new) = (directory.appending("Letter.txt"), directory.appending("Elsewhere.txt"))
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            letter.set("Dear you")
            // The presenter has not been told yet.
            #expect(rename(path.string, new.string) == 0)
            try await letter.save()
            #expect(letter.fileURL.lastPathComponent == "Elsewhere.txt" && new.text == "Dear you" && directory.names == ["Elsewhere.txt"])
            letter.set("Dear us")
            #expect(rename(new.string, directory.appending("Elsewhere.txt~").string) == 0)
            try new.write("by an editor")
            try await letter.save()
            #expect(new.text == "Dear us" && directory.appending("Elsewhere.txt~").text == "Dear you")
            // What the editor wrote is a version.
            try await until("the document knows") { letter.state == .inConflict }
            #expect(try await letter.conflictVersions().map { $0.path.text } == ["by an editor"])
            try await letter.close()
        }
    }

    @Test("D-04: a document is deleted under coordination, and another one that shows it closes with its changes saved first")
    func deletes() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let (letter, other) = (try await Letter.opened(path), try await Letter.opened(path))
            other.set("kept in memory")
            try await letter.addVersion()
            try await letter.delete()
            #expect(letter.state == .closed && other.state == .closed && other.saves == 1 && !other.hasUnsavedChanges)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string).isEmpty)
            await #expect(throws: DocumentError.self) { try await letter.open() }
            // A package too.
            let package = directory.appending("Pages.textbundle")
            let bundle = Bundle(fileURL: package.url)
            try await bundle.save(to: package.url, for: .creating)
            #expect(package.names == ["first", "second"])
            try await bundle.delete()
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string).isEmpty)
        }
    }

    @Test("What another program deletes is closed if nothing is unsaved; otherwise it stays in memory, and is not written again by itself")
    func disappears() async throws {
        try await withTemporaryDirectory { directory in
            let paths = ["Saved.txt", "Unsaved.txt"].map { directory.appending($0) }
            let clock = StillClock()
            var letters: [Letter] = []
            for path in paths {
                try path.write("Dear")
                let letter = Letter(fileURL: path.url)
                letter.clock = clock
                try await letter.open()
                letters.append(letter)
            }
            let (saved, unsaved) = (letters[0], letters[1])
            unsaved.set("Dear you")
            for path in paths { #expect(unlink(path.string) == 0) }
            try await until("both know", seen: { "\(saved.state) \(unsaved.state)" }) {
                saved.state == .closed && unsaved.state == .savingError
            }
            #expect((unsaved.savingError as? DocumentError)?.code == .gone && unsaved.text == "Dear you")
            try await within("the autosave's delay") { await clock.pass(.seconds(60)) }
            try await until("it was tried") { unsaved.saves > 0 }
            #expect(directory.names == [])
            try await unsaved.save(to: directory.appending("Again.txt").url, for: .creating)
            #expect(unsaved.state == .normal && directory.appending("Again.txt").text == "Dear you" && directory.names == ["Again.txt"])
            try await unsaved.close()
        }
    }
}
