public import Foundation

/// An object that shows a file or directory, and takes part in other accesses to it; Cocoa's protocol over `FilePresenter`.
///
/// Register it with ``NSFileCoordinator/addFilePresenter(_:)``. Every method runs on ``presentedItemOperationQueue``, one message after the
/// other. A message whose answer is a completion handler is done when the handler is called, on any thread; until then the access waits
/// without limit.
///
/// All methods have a default that does what Cocoa does where a class lacks the method. A question has two forms, as in Cocoa: implement
/// the one with a completion handler, or the `async` one; with both, the one with the completion handler is called.
///
/// ```swift
/// final class Letter: NSObject, NSFilePresenter {
///     let presentedItemURL: URL?
///     let presentedItemOperationQueue = OperationQueue()
///
///     init(_ url: URL) { presentedItemURL = url }
///
///     func savePresentedItemChanges(completionHandler: @escaping ((any Error)?) -> Void) { completionHandler(save()) }
///     func presentedItemDidChange() { read() }
/// }
/// ```
public protocol NSFilePresenter: AnyObject {
    /// The presented item, or nil if there is none.
    ///
    /// Any thread may read it, also inside coordinated accesses, so the getter must not wait for an access.
    var presentedItemURL: URL? { get }

    /// The queue of the presenter's methods; use one that runs one operation at a time.
    ///
    /// Any thread may read it. A suspended queue delays the accesses that wait for an answer.
    var presentedItemOperationQueue: OperationQueue { get }

    /// The item to which the presented item belongs, for apps in a sandbox; it has no effect here.
    var primaryPresentedItemURL: URL? { get }

    /// The attributes that `presentedItemDidChangeUbiquityAttributes(_:)` reports; read once, when the presenter is added.
    var observedPresentedItemUbiquityAttributes: Set<URLResourceKey> { get }

    // MARK: Questions

    /// Prepares for a reader: stop writing the item until the reacquirer runs.
    ///
    /// - Parameter reader: call it with a closure that runs on the presenter's queue after the reader is done, or with nil.
    func relinquishPresentedItem(toReader reader: @escaping @Sendable ((() -> Void)?) -> Void)

    /// Prepares for a writer: stop using the item until the reacquirer runs.
    ///
    /// - Parameter writer: call it with a closure that runs on the presenter's queue after the writer is done, or with nil.
    func relinquishPresentedItem(toWriter writer: @escaping @Sendable ((() -> Void)?) -> Void)

    /// Saves the changes that the file does not contain yet.
    ///
    /// - Parameter completionHandler: call it with nil, or with an error, with which the waiting access fails.
    func savePresentedItemChanges(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// Saves the changes that the file does not contain yet.
    ///
    /// - Throws: an error; the waiting access fails with it.
    func savePresentedItemChanges() async throws

    /// Prepares for the deletion or replacement of the item: close the item.
    ///
    /// - Parameter completionHandler: call it with nil, or with an error, with which the deletion fails.
    func accommodatePresentedItemDeletion(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// Prepares for the deletion or replacement of the item: close the item.
    ///
    /// - Throws: an error; the deletion fails with it.
    func accommodatePresentedItemDeletion() async throws

    /// Prepares for the deletion or replacement of an item inside the presented directory.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - completionHandler: call it with nil, or with an error, with which the deletion fails.
    func accommodatePresentedSubitemDeletion(at url: URL, completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// Prepares for the deletion or replacement of an item inside the presented directory.
    ///
    /// - Parameter url: the item.
    /// - Throws: an error; the deletion fails with it.
    func accommodatePresentedSubitemDeletion(at url: URL) async throws

    /// Prepares for the removal of the item's local copy: remove this presenter, or refuse.
    ///
    /// - Parameter completionHandler: call it with nil, or with an error, which refuses.
    func accommodatePresentedItemEviction(completionHandler: @escaping @Sendable ((any Error)?) -> Void)

    /// Prepares for the removal of the item's local copy: remove this presenter, or throw to refuse.
    ///
    /// - Throws: an error refuses. The default throws.
    func accommodatePresentedItemEviction() async throws

    // MARK: Notices

    /// Reports that the item was moved or renamed.
    ///
    /// - Parameter newURL: the new URL; return it from ``presentedItemURL`` from now on.
    func presentedItemDidMove(to newURL: URL)

    /// Reports that the contents or attributes of the item may have changed.
    func presentedItemDidChange()

    /// Reports that a program without coordination deleted the item; Cocoa has no such message.
    func presentedItemDidDisappear()

    /// Reports changed ubiquity attributes of the item.
    ///
    /// - Parameter attributes: the observed attributes that have changed.
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<URLResourceKey>)

    /// Reports a new version of the item.
    ///
    /// - Parameter version: the version.
    func presentedItemDidGain(_ version: NSFileVersion)

    /// Reports that a version of the item was removed.
    ///
    /// - Parameter version: the version as it was.
    func presentedItemDidLose(_ version: NSFileVersion)

    /// Reports that a version of the item is no longer in conflict.
    ///
    /// - Parameter version: the version.
    func presentedItemDidResolveConflict(_ version: NSFileVersion)

    /// Reports that an item appeared inside the presented directory, at any depth.
    ///
    /// - Parameter url: the new item.
    func presentedSubitemDidAppear(at url: URL)

    /// Reports that an item inside the presented directory has moved, perhaps out of the directory.
    ///
    /// - Parameters:
    ///   - oldURL: its previous URL.
    ///   - newURL: its current URL.
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL)

    /// Reports that the contents or attributes of an item inside the presented directory may have changed.
    ///
    /// - Parameter url: the item.
    func presentedSubitemDidChange(at url: URL)

    /// Reports a new version of an item inside the presented directory.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version.
    func presentedSubitem(at url: URL, didGain version: NSFileVersion)

    /// Reports that a version of an item inside the presented directory was removed.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version as it was.
    func presentedSubitem(at url: URL, didLose version: NSFileVersion)

    /// Reports that a version of an item inside the presented directory is no longer in conflict.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version.
    func presentedSubitem(at url: URL, didResolve version: NSFileVersion)
}
