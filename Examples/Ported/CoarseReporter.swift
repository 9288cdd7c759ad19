#if canImport(UbiquityFoundation)
    import UbiquityFoundation
#else
    import Foundation
#endif

/// A presenter that has no methods about what is in its item.
final class CoarseReporter: NSObject, NSFilePresenter, @unchecked Sendable {
    // Constants.
    let presentedItemURL: URL?
    let presentedItemOperationQueue = OperationQueue()

    init(_ url: URL) { presentedItemURL = url }

    func presentedItemDidChange() { say("changed") }
    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void) {
        say("save")
        completionHandler(nil)
    }
}
