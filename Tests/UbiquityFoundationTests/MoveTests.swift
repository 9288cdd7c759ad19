import Foundation
import Testing
import UbiquityFoundation

/// Moves, as presenters of items and of directories hear of them.
@Suite(.timeLimit(.minutes(40))) struct MoveTests {
    private func move(_ from: URL, _ to: URL) async throws {
        try await onThread("a move") {
            let coordinator = NSFileCoordinator()
            coordinator.coordinate(writingItemAt: from, options: .forMoving, writingItemAt: to, options: .forReplacing, error: nil) {
                source, target in
                coordinator.item(at: source, willMoveTo: target)
                try? FileManager.default.moveItem(at: source, to: target)
                coordinator.item(at: source, didMoveTo: target)
            }
        }
    }

    @Test("D-02: a move inside a presented directory, and out of it, is told to the directory's presenter and to the item's")
    func directory() async throws {
        try await withDirectory { directory in
            let folder = directory.appending(path: "folder", directoryHint: .isDirectory)
            let url = try directory.write("folder/a.txt", "text")
            try await withPresenter(RecordingClient(folder)) { folderPresenter in
                try await withPresenter(RecordingClient(url)) { item in
                    try await move(url, directory.file("folder/b.txt"))
                    #expect(try await folderPresenter.events.until("moved a.txt to b.txt").last == "moved a.txt to b.txt")
                    #expect(try await item.events.until("didMove to b.txt").last == "didMove to b.txt")
                    try await move(directory.file("folder/b.txt"), directory.file("c.txt"))
                    #expect(try await folderPresenter.events.until("moved b.txt to c.txt").last == "moved b.txt to c.txt")
                    #expect(try await item.events.until("didMove to c.txt").last == "didMove to c.txt")
                    #expect(item.presentedItemURL?.lastPathComponent == "c.txt")
                    _ = try await item.events.until("reacquireFromWriter")
                    // The presenter of the item hears of it at its new place.
                    try await onThread { NSFileCoordinator().coordinate(writingItemAt: directory.file("c.txt"), error: nil) { _ in } }
                    #expect(try await item.events.until("reacquireFromWriter").contains("didChange"))
                }
            }
        }
    }

    @Test("D-02: what is written into a presented directory appears, and changes, in its presenter")
    func appearing() async throws {
        try await withDirectory { directory in
            try await withPresenter(RecordingClient(directory)) { presenter in
                for (text, event) in [("1", "appeared new.txt"), ("2", "changed new.txt")] {
                    try await onThread {
                        NSFileCoordinator().coordinate(writingItemAt: directory.file("new.txt"), error: nil) { try? Data(text.utf8).write(to: $0) }
                    }
                    #expect(try await presenter.events.until(event).last == event)
                }
            }
        }
    }

    @Test("D-02: an access that waits for a move gets the new URL")
    func waiting() async throws {
        try await withDirectory { directory in
            let (from, to) = (try directory.write("a.txt", "text"), directory.file("b.txt"))
            let events = Events()
            let intent = NSFileAccessIntent.readingIntent(with: from)
            try await onThread {
                let coordinator = NSFileCoordinator()
                coordinator.coordinate(writingItemAt: from, options: .forMoving, error: nil) { url in
                    NSFileCoordinator().coordinate(with: [intent], queue: OperationQueue()) { _ in events.add(intent.url.lastPathComponent) }
                    try? FileManager.default.moveItem(at: url, to: to)
                    coordinator.item(at: url, didMoveTo: to)
                }
            }
            #expect(try await events.next() == "b.txt")
        }
    }
}
