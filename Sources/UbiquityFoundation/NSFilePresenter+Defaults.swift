import FileCoordination
public import Foundation

/// The defaults, which do what Cocoa does where a class lacks the method.
extension NSFilePresenter {
    /// No item.
    public var primaryPresentedItemURL: URL? { nil }
    /// Every attribute.
    public var observedPresentedItemUbiquityAttributes: Set<URLResourceKey> {
        Set(UbiquityAttribute.all.map { URLResourceKey(rawValue: $0.rawValue) })
    }

    // MARK: Questions

    /// Agrees.
    public func relinquishPresentedItem(toReader reader: @escaping @Sendable ((() -> Void)?) -> Void) { reader(nil) }
    /// Agrees.
    public func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((() -> Void)?) -> Void) { writer(nil) }

    /// Calls the `async` form.
    public func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.savePresentedItemChanges() }
    }
    /// Has nothing to save.
    public func savePresentedItemChanges() async throws {}

    /// Calls the `async` form.
    public func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemDeletion() }
    }
    /// Agrees.
    public func accommodatePresentedItemDeletion() async throws {}

    /// Calls the `async` form.
    public func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedSubitemDeletion(at: url) }
    }
    /// Agrees.
    public func accommodatePresentedSubitemDeletion(at url: URL) async throws {}

    /// Calls the `async` form.
    public func accommodatePresentedItemEviction(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        answer(completionHandler) { try await $0.accommodatePresentedItemEviction() }
    }
    /// Refuses: a presenter that ignores evictions would continue to show a file that is gone.
    ///
    /// - Throws: `CocoaError.featureUnsupported`.
    public func accommodatePresentedItemEviction() async throws {
        let path = presentedItemURL?.path ?? "no item"
        throw CocoaError(
            .featureUnsupported,
            userInfo: [
                NSFilePathErrorKey: path,
                NSLocalizedDescriptionKey: "The presenter of \(path) does not support eviction. "
                    + "Implement accommodatePresentedItemEviction(completionHandler:), or remove the presenter first.",
            ])
    }

    /// Answers with the end of an `async` method, whose steps are operations of the presenter's queue.
    private func answer(
        _ completionHandler: @escaping @Sendable ((any Error)?) -> Void, _ method: @escaping @Sendable (any NSFilePresenter) async throws -> Void
    ) {
        // Used by the steps alone, on the presenter's queue.
        nonisolated(unsafe) let presenter: any NSFilePresenter = self
        Task(executorPreference: PresenterQueueExecutor(presentedItemOperationQueue)) {
            do {
                try await method(presenter)
                completionHandler(nil)
            } catch {
                completionHandler(error)
            }
        }
    }

    // MARK: Notices

    /// Does nothing.
    public func presentedItemDidMove(to newURL: URL) {}
    /// Does nothing.
    public func presentedItemDidChange() {}
    /// Does nothing.
    public func presentedItemDidDisappear() {}
    /// Does nothing.
    public func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>) {}
    /// Does nothing.
    public func presentedItemDidGain(_ version: NSFileVersion) {}
    /// Does nothing.
    public func presentedItemDidLose(_ version: NSFileVersion) {}
    /// Does nothing.
    public func presentedItemDidResolveConflict(_ version: NSFileVersion) {}
    /// Becomes ``NSFilePresenter/presentedItemDidChange()`` in a file package.
    public func presentedSubitemDidAppear(at url: URL) { changeOfPackage() }
    /// Becomes ``NSFilePresenter/presentedItemDidChange()`` in a file package.
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) { changeOfPackage() }
    /// Becomes ``NSFilePresenter/presentedItemDidChange()`` in a file package.
    public func presentedSubitemDidChange(at url: URL) { changeOfPackage() }
    /// Does nothing.
    public func presentedSubitem(at url: URL, didGain version: NSFileVersion) {}
    /// Does nothing.
    public func presentedSubitem(at url: URL, didLose version: NSFileVersion) {}
    /// Does nothing.
    public func presentedSubitem(at url: URL, didResolve version: NSFileVersion) {}

    private func changeOfPackage() {
        guard FilePresenterMessage.current?.presentedItemIsPackage == true else { return }
        presentedItemDidChange()
    }
}
