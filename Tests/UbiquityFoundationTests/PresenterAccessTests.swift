import Foundation
import Synchronization
import Testing
import UbiquityFoundation

/// What a presenter does while others wait for it, and what it hears of programs that do not coordinate.
@Suite(.timeLimit(.minutes(40))) struct PresenterAccessTests {
    /// A presenter that answers the question to save elsewhere, and later.
    private final class Saving: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants; the closure is called on the presenter's queue.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        let events = Events()
        private let save: @Sendable (Saving, @escaping @Sendable ((any Error)?) -> Void) -> Void

        init(_ url: URL, _ save: @escaping @Sendable (Saving, @escaping @Sendable ((any Error)?) -> Void) -> Void) {
            presentedItemURL = url
            self.save = save
        }

        func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
            events.add("asked")
            save(self, completionHandler)
        }
        func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) { events.add("attributes") }
        func presentedItemDidDisappear() { events.add("disappeared") }
    }

    @Test("D-02: an access of a presenter's own goes before the one that waits for its answer, from any thread")
    func otherThread() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt", "old")
            let presenter = Saving(url) { presenter, answer in
                Thread.detachNewThread {
                    var error: NSError?
                    NSFileCoordinator(filePresenter: presenter).coordinate(writingItemAt: url, error: &error) { try? Data("new".utf8).write(to: $0) }
                    answer(error)
                }
            }
            try await withPresenter(presenter) { _ in
                let text = try await onThread("a read with a save elsewhere") { () -> String? in
                    var text: String?
                    NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { text = $0.text }
                    return text
                }
                #expect(text == "new")
            }
        }
    }

    @Test("D-02: a message comes after the answer to the one before, also when that comes late")
    func slow() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let answers = Box<[@Sendable () -> Void]>([])
            let presenter = Saving(url) { presenter, answer in
                answers.value.append { answer(nil) }
                presenter.events.add("kept")
            }
            let other = RecordingClient(url)
            try await withPresenter(presenter) { presenter in
                async let read: Void = onThread("a read") { NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { _ in } }
                let asked = try await presenter.events.until("kept")
                #expect(asked == ["asked", "kept"])
                try await withPresenter(other) { other in
                    NSFileCoordinator().item(at: url, didChangeUbiquityAttributes: [.ubiquitousItemIsUploadedKey])
                    // It has been told to everybody who could hear of it.
                    let told = "attributes \(URLResourceKey.ubiquitousItemIsUploadedKey.rawValue)"
                    let last = try await other.events.until(told).last
                    #expect(last == told)
                }
                presenter.events.add("answering")
                for answer in answers.value { answer() }
                let events = try await presenter.events.until("attributes")
                #expect(events == ["answering", "attributes"])
                try await read
            }
        }
    }

    @Test("D-02: a deletion without coordination is told by presentedItemDidDisappear(), whose default tells nothing")
    func disappearing() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(Saving(url) { $1(nil) }) { presenter in
                try await withPresenter(RecordingClient(url)) { silent in
                    try FileManager.default.removeItem(at: url)
                    let event = try await presenter.events.next()
                    #expect(event == "disappeared")
                    NSFileCoordinator().item(at: url, didChangeUbiquityAttributes: [.ubiquitousItemIsUploadedKey])
                    let told = "attributes \(URLResourceKey.ubiquitousItemIsUploadedKey.rawValue)"
                    #expect(try await silent.events.until(told) == [told])
                }
            }
        }
    }

    @Test("D-02: an accessor that has run leaves the error alone, whatever was in its place")
    func keptError() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let code = try await onThread("two accesses") { () -> Int? in
                var error: NSError? = NSError(domain: "Letters", code: 42)
                NSFileCoordinator().coordinate(readingItemAt: url, error: &error) { _ in }
                NSFileCoordinator().coordinate(writingItemAt: url, error: &error) { _ in }
                return error?.code
            }
            #expect(code == 42)
        }
    }
}
