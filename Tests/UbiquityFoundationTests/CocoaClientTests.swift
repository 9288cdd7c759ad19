import Foundation
import Testing
import UbiquityFoundation

/// The client of `CocoaClient.swift`, which knows nothing of this package but its import.
@Suite(.timeLimit(.minutes(40))) struct CocoaClientTests {
    private func withFile(_ text: String, _ body: (TextFile, Events, URL) async throws -> Void) async throws {
        try await withDirectory { directory in
            let url = try directory.write("Letter.txt", text)
            let (file, events) = (TextFile(fileURL: url), Events())
            file.onEvent = { events.add($0) }
            try await onThread("opening") { #expect(throws: Never.self) { try file.open() } }
            try await body(file, events, url)
            try await onThread("closing") { if file.isOpen { #expect(throws: Never.self) { try file.close() } } }
        }
    }

    @Test("D-01: a client for macOS reads, edits and saves, and a reader elsewhere gets what is not saved yet")
    func saving() async throws {
        try await withFile("old") { file, events, url in
            #expect(file.text == "old" && !file.hasUnsavedChanges)
            file.text = "edited"
            let read = try await onThread { () -> String? in
                var text: String?
                NSFileCoordinator(filePresenter: nil).coordinate(readingItemAt: url, options: [], error: nil) { text = $0.text }
                return text
            }
            #expect(read == "edited" && !file.hasUnsavedChanges)
            #expect(try await events.until("back from a reader") == ["lent to a reader", "saved", "back from a reader"])
        }
    }

    @Test("D-01: a client for macOS reads again what somebody else has written, with and without coordination")
    func reading() async throws {
        try await withFile("old") { file, events, url in
            try await onThread {
                NSFileCoordinator(filePresenter: nil).coordinate(writingItemAt: url, options: .forReplacing, error: nil) {
                    try? Data("coordinated".utf8).write(to: $0, options: .atomic)
                }
            }
            // Replacing closes the client's file, as it does on macOS.
            #expect(try await events.until("closed").last == "closed")
            #expect(!file.isOpen)
        }
        try await withFile("old") { file, events, url in
            try await onThread {
                NSFileCoordinator(filePresenter: nil).coordinate(writingItemAt: url, options: [], error: nil) {
                    #expect(!file.canBeEdited)
                    try? Data("coordinated".utf8).write(to: $0)
                }
            }
            #expect(try await events.until("read coordinated").last == "read coordinated")
            _ = try await events.until("back from a writer")
            #expect(file.canBeEdited)
            try Data("by some program".utf8).write(to: url)
            #expect(try await events.until("read by some program").last == "read by some program")
            #expect(file.text == "by some program")
        }
    }

    @Test("D-01: a client for macOS follows a move by somebody else, makes its own, and closes before a deletion")
    func moving() async throws {
        try await withFile("text") { file, events, url in
            let moved = url.deletingLastPathComponent().file("Moved.txt")
            try await onThread {
                let coordinator = NSFileCoordinator(filePresenter: nil)
                coordinator.coordinate(writingItemAt: url, options: .forMoving, writingItemAt: moved, options: .forReplacing, error: nil) {
                    from, to in
                    try? FileManager.default.moveItem(at: from, to: to)
                    coordinator.item(at: from, didMoveTo: to)
                }
            }
            #expect(try await events.until("moved to Moved.txt").last == "moved to Moved.txt")
            try await onThread("a rename") { #expect(throws: Never.self) { try file.rename(to: "Renamed.txt") } }
            #expect(file.presentedItemURL?.lastPathComponent == "Renamed.txt" && file.presentedItemURL?.text == "text")
            let last = try #require(file.presentedItemURL)
            try await onThread {
                NSFileCoordinator(filePresenter: nil).coordinate(writingItemAt: last, options: .forDeleting, error: nil) {
                    try? FileManager.default.removeItem(at: $0)
                }
            }
            #expect(!file.isOpen && !FileManager.default.fileExists(atPath: last.path))
            #expect(try await events.until("closed").last == "closed")
        }
    }

    @Test("D-01: a client for macOS merges a conflict version on its own queue, in its own accessor")
    func merging() async throws {
        try await withFile("ours ") { file, events, url in
            // A synchroniser gives a file its name when it is complete.
            let theirs = url.deletingLastPathComponent().appending(path: "Letter.sync-conflict-20260102-030405-ABCDEFG.txt")
            try Data("theirs".utf8).write(to: theirs, options: .atomic)
            #expect(try await events.until("merged").last == "merged")
            #expect(file.text == "ours theirs" && url.text == "ours theirs")
            #expect(try await onThread { NSFileVersion.otherVersionsOfItem(at: url)?.count } == 0)
        }
    }
}
