import FileCoordination
import Foundation
import Synchronization
import Testing
import Waiting

@testable import UbiquityFoundation

/// Presenters of Cocoa's kind, as an app writes and registers them.
@Suite(.timeLimit(.minutes(40))) struct PresenterTests {
    @Test("D-02: a reader makes a presenter relinquish, save, and reacquire after it, each on the presenter's queue")
    func reading() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt", "old")
            let presenter = RecordingClient(url) { message, client in
                guard message == "save" else { return nil }
                // The access belongs to the answer, so it goes before the reader that waits for it.
                var error: NSError?
                NSFileCoordinator(filePresenter: client).coordinate(writingItemAt: url, error: &error) { try? Data("new".utf8).write(to: $0) }
                return error
            }
            try await withPresenter(presenter) { presenter in
                let text = try await onThread("a read with a save in it") { () -> String? in
                    var text: String?
                    NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { url in
                        presenter.events.add("accessor")
                        text = url.text
                    }
                    return text
                }
                #expect(text == "new")
                // A change may be told without need.
                let events = try await presenter.events.until("reacquireFromReader").filter { $0 != "didChange" }
                #expect(events == ["relinquishToReader", "save", "accessor", "reacquireFromReader"])
            }
        }
    }

    @Test("D-02: a writer makes a presenter relinquish, hear of the change, and then reacquire; merging makes it save first")
    func writing() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt", "old")
            try await withPresenter(RecordingClient(url)) { presenter in
                for options in [NSFileCoordinator.WritingOptions.forMerging, []] {
                    try await onThread {
                        NSFileCoordinator().coordinate(writingItemAt: url, options: options, error: nil) { url in
                            presenter.events.add("accessor")
                            try? Data("\(options)".utf8).write(to: url)
                        }
                    }
                    let asked = ["relinquishToWriter"] + (options == .forMerging ? ["save"] : [])
                    let events = try await presenter.events.until("reacquireFromWriter")
                    #expect(events.filter { $0 != "didChange" } == asked + ["accessor", "reacquireFromWriter"])
                    #expect(events.suffix(2) == ["didChange", "reacquireFromWriter"])
                }
                // Its own accesses tell it nothing.
                try await onThread { NSFileCoordinator(filePresenter: presenter).coordinate(writingItemAt: url, error: nil) { _ in } }
                try await onThread { NSFileCoordinator().coordinate(readingItemAt: url, options: .withoutChanges, error: nil) { _ in } }
                let events = try await presenter.events.until("relinquishToReader")
                #expect(events.filter { $0 != "didChange" } == ["relinquishToReader"])
            }
        }
    }

    @Test("D-02: a deletion asks the presenters of the item and of the directory, and a refusal reaches the caller as it is")
    func deleting() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let isOpen = Box(true)
            let item = RecordingClient(url) { message, _ in
                message == "accommodateDeletion" && isOpen.value ? NSError(domain: "Letters", code: 42, userInfo: ["why": "open"]) : nil
            }
            try await withPresenter(item) { item in
                try await withPresenter(RecordingClient(directory)) { folder in
                    func delete() async throws -> NSError? {
                        try await onThread {
                            var error: NSError?
                            NSFileCoordinator().coordinate(writingItemAt: url, options: .forDeleting, error: &error) {
                                item.events.add("accessor")
                                try? FileManager.default.removeItem(at: $0)
                            }
                            return error
                        }
                    }
                    let error = try await delete()
                    #expect(error?.domain == "Letters" && error?.code == 42 && error?.userInfo["why"] as? String == "open")
                    #expect(FileManager.default.fileExists(atPath: url.path))
                    #expect(try await item.events.until("accommodateDeletion") == ["relinquishToWriter", "accommodateDeletion"])
                    isOpen.value = false
                    #expect(try await delete() == nil)
                    #expect(try await item.events.until("accessor").suffix(3) == ["relinquishToWriter", "accommodateDeletion", "accessor"])
                    #expect(try await folder.events.until("accommodateDeletion of a.txt").last == "accommodateDeletion of a.txt")
                    #expect(!FileManager.default.fileExists(atPath: url.path))
                }
            }
        }
    }

    /// A presenter that implements the `async` forms.
    private final class AsyncClient: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        let events = Events()

        init(_ url: URL) { presentedItemURL = url }

        private var isOnQueue: Bool { OperationQueue.current === presentedItemOperationQueue }

        func savePresentedItemChanges() async throws {
            events.add("save \(isOnQueue)")
            await Task.yield()
            events.add("saved \(isOnQueue)")
        }

        func accommodatePresentedItemDeletion() async throws { throw CocoaError(.fileWriteNoPermission) }
    }

    @Test("D-02: a presenter may implement the async forms; their steps are operations of its queue")
    func asyncForms() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(AsyncClient(url)) { presenter in
                try await onThread { NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { _ in presenter.events.add("accessor") } }
                #expect(try await presenter.events.until("accessor") == ["save true", "saved true", "accessor"])
                let code = try await onThread { () -> Int? in
                    var error: NSError?
                    NSFileCoordinator().coordinate(writingItemAt: url, options: .forDeleting, error: &error) { _ in }
                    return error?.code
                }
                #expect(code == CocoaError.fileWriteNoPermission.rawValue)
            }
        }
    }

    /// A presenter that implements nothing but one notice.
    private final class Coarse: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        let events = Events()

        init(_ url: URL) { presentedItemURL = url }

        func presentedItemDidChange() { events.add("didChange") }
        func savePresentedItemChanges(completionHandler: @escaping ((any Error)?) -> Void) {
            events.add("save")
            completionHandler(nil)
        }
    }

    @Test("D-02: a presenter without a method does as in Cocoa: a package's hears of its contents as of itself, a plain directory's of nothing")
    func defaults() async throws {
        try await withDirectory { directory in
            try directory.write("p.rtfd/a")
            try directory.write("plain/a")
            for (name, expected) in [("p.rtfd", ["didChange", "save"]), ("plain", ["save"])] {
                try await withPresenter(Coarse(directory.file(name))) { presenter in
                    try await onThread {
                        let coordinator = NSFileCoordinator()
                        coordinator.coordinate(writingItemAt: directory.file("\(name)/a"), error: nil) { try? Data("new".utf8).write(to: $0) }
                        // A message that it implements shows where the ones before it have ended.
                        coordinator.prepare(forReadingItemsAt: [directory.file(name)], writingItemsAt: [], error: nil) { $0() }
                    }
                    #expect(try await presenter.events.until("save") == expected)
                }
            }
        }
    }

    /// A presenter that keeps the question, and answers when the test says.
    private final class Silent: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants, and a mutex.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        let events = Events()
        private let questions = Mutex<[@Sendable () -> Void]>([])

        init(_ url: URL) { presentedItemURL = url }

        func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
            questions.withLock { $0.append { completionHandler(nil) } }
            events.add("asked")
        }

        func answer() {
            let questions = questions.withLock { questions in
                defer { questions = [] }
                return questions
            }
            for question in questions { question() }
        }
    }

    @Test(
        "D-02: a presenter that does not answer is waited for; a deadline names it, cancel() ends the wait, and an answer from any thread ends it too"
    )
    func neverAnswers() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(Silent(url)) { presenter in
                await #expect {
                    // A broker that the machine holds up for a second cannot say whom the access waits for.
                    for _ in 0..<20 {
                        do {
                            return try await FileCoordinator().read(url, deadline: .after(.milliseconds(20))) { _ in }
                        } catch let error as FileCoordinationError where error.message.contains("does not answer") {}
                    }
                } throws: { error in
                    guard let error = error as? FileCoordinationError, error.code == .deadlineExceeded else { return false }
                    return error.waits.contains { $0.kind == .presenter && $0.activity.contains("PresentedItem") }
                }
                let coordinator = NSFileCoordinator()
                async let code = onThread("a cancelled read") { () -> Int? in
                    var error: NSError?
                    coordinator.coordinate(readingItemAt: url, error: &error) { _ in }
                    return error?.code
                }
                _ = try await presenter.events.next()
                coordinator.cancel()
                #expect(try await code == CocoaError.userCancelled.rawValue)
                presenter.answer()
            }
        }
    }

    @Test("D-02: an answer may come later, from any thread")
    func answersLater() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(Silent(url)) { presenter in
                async let hasRun = onThread("a read") { () -> Bool in
                    var hasRun = false
                    NSFileCoordinator().coordinate(readingItemAt: url, error: nil) { _ in hasRun = true }
                    return hasRun
                }
                let event = try await presenter.events.next()
                #expect(event == "asked")
                presenter.answer()
                let isRun = try await hasRun
                #expect(isRun)
            }
        }
    }

    @Test("D-02: a suspended queue delays the accesses that wait for an answer, and cancelling its operations loses no message")
    func suspendedQueue() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(RecordingClient(url)) { presenter in
                presenter.presentedItemOperationQueue.isSuspended = true
                await #expect {
                    try await FileCoordinator().read(url, deadline: .after(.milliseconds(20))) { _ in }
                } throws: { ($0 as? FileCoordinationError)?.code == .deadlineExceeded }
                presenter.presentedItemOperationQueue.cancelAllOperations()
                presenter.presentedItemOperationQueue.isSuspended = false
                try await within("a read") { try await FileCoordinator().read(url) { _ in presenter.events.add("accessor") } }
                #expect(try await presenter.events.until("accessor").contains("relinquishToReader"))
            }
        }
    }

    @Test("D-02: the ubiquity attributes that a presenter observes reach it under Cocoa's names")
    func attributes() async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            try await withPresenter(RecordingClient(url)) { presenter in
                NSFileCoordinator().item(at: url, didChangeUbiquityAttributes: [.ubiquitousItemIsUploadedKey, .ubiquitousItemIsUploadingKey])
                let event = try await presenter.events.next()
                #expect(event == "attributes NSURLUbiquitousItemIsUploadedKey NSURLUbiquitousItemIsUploadingKey")
            }
        }
    }

    @Test("D-02: a presenter that resolves a conflict in its own method, on its own queue, is not asked about that")
    func resolvesInItsMethod() async throws {
        try await withDirectory { directory in
            let url = try directory.write("Letter.txt", "ours")
            let presenter = RecordingClient(url) { message, client in
                guard message.hasPrefix("gained") else { return nil }
                var error: NSError?
                NSFileCoordinator(filePresenter: client).coordinate(writingItemAt: url, options: .forMerging, error: &error) { url in
                    do { try NSFileVersion.removeOtherVersionsOfItem(at: url) } catch { client.events.add("\(error)") }
                }
                if let error { client.events.add("\(error)") }
                return nil
            }
            try await withPresenter(presenter) { presenter in
                try directory.write("Letter.sync-conflict-20260102-030405-ABCDEFG.txt", "theirs")
                let events = try await presenter.events.until("lost sync-conflict-20260102-030405-ABCDEFG").filter { $0 != "didChange" }
                #expect(events == ["gained", "lost"].map { "\($0) sync-conflict-20260102-030405-ABCDEFG" })
            }
        }
    }

    // MARK: Registration

    /// A presenter that removes itself at its end, as Cocoa's documentation says.
    private final class Passing: NSObject, NSFilePresenter, @unchecked Sendable {
        // Constants.
        let presentedItemURL: URL?
        let presentedItemOperationQueue = OperationQueue()
        private let removesItself: Bool
        private let events: Events

        init(_ url: URL, removesItself: Bool, _ events: Events) {
            (presentedItemURL, self.removesItself, self.events) = (url, removesItself, events)
        }

        deinit {
            if removesItself { NSFileCoordinator.removeFilePresenter(self) }
            events.add("released")
        }
    }

    @Test(
        "D-02: the registry retains no presenter; one that is released blocks nobody, whether or not it has removed itself", arguments: [true, false])
    func released(removesItself: Bool) async throws {
        try await withDirectory { directory in
            let url = try directory.write("a.txt")
            let events = Events()
            func register() {
                let presenter = Passing(url, removesItself: removesItself, events)
                NSFileCoordinator.addFilePresenter(presenter)
                NSFileCoordinator.addFilePresenter(presenter)
                #expect(NSFileCoordinator.filePresenters.filter { $0 === presenter }.count == 1)
            }
            register()
            #expect(try await events.next() == "released")
            #expect(!NSFileCoordinator.filePresenters.contains { $0.presentedItemURL == url })
            try await onThread("a write past a released presenter") {
                NSFileCoordinator().coordinate(writingItemAt: url, options: .forDeleting, error: nil) { _ in events.add("accessor") }
            }
            #expect(try await events.next() == "accessor")
        }
    }

    @Test("the table of adapters keeps one entry for each living presenter, and an adapter that a presenter had before it was registered")
    func table() async throws {
        try await withDirectory { directory in
            let events = Events()
            let before = PresenterAdapters.count
            for index in 0..<50 { NSFileCoordinator.addFilePresenter(Passing(directory.file("\(index)"), removesItself: false, events)) }
            let presenter = Passing(directory.file("last"), removesItself: true, events)
            let adapter = PresenterAdapters.adapter(of: presenter)
            // Other tests run meanwhile, so the number is not exact.
            #expect(PresenterAdapters.count < before + 40)
            NSFileCoordinator.addFilePresenter(presenter)
            #expect(PresenterAdapters.adapter(of: presenter) === adapter)
            NSFileCoordinator.removeFilePresenter(presenter)
            #expect(PresenterAdapters.adapter(of: presenter) === adapter)
            #expect(!NSFileCoordinator.filePresenters.contains { $0 === presenter })
        }
    }
}
