import FileCoordination
import Foundation
import Glibc
import SystemPackage
import Testing
import UbiquityDocuments
import UbiquityTesting
import Waiting

@MainActor
struct DocumentTests {
    /// Lets everything run that can.
    private func turns() async { for _ in 0..<100 { await Task.yield() } }

    @Test("D-04: a document opens, is edited, saves by itself after its delay, and closes with what was changed since")
    func life() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let clock = StillClock()
            let letter = Letter(fileURL: path.url)
            letter.clock = clock
            letter.autosavingDelay = .seconds(5)
            #expect(letter.state == .closed)
            try await letter.open()
            #expect(letter.state == .normal && letter.text == "Dear" && !letter.hasUnsavedChanges && letter.fileModificationDate != nil)
            letter.set("Dear all")
            letter.set("Dear all,")
            #expect(letter.hasUnsavedChanges && path.text == "Dear")
            try await within("the autosave's delay") { await clock.sleepers(1) }
            clock.advance(by: .seconds(4))
            await turns()
            #expect(letter.saves == 0)
            clock.advance(by: .seconds(1))
            try await until("it saves by itself") { letter.saves == 1 && !letter.hasUnsavedChanges }
            #expect(path.text == "Dear all,")
            letter.set("Bye")
            try await letter.close()
            #expect(path.text == "Bye" && letter.state == .closed && !letter.hasUnsavedChanges)
            // Nothing is left beside it.
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == ["Letter.txt"])
            #expect(!FileCoordinator.filePresenters.contains { $0 === letter })
        }
    }

    @Test("D-05: a change that is undone is not saved; one that goes on while it is saved is")
    func changes() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            letter.set("Dear you")
            letter.undoManager.undo()
            #expect(letter.text == "Dear" && !letter.hasUnsavedChanges)
            letter.undoManager.redo()
            #expect(letter.text == "Dear you" && letter.hasUnsavedChanges)
            letter.undoManager.beginUndoGrouping()
            letter.set("a")
            try await letter.save()
            #expect(!letter.hasUnsavedChanges && path.text == "a")
            letter.set("b")
            #expect(letter.hasUnsavedChanges)
            letter.undoManager.endUndoGrouping()
            letter.undoManager.undo()
            #expect(letter.text == "Dear you" && letter.hasUnsavedChanges)
            try await letter.close()
            #expect(path.text == "Dear you")
        }
    }

    @Test("D-05: what was changed and undone is not saved, by itself or at the end; a change that is only counted is, unless it is cleared")
    func counted() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let clock = StillClock()
            let letter = Letter(fileURL: path.url)
            letter.clock = clock
            try await letter.open()
            let before = try FileManager.default.attributesOfItem(atPath: path.string)[.systemFileNumber] as? Int
            letter.set("Dear you")
            letter.undoManager.undo()
            letter.updateChangeCount(.done)
            letter.updateChangeCount(.cleared)
            #expect(!letter.hasUnsavedChanges)
            try await letter.close()
            #expect(letter.saves == 0)
            #expect(try FileManager.default.attributesOfItem(atPath: path.string)[.systemFileNumber] as? Int == before)

            try await letter.open()
            letter.updateChangeCount(.done)
            #expect(letter.hasUnsavedChanges)
            try await within("the delay") { await clock.pass(.seconds(60)) }
            try await until("it saves by itself") { letter.saves == 1 && !letter.hasUnsavedChanges }
            #expect(try FileManager.default.attributesOfItem(atPath: path.string)[.systemFileNumber] as? Int != before)
            try await letter.close()
            #expect(letter.saves == 1)
        }
    }

    @Test("D-04: a document is opened, and reverted, once a writer has finished, and never with half of what that writes")
    func waitsForWriter() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = Letter(fileURL: path.url)
            letter.autosavingDelay = nil
            for text in ["opened", "reverted"] {
                let reading = try await FileCoordinator().write(path.url) { url in
                    try Data("half".utf8).write(to: url)
                    let reading = apart { if letter.isOpen { try await letter.revert() } else { try await letter.open() } }
                    await turns()
                    try Data(text.utf8).write(to: url)
                    return reading
                }
                try await within("the content") { try await reading.value }
                try await until("it shows what was written", seen: { "\(letter.loaded) \(letter.state) \(String(describing: letter.savingError))" }) {
                    letter.text == text && letter.state == .normal
                }
                #expect(!letter.loaded.contains("half"), "\(letter.loaded)")
            }
            try await letter.close()
            #expect(path.text == "reverted" && letter.saves == 0 && directory.names == ["Letter.txt"])
        }
    }

    @Test("D-04: revert loads what is on disk, and forgets what was not saved and how to undo")
    func revert() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = Letter(fileURL: path.url)
            letter.autosavingDelay = nil
            await #expect(throws: DocumentError.self) { try await letter.revert() }
            try await letter.open()
            letter.set("Nonsense")
            try await letter.revert()
            #expect(letter.text == "Dear" && !letter.hasUnsavedChanges && !letter.undoManager.canUndo && letter.saves == 0)
            try await letter.close()
            #expect(letter.saves == 0)
        }
    }

    @Test("D-04: a new document is created where nothing is, keeps the mode of what it replaces, and is not written over another one")
    func creating() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("New.txt")
            let letter = Letter(fileURL: path.url)
            letter.autosavingDelay = nil
            letter.set("Hello")
            await #expect(throws: DocumentError.self) { try await letter.save() }
            try await letter.save(to: path.url, for: .creating)
            #expect(letter.isOpen && path.text == "Hello" && !letter.hasUnsavedChanges && letter.state == .normal)
            #expect(chmod(path.string, 0o640) == 0)
            letter.set("Hello again")
            try await letter.save()
            let attributes = try FileManager.default.attributesOfItem(atPath: path.string)
            #expect(attributes[.posixPermissions] as? Int == 0o640 && path.text == "Hello again")
            let other = Letter(fileURL: path.url)
            await #expect {
                try await other.save(to: path.url, for: .creating)
            } throws: {
                ($0 as? CocoaError)?.code == .fileWriteFileExists
            }
            // Saved at another place, it is the document of that place.
            let second = directory.appending("Second.txt")
            try await letter.save(to: second.url, for: .creating)
            letter.set("Third")
            try await letter.close()
            #expect(path.text == "Hello again" && second.text == "Third")
        }
    }

    @Test("A save that fails keeps the changes, says so, is tried again after longer delays, and succeeds when it can")
    func failing() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let clock = StillClock()
            let letter = Letter(fileURL: path.url)
            letter.clock = clock
            letter.autosavingDelay = .seconds(1)
            try await letter.open()
            letter.refusal = CocoaError(.fileWriteOutOfSpace)
            letter.set("Dear you")
            try await within("the autosave's delay") { await clock.pass(.seconds(1)) }
            try await until("it has failed") { letter.state == .savingError }
            #expect(letter.hasUnsavedChanges && letter.errors.count == 1 && (letter.savingError as? CocoaError)?.code == .fileWriteOutOfSpace)
            await #expect(throws: CocoaError.self) { try await letter.close() }
            #expect(letter.isOpen && path.text == "Dear")
            try await within("the autosave's delay") { await clock.sleepers(1) }
            clock.advance(by: .seconds(1))
            await turns()
            #expect(letter.errors.count == 1)
            letter.refusal = nil
            clock.advance(by: .seconds(1))
            try await until("it has saved") { letter.state == .normal }
            #expect(path.text == "Dear you" && letter.savingError == nil)
            try await letter.close()
        }
    }

    @Test("What cannot be opened is named: nothing there, a directory that is no package, half a package, what the document does not read")
    func refusals() async throws {
        try await withTemporaryDirectory { directory in
            let missing = Letter(fileURL: directory.appending("No.txt").url)
            await #expect {
                try await missing.open()
            } throws: {
                ($0 as? DocumentError)?.code == .unreadable && "\($0)".contains("No.txt")
            }
            #expect(missing.state == .closed)
            let plain = directory.appending("Plain")
            try FileManager.default.createDirectory(atPath: plain.string, withIntermediateDirectories: true)
            await #expect {
                try await Bundle(fileURL: plain.url).open()
            } throws: {
                ($0 as? DocumentError)?.code == .notPackage && "\($0)".contains(plain.string)
            }
            let half = directory.appending("Half.textbundle")
            try FileManager.default.createDirectory(atPath: half.string, withIntermediateDirectories: true)
            try half.appending("first").write("x")
            let bundle = Bundle(fileURL: half.url)
            await #expect(throws: CocoaError.self) { try await bundle.open() }
            #expect(!bundle.isOpen && half.names == ["first"] && !FileCoordinator.filePresenters.contains { $0 === bundle })
            let bytes = directory.appending("Bytes.txt")
            try Data([0xFF, 0xFE, 0xFD]).write(to: bytes.url)
            await #expect(throws: CocoaError.self) { try await Letter(fileURL: bytes.url).open() }
            let raw = Document(fileURL: bytes.url)
            await #expect { try await raw.open() } throws: { ($0 as? DocumentError)?.code == .notImplemented }
        }
    }

    @Test("D-04: what is typed while the last save waits is saved too, before the document closes")
    func typedWhileClosing() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            let closing = try await Holder.holding(path.url) {
                letter.set("a")
                let closing = apart { try await letter.close() }
                try await until("it is being saved") { letter.saves == 1 }
                letter.set("ab")
                return closing
            }
            try await within("the end") { try await closing.value }
            #expect(path.text == "ab" && letter.saves == 2 && !letter.isOpen)
        }
    }

    @Test(
        "D-04: a save that waits writes nothing after the document was reverted, closed, or saved elsewhere",
        arguments: ["revert", "close", "elsewhere"])
    func givenUp(how: String) async throws {
        try await withTemporaryDirectory { directory in
            let (path, other) = (directory.appending("Letter.txt"), directory.appending("Other.txt"))
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            let saving = try await Holder.holding(path.url) {
                letter.set("given up")
                let saving = apart { try? await letter.save() }
                try await until("it is being saved") { letter.saves == 1 }
                switch how {
                case "revert": try await letter.revert()
                case "close":
                    letter.closeWithoutSaving()
                    try await letter.open()
                default: try await letter.save(to: other.url, for: .creating)
                }
                return saving
            }
            try await saving.value
            #expect(path.text == "Dear" && !letter.hasUnsavedChanges && letter.state == .normal)
            #expect(letter.fileURL.lastPathComponent == (how == "elsewhere" ? "Other.txt" : "Letter.txt"))
            #expect(letter.text == (how == "elsewhere" ? "given up" : "Dear") && directory.names.count == (how == "elsewhere" ? 2 : 1))
            try await letter.close()
        }
    }

    @Test("A package keeps what its document does not read: what stays on this device, and names that are not UTF-8")
    func carriesOver() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Pages.textbundle")
            let bundle = Bundle(fileURL: path.url)
            bundle.autosavingDelay = nil
            try await bundle.save(to: path.url, for: .creating)
            try FileManager.default.createDirectory(atPath: path.appending("cache.nosync").string, withIntermediateDirectories: false)
            try path.appending("cache.nosync/thumb").write("x")
            var raw = path.string.utf8CString.dropLast().map { UInt8(bitPattern: $0) } + [UInt8(ascii: "/"), 0xFF, 0xFE, 0]
            let other = raw.withUnsafeMutableBytes { open($0.baseAddress!.assumingMemoryBound(to: CChar.self), O_CREAT | O_WRONLY, 0o600) }
            #expect(other >= 0)
            close(other)
            bundle.generation = 3
            bundle.updateChangeCount(.done)
            try await bundle.save()
            #expect(path.appending("cache.nosync/thumb").text == "x")
            #expect(raw.withUnsafeMutableBytes { access($0.baseAddress!.assumingMemoryBound(to: CChar.self), F_OK) } == 0)
            #expect(bundle.state == .normal)
            try await bundle.close()
        }
    }

    @Test("A symbolic link stays: what it leads to is saved")
    func links() async throws {
        try await withTemporaryDirectory { directory in
            let (path, link) = (directory.appending("Letter.txt"), directory.appending("Link.txt"))
            try path.write("Dear")
            #expect(symlink("Letter.txt", link.string) == 0)
            let letter = Letter(fileURL: link.url)
            letter.autosavingDelay = nil
            try await letter.open()
            #expect(letter.fileURL.lastPathComponent == "Letter.txt")
            letter.set("Dear you")
            try await letter.close()
            #expect(path.text == "Dear you")
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link.string) == "Letter.txt")
        }
    }
}
