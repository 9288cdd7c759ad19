import Foundation
import UbiquityFoundation

/// A presenter that notes what it is told, each with the queue on which it is told, and answers as the test says.
final class RecordingClient: NSObject, NSFilePresenter, @unchecked Sendable {
    // Everything is constant but the URL, which the box guards.
    typealias Answer = @Sendable (_ message: String, _ client: RecordingClient) -> (any Error)?

    let presentedItemOperationQueue = OperationQueue()
    let events = Events()
    private let url: Box<URL?>
    private let answer: Answer

    init(_ url: URL?, _ answer: @escaping Answer = { _, _ in nil }) {
        self.url = Box(url)
        self.answer = answer
        super.init()
        presentedItemOperationQueue.maxConcurrentOperationCount = 1
    }

    var presentedItemURL: URL? { url.value }

    @discardableResult private func note(_ event: String) -> (any Error)? {
        events.add(OperationQueue.current === presentedItemOperationQueue ? event : "\(event) on another queue")
        return answer(event, self)
    }

    func relinquishPresentedItem(toReader reader: @escaping ((() -> Void)?) -> Void) {
        note("relinquishToReader")
        reader { self.note("reacquireFromReader") }
    }
    func relinquishPresentedItem(toWriter writer: @escaping ((() -> Void)?) -> Void) {
        note("relinquishToWriter")
        writer { self.note("reacquireFromWriter") }
    }
    func savePresentedItemChanges(completionHandler: @escaping ((any Error)?) -> Void) { completionHandler(note("save")) }
    func accommodatePresentedItemDeletion(completionHandler: @escaping ((any Error)?) -> Void) { completionHandler(note("accommodateDeletion")) }
    func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping ((any Error)?) -> Void) {
        completionHandler(note("accommodateDeletion of \(url.lastPathComponent)"))
    }

    func presentedItemDidMove(to newURL: URL) {
        url.value = newURL
        note("didMove to \(newURL.lastPathComponent)")
    }
    func presentedItemDidChange() { note("didChange") }
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) {
        note("attributes " + attributes.map(\.rawValue).sorted().joined(separator: " "))
    }
    func presentedItemDidGain(_ version: NSFileVersion) { note("gained \(version.persistentIdentifier)") }
    func presentedItemDidLose(_ version: NSFileVersion) { note("lost \(version.persistentIdentifier)") }
    func presentedItemDidResolveConflict(_ version: NSFileVersion) { note("resolved \(version.persistentIdentifier)") }
    func presentedSubitemDidAppear(at url: URL) { note("appeared \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) { note("moved \(oldURL.lastPathComponent) to \(newURL.lastPathComponent)") }
    func presentedSubitemDidChange(at url: URL) { note("changed \(url.lastPathComponent)") }
}

/// Runs a body with a registered presenter.
@discardableResult
func withPresenter<Presenter: NSFilePresenter, Result>(_ presenter: Presenter, _ body: (Presenter) async throws -> Result) async throws -> Result {
    NSFileCoordinator.addFilePresenter(presenter)
    defer { NSFileCoordinator.removeFilePresenter(presenter) }
    return try await body(presenter)
}
