import FileCoordination
import Foundation
import Glibc
import Synchronization
import SystemPackage
import Testing
import UbiquityContainers
import UbiquityDocuments
import UbiquityTesting
import Waiting

@MainActor
struct DocumentSharingTests {
    @Test("A reader of the item gets what is in memory; a writer disables editing, and what it writes is loaded")
    func messages() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            letter.set("Dear you")
            let read = try await FileCoordinator().read(path.url) { try String(contentsOf: $0, encoding: .utf8) }
            #expect(read == "Dear you" && !letter.hasUnsavedChanges)
            let unchanged = try await FileCoordinator().read(path.url, options: .withoutChanges) { _ in letter.state }
            #expect(unchanged == .normal)
            let during = try await FileCoordinator().write(path.url) { url in
                try Data("Hello".utf8).write(to: url)
                return letter.state
            }
            #expect(during == .editingDisabled)
            try await until("it has loaded what was written") { letter.text == "Hello" && letter.state == .normal }
            #expect(!letter.hasUnsavedChanges && !letter.undoManager.canUndo)
            try await letter.close()
        }
    }

    @Test("D-08: a document that is open twice shows the same after each save")
    func twice() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("0")
            let (one, two) = (try await Letter.opened(path), try await Letter.opened(path))
            for round in 1...10 {
                let (writer, reader) = round % 2 == 0 ? (one, two) : (two, one)
                writer.set("\(round)")
                try await writer.save()
                try await until("both show \(round)") { reader.text == "\(round)" }
                #expect(path.text == "\(round)" && !reader.hasUnsavedChanges)
            }
            // The reader shows what was written before it is told that the writer is done.
            try await until("both are at rest", seen: { "\(one.state) \(two.state)" }) { one.state == .normal && two.state == .normal }
            #expect(directory.names == ["Letter.txt"])
            for document in [one, two] { try await document.close() }
        }
    }

    @Test("D-07, D-08: two documents that are edited at the same time keep both contents, one of them as a version in conflict")
    func conflict() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let (one, two) = (try await Letter.opened(path), try await Letter.opened(path))
            one.set("by one")
            two.set("by two")
            try await one.save()
            try await until("both know of it") { one.state == .inConflict && two.state == .inConflict && one.text == two.text }
            let versions = try await two.conflictVersions()
            #expect(Set([one.text] + versions.compactMap { $0.path.text }) == ["by one", "by two"] && versions.count == 1)
            let chosen = one.text == "by one" ? "by two" : "by one"
            try await two.resolveConflict(keeping: versions[0])
            try await until("both show the chosen one") { one.text == chosen && two.text == chosen && one.state == .normal && two.state == .normal }
            #expect(path.text == chosen && directory.names == ["Letter.txt"])
            for document in [one, two] { try await document.close() }
        }
    }

    @Test("D-07: a version of another device is listed, compared, chosen or dropped; what is kept by hand comes back", arguments: [false, true])
    func resolves(keepsOwn: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("mine")
            let letter = try await Letter.opened(path)
            let kept = try await letter.addVersion()
            #expect(kept.path.text == "mine" && letter.state == .normal)
            try directory.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.txt").write("theirs")
            try await letter.awaits("the conflict") { $0 == .inConflict }
            let versions = try await letter.conflictVersions()
            #expect(versions.map(\.nameOfSavingComputer) == ["ABCDEFG"] && versions.first?.path.text == "theirs")
            letter.set("mine, changed")
            try await letter.resolveConflict(keeping: keepsOwn ? nil : versions[0])
            #expect(
                letter.text == (keepsOwn ? "mine, changed" : "theirs") && letter.state == .normal && !letter.hasUnsavedChanges,
                "\(letter.text), \(letter.state)")
            #expect(path.text == letter.text && directory.names == ["Letter.txt"])
            // What was kept is not in conflict, and stays until it is removed.
            #expect(try await letter.otherVersions().map(\.persistentIdentifier) == [kept.persistentIdentifier])
            try await kept.replaceItem(at: letter.fileURL)
            try await until("the kept content is back") { letter.text == "mine" }
            try await kept.remove()
            #expect(try await letter.otherVersions().isEmpty)
            try await letter.close()
        }
    }

    @Test("Changes that another program writes without coordination are loaded; with unsaved changes here they become a version in conflict")
    func uncoordinated() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = try await Letter.opened(path)
            try path.write("Dear all")
            try await until("it is loaded") { letter.text == "Dear all" }
            letter.set("Dear you")
            try path.write("Dear nobody")
            try await letter.awaits("the conflict") { $0 == .inConflict }
            #expect(path.text == "Dear you" && letter.text == "Dear you" && !letter.hasUnsavedChanges)
            #expect(try await letter.conflictVersions().map { $0.path.text } == ["Dear nobody"])
            try await letter.close()
        }
    }

    @Test("D-06: a package is written whole: coordinated readers see files of one save, and so does one that holds the directory")
    func packages() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Pages.textbundle")
            let bundle = Bundle(fileURL: path.url)
            bundle.autosavingDelay = nil
            bundle.sizes = 50_000
            try await bundle.save(to: path.url, for: .creating)
            let halves = Mutex((read: 0, half: 0))
            /// Reads what is left of a directory that is held: a directory that was exchanged is removed, and never changed.
            let contents: @Sendable (Int32, String) -> [UInt8]? = { directory, name in
                let file = openat(directory, name, O_RDONLY)
                guard file >= 0 else { return nil }
                defer { close(file) }
                var (bytes, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 65536))
                while true {
                    let count = Glibc.read(file, &buffer, buffer.count)
                    guard count > 0 else { return bytes }
                    bytes += buffer[..<count]
                }
            }
            let isOver = Mutex(false)
            let reading = Task.detached {
                while !isOver.withLock({ $0 }) {
                    let (first, second) = try await FileCoordinator().read(path.url) { url in
                        (try Data(contentsOf: url.appending(path: "first")), try Data(contentsOf: url.appending(path: "second")))
                    }
                    let held = open(path.string, O_RDONLY | O_DIRECTORY)
                    let files = ["first", "second"].compactMap { contents(held, $0) }
                    close(held)
                    halves.withLock {
                        $0.read += 1
                        if first != second || Set(files).count > 1 || files.contains([]) { $0.half += 1 }
                    }
                }
            }
            for generation in 1...60 {
                bundle.generation = generation
                bundle.sizes = 50_000 + generation
                bundle.updateChangeCount(.done)
                try await bundle.save()
            }
            isOver.withLock { $0 = true }
            try await within("the reader") { try await reading.value }
            let (read, half) = halves.withLock { $0 }
            #expect(read > 0 && half == 0)
            #expect(path.names == ["first", "second"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.string) == ["Pages.textbundle"])
            // A change inside the package by another program is loaded.
            for name in ["first", "second"] {
                try await FileCoordinator().write(path.url) { try Data([9]).write(to: $0.appending(path: name)) }
            }
            try await until("it is loaded") { bundle.generation == 9 }
            try await bundle.close()
        }
    }

    @Test("D-07: a chosen version is not lost to a save that waits, nor to another document that has the item open")
    func choosing() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("mine")
            try directory.appending("Letter.sync-conflict-20260102-030405-ABCDEFG.txt").write("theirs")
            let (letter, other) = (try await Letter.opened(path), try await Letter.opened(path))
            let version = try #require(try await letter.conflictVersions().first)
            let (saving, resolving) = try await Holder.holding(path.url) {
                letter.set("mine, changed")
                let saving = apart { try await letter.save() }
                try await until("it is being saved") { letter.saves == 1 }
                let resolving = apart { try await letter.resolveConflict(keeping: version) }
                try await until("the choice is being saved") { letter.saves == 2 }
                return (saving, resolving)
            }
            try await within("the save") { try await saving.value }
            try await within("the choice") { try await resolving.value }
            try await until("both show it") { letter.text == "theirs" && other.text == "theirs" && letter.state == .normal && other.state == .normal }
            #expect(path.text == "theirs" && directory.names == ["Letter.txt"])
            for document in [letter, other] { try await document.close() }
        }
    }

    @Test("An open document is not evicted; its reader's answer says why")
    func eviction() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            let letter = Letter(fileURL: path.url)
            try await letter.open()
            await #expect {
                try await FileCoordinator.evict(path.url, deadline: nil) { @Sendable in Issue.record("it is open") }
            } throws: {
                "\($0)".contains("is open")
            }
            try await letter.close()
        }
    }

    @Test("A document that is released is saved by nobody, and in nobody's way")
    func released() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending("Letter.txt")
            try path.write("Dear")
            weak var held: Letter?
            do {
                let letter = Letter(fileURL: path.url)
                try await letter.open()
                held = letter
                letter.set("lost")
            }
            try await until("it is released") { held == nil }
            try await within("a writer") { try await FileCoordinator().write(path.url) { try Data("Hello".utf8).write(to: $0) } }
            #expect(path.text == "Hello")
        }
    }
}
