// A document as an app for macOS has it. Only the import differs.
#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// A text file that is open in a window.
class TextFile: NSObject, NSFilePresenter, @unchecked Sendable {
    private let lock = NSLock()
    private var fileURL: URL?
    private var contents = ""
    private var isEdited = false
    private var isLentToWriter = false
    private let queue: OperationQueue = {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.name = "Text file"
        return queue
    }()

    /// Tells the window what has happened.
    var onEvent: (@Sendable (String) -> Void)?

    init(fileURL: URL) {
        self.fileURL = fileURL
        super.init()
    }

    deinit {
        NSFileCoordinator.removeFilePresenter(self)
    }

    // MARK: The window's side

    var text: String {
        get { lock.withLock { contents } }
        set {
            lock.withLock {
                contents = newValue
                isEdited = true
            }
        }
    }

    var isOpen: Bool { lock.withLock { fileURL != nil } }
    var hasUnsavedChanges: Bool { lock.withLock { isEdited } }
    var canBeEdited: Bool { lock.withLock { !isLentToWriter } }

    func open() throws {
        NSFileCoordinator.addFilePresenter(self)
        try read()
    }

    func close() throws {
        if hasUnsavedChanges { try save() }
        NSFileCoordinator.removeFilePresenter(self)
    }

    func read() throws {
        guard let url = presentedItemURL else { return }
        var coordinationError: NSError?
        var readError: (any Error)?
        NSFileCoordinator(filePresenter: self).coordinate(readingItemAt: url, options: [], error: &coordinationError) { newURL in
            do {
                let text = try String(contentsOf: newURL, encoding: .utf8)
                lock.withLock {
                    contents = text
                    isEdited = false
                }
            } catch {
                readError = error
            }
        }
        if let error = coordinationError ?? readError { throw error }
    }

    func save() throws {
        guard let url = presentedItemURL else { throw CocoaError(.fileNoSuchFile) }
        var coordinationError: NSError?
        var writeError: (any Error)?
        NSFileCoordinator(filePresenter: self).coordinate(writingItemAt: url, options: .forMerging, error: &coordinationError) { newURL in
            do {
                try text.write(to: newURL, atomically: true, encoding: .utf8)
                lock.withLock { isEdited = false }
            } catch {
                writeError = error
            }
        }
        if let error = coordinationError ?? writeError { throw error }
    }

    func rename(to name: String) throws {
        guard let url = presentedItemURL else { throw CocoaError(.fileNoSuchFile) }
        let destination = url.deletingLastPathComponent().appendingPathComponent(name)
        let coordinator = NSFileCoordinator(filePresenter: self)
        var coordinationError: NSError?
        var moveError: (any Error)?
        coordinator.coordinate(
            writingItemAt: url, options: .forMoving, writingItemAt: destination, options: .forReplacing, error: &coordinationError
        ) { source, target in
            do {
                coordinator.item(at: source, willMoveTo: target)
                try FileManager.default.moveItem(at: source, to: target)
                coordinator.item(at: source, didMoveTo: target)
                lock.withLock { fileURL = target }
            } catch {
                moveError = error
            }
        }
        if let error = coordinationError ?? moveError { throw error }
    }

    // MARK: NSFilePresenter

    var presentedItemURL: URL? { lock.withLock { fileURL } }

    var presentedItemOperationQueue: OperationQueue { queue }

    func relinquishPresentedItem(toReader reader: @escaping ((() -> Void)?) -> Void) {
        onEvent?("lent to a reader")
        reader { [weak self] in self?.onEvent?("back from a reader") }
    }

    func relinquishPresentedItem(toWriter writer: @escaping ((() -> Void)?) -> Void) {
        lock.withLock { isLentToWriter = true }
        writer { [weak self] in
            guard let self else { return }
            self.lock.withLock { self.isLentToWriter = false }
            self.onEvent?("back from a writer")
        }
    }

    func savePresentedItemChanges(completionHandler: @escaping ((any Error)?) -> Void) {
        guard hasUnsavedChanges else { return completionHandler(nil) }
        do {
            try save()
            onEvent?("saved")
            completionHandler(nil)
        } catch {
            completionHandler(error)
        }
    }

    func accommodatePresentedItemDeletion(completionHandler: @escaping ((any Error)?) -> Void) {
        lock.withLock { fileURL = nil }
        onEvent?("closed")
        NSFileCoordinator.removeFilePresenter(self)
        completionHandler(nil)
    }

    func presentedItemDidMove(to newURL: URL) {
        lock.withLock { fileURL = newURL }
        onEvent?("moved to \(newURL.lastPathComponent)")
    }

    func presentedItemDidChange() {
        guard isOpen, !hasUnsavedChanges else { return }
        let known = text
        do {
            try read()
            if text != known { onEvent?("read \(text)") }
        } catch {
            onEvent?("cannot read: \(error)")
        }
    }

    func presentedItemDidGain(_ version: NSFileVersion) {
        guard version.isConflict, !version.isResolved, let url = presentedItemURL else { return }
        var coordinationError: NSError?
        NSFileCoordinator(filePresenter: self).coordinate(writingItemAt: url, options: .forMerging, error: &coordinationError) { newURL in
            do {
                let ours = try String(contentsOf: newURL, encoding: .utf8)
                let theirs = try String(contentsOf: version.url, encoding: .utf8)
                try (ours + theirs).write(to: newURL, atomically: true, encoding: .utf8)
                version.isResolved = true
                try NSFileVersion.removeOtherVersionsOfItem(at: newURL)
                lock.withLock { contents = ours + theirs }
                onEvent?("merged")
            } catch {
                onEvent?("cannot merge: \(error)")
            }
        }
        if let coordinationError { onEvent?("cannot merge: \(coordinationError)") }
    }
}
