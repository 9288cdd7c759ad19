#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// A presenter as it is written for Apple's systems: it prints what it is told, and saves a text that it keeps.
final class Reporter: NSObject, NSFilePresenter, @unchecked Sendable {
    // The lock guards the variables; any thread may ask for the URL.
    private let lock = NSLock()
    private var url: URL?
    /// The text that the file does not have yet.
    private var unsaved: String?
    private var unanswered: [@Sendable ((any Error)?) -> Void] = []
    private let words: Words
    let presentedItemOperationQueue: OperationQueue

    init(_ url: URL, _ words: Words) {
        self.url = url
        self.words = words
        unsaved = words.options["--unsaved"]
        presentedItemOperationQueue = OperationQueue()
        presentedItemOperationQueue.maxConcurrentOperationCount = 1
        presentedItemOperationQueue.isSuspended = words.has("--suspended")
    }

    var presentedItemURL: URL? {
        get { lock.withLock { url } }
        set { lock.withLock { url = newValue } }
    }

    private func author(of version: NSFileVersion) -> String { version.localizedNameOfSavingComputer ?? "nobody" }

    /// Writes the item on behalf of the presenter.
    @discardableResult func write(_ text: String) -> NSError? {
        guard let url = presentedItemURL else { return nil }
        var failure: NSError?
        NSFileCoordinator(filePresenter: self).coordinate(writingItemAt: url, options: [], error: &failure) { url in
            do { try Data(text.utf8).write(to: url) } catch { say("\(error)") }
        }
        return failure
    }

    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((() -> Void)?) -> Void) {
        say("relinquish to reader")
        reader { say("reacquire from reader") }
    }

    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((() -> Void)?) -> Void) {
        say("relinquish to writer")
        writer { say("reacquire from writer") }
    }

    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("save")
        if words.has("--silent") { return lock.withLock { unanswered.append(completionHandler) } }
        if words.has("--refuse") {
            return completionHandler(CocoaError(.fileWriteVolumeReadOnly, userInfo: [NSLocalizedDescriptionKey: "The letter is on a shelf."]))
        }
        guard let text = lock.withLock({ unsaved }) else { return completionHandler(nil) }
        lock.withLock { unsaved = nil }
        // On behalf of the presenter, so that it does not wait for the reader who waits for it.
        guard words.has("--elsewhere") else { return completionHandler(write(text)) }
        Thread.detachNewThread { completionHandler(self.write(text)) }
    }

    /// Answers the questions of a presenter that was silent.
    func answer() {
        let handlers = lock.withLock {
            defer { unanswered = [] }
            return unanswered
        }
        for handler in handlers { handler(nil) }
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("accommodate deletion")
        completionHandler(nil)
    }

    func presentedItemDidMove(to newURL: URL) {
        presentedItemURL = newURL
        say("moved to \(newURL.lastPathComponent)")
    }

    func presentedItemDidChange() { say("changed") }
    // Apple's systems never call it.
    func presentedItemDidDisappear() { say("disappeared") }
    func presentedItemDidGain(_ version: NSFileVersion) { say("gained a version of \(author(of: version))") }
    func presentedItemDidResolveConflict(_ version: NSFileVersion) { say("resolved a version of \(author(of: version))") }
    func presentedItemDidLose(_ version: NSFileVersion) { say("lost a version of \(author(of: version))") }
    func presentedSubitemDidAppear(at url: URL) { say("appeared \(url.lastPathComponent)") }
    func presentedSubitemDidChange(at url: URL) { say("changed \(url.lastPathComponent)") }
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) { say("moved \(oldURL.lastPathComponent) to \(newURL.lastPathComponent)") }

    func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("accommodate deletion of \(url.lastPathComponent)")
        completionHandler(nil)
    }
}
