import Foundation
import Glibc
import SystemPackage
import Testing

@testable import FileCoordination

/// What a watch makes of looks at an item.
@Suite struct WatchedItemTests {
    private func withFile(_ body: (FilePath, FilePath) throws -> Void) throws {
        let directory = FilePath("/tmp/watched-\(UUID().uuidString.prefix(8))")
        try FileManager.default.createDirectory(atPath: directory.string, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        let path = directory.appending("a.txt")
        try write("old", path)
        try body(path, directory.appending("aside"))
    }

    private func write(_ text: String, _ path: FilePath) throws { try Data(text.utf8).write(to: URL(filePath: path.string)) }
    private func move(_ from: FilePath, _ to: FilePath) { rename(from.string, to.string) }

    private func absence(_ finding: WatchedItem.Finding) throws -> UInt64 {
        guard case .absence(let number) = finding else { throw Errno.invalidArgument }
        return number
    }

    @Test("C-63: an item that a program replaces by way of another name has changed, and has neither moved nor gone")
    func replaced() throws {
        try withFile { path, aside in
            var item = WatchedItem(path)
            move(path, aside)
            let missed = try absence(item.look())
            #expect(item.look() == .nothing, "it is missed already")
            try write("new", path)
            unlink(aside.string)
            #expect(item.resolve(missed) == .didChange)
            #expect(item.resolve(missed) == nil)
            // The new one is what is followed from now on.
            move(path, aside)
            let again = try absence(item.look())
            #expect(item.resolve(missed) == nil, "an earlier question is not about this absence")
            #expect(item.resolve(again) == .didMove(aside))
        }
    }

    @Test("C-63: an item that is back when it is looked at again is told as changed once")
    func back() throws {
        try withFile { path, aside in
            var item = WatchedItem(path)
            move(path, aside)
            let missed = try absence(item.look())
            move(aside, path)
            #expect(item.look() == .change)
            #expect(item.resolve(missed) == nil)
            unlink(path.string)
            #expect(item.resolve(try absence(item.look())) == .didDisappear)
            #expect(item.look() == .nothing)
        }
    }

    @Test("C-63: a file that is written and moved before anybody looks is told as moved, and then as changed; one that is only moved is not")
    func writtenAndMoved() throws {
        try withFile { path, aside in
            for isWritten in [false, true] {
                var item = WatchedItem(path)
                if isWritten { try write("longer than before", path) }
                move(path, aside)
                #expect(item.resolve(try absence(item.look())) == .didMove(aside))
                #expect(item.followed(to: aside).isOutdated == isWritten)
                move(aside, path)
            }
        }
    }

    @Test("C-63: a directory in which an entry appears between its move and its discovery is told as changed; earlier entries do not count")
    func filledOnTheWay() throws {
        try withFile { file, aside in
            let path = file.removingLastComponent().appending("d")
            mkdir(path.string, 0o755)
            for isFilled in [false, true] {
                var item = WatchedItem(path)
                try write("", path.appending("told of \(isFilled)"))
                // The clock of file times may not have gone on since.
                try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path.string)
                move(path, aside)
                if isFilled { try write("", aside.appending("new")) }
                #expect(item.resolve(try absence(item.look())) == .didMove(aside))
                #expect(item.followed(to: aside).isOutdated == isFilled)
                move(aside, path)
            }
        }
    }

    @Test("C-39: an item that a writer of another process has moved away without a word is no more followed; one that it has deleted is gone")
    func afterForeignWrite() throws {
        try withFile { path, aside in
            var item = WatchedItem(path)
            move(path, aside)
            #expect(item.rebase(after: .foreign(isAnnounced: false)) == nil)
            #expect(item.look() == .nothing)
            try write("another", path)
            #expect(item.look() == .change)
            unlink(path.string)
            let found = item.rebase(after: .foreign(isAnnounced: false))
            let gone = try #require(found)
            #expect(item.resolve(gone) == .didDisappear)
            try write("a third", path)
            #expect(item.look() == .change)
            unlink(path.string)
            #expect(item.rebase(after: .foreign(isAnnounced: true)) == nil, "its presenter has accommodated the deletion")
            #expect(item.openAbsence == nil)
        }
    }

    @Test("C-63: an item that was missed before a write of this process, and is so after it, is still told of")
    func missedBeforeOwnWrite() throws {
        try withFile { path, _ in
            var item = WatchedItem(path)
            unlink(path.string)
            _ = item.look()
            #expect(item.openAbsence != nil, "it is still to be asked, however often something happens meanwhile")
            let found = item.rebase(after: .own)
            let gone = try #require(found)
            #expect(item.resolve(gone) == .didDisappear)
            // What the write itself has deleted is nothing to tell its presenter.
            try write("new", path)
            #expect(item.look() == .change)
            unlink(path.string)
            #expect(item.rebase(after: .own) == nil)
        }
    }
}
