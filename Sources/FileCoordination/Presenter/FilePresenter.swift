public import Foundation

/// Returns an item to its presenter after a reader or writer is done; runs in the presenter's turn.
public typealias Reacquirer = @Sendable () async -> Void

/// An object that shows a file or directory to a person, or otherwise keeps its content, and takes part in other
/// accesses to it.
///
/// Register it with ``FileCoordinator/addFilePresenter(_:)``. The presenter gets its messages one after the other, in
/// the order in which they were sent, and each after the one before has returned: a slow `presentedItemDidChange()`
/// delays a later `relinquishPresentedItemToWriter()`. The methods are `async`, so that actors and main-actor classes
/// can conform; the actor replaces Cocoa's `presentedItemOperationQueue`.
///
/// Every method has a default that does what Cocoa does for a missing method:
///
/// - `relinquish…`, `save…` and the deletion methods agree, `accommodatePresentedItemEviction()` throws;
/// - `presentedSubitemDidAppear`, `…DidMove` and `…DidChange` become `presentedItemDidChange()` if the presented item
///   is a file package, and do nothing in a plain directory;
/// - the others do nothing.
///
/// If a presenter accesses its own item while it handles a message, it uses a coordinator made with
/// ``FileCoordinator/init(filePresenter:)``. That access goes before the claims that wait for the presenter.
/// ``FilePresenterMessage/current`` names the cause of a message.
///
/// ```swift
/// actor Letter: FilePresenter {
///     nonisolated let presentedItemURL: URL?
///     private var text = ""
///
///     init(_ url: URL) { presentedItemURL = url }
///
///     func savePresentedItemChanges() async throws {
///         try await FileCoordinator(filePresenter: self).write(presentedItemURL!) { [text] url in try Data(text.utf8).write(to: url) }
///     }
///
///     func presentedItemDidChange() async {
///         let read = try? await FileCoordinator(filePresenter: self).read(presentedItemURL!) { url in try String(contentsOf: url, encoding: .utf8) }
///         text = read ?? text
///     }
/// }
/// ```
public protocol FilePresenter: AnyObject, Sendable {
    /// The presented item, or nil if there is none.
    ///
    /// Any thread may read it, also inside coordinated accesses, so the getter must not wait for an access.
    var presentedItemURL: URL? { get }

    /// The attributes that `presentedItemDidChangeUbiquityAttributes(_:)` reports; read once, when the presenter is
    /// added.
    var observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute> { get }

    /// Prepares for a reader: stop writing the item until the reacquirer runs.
    ///
    /// - Returns: a closure to run after the reader is done, or nil.
    func relinquishPresentedItemToReader() async -> Reacquirer?

    /// Prepares for a writer: stop using the item until the reacquirer runs.
    ///
    /// - Returns: a closure to run after the writer is done, or nil.
    func relinquishPresentedItemToWriter() async -> Reacquirer?

    /// Saves the changes that the file does not contain yet. It may be called without a `relinquish…` before it.
    ///
    /// - Throws: an error; the waiting access fails with it, without running its accessor.
    func savePresentedItemChanges() async throws

    /// Prepares for the deletion or replacement of the item: close the item.
    ///
    /// - Throws: an error; the deletion fails with it.
    func accommodatePresentedItemDeletion() async throws

    /// Prepares for the deletion or replacement of an item inside the presented directory.
    ///
    /// - Parameter url: the item.
    /// - Throws: an error; the deletion fails with it.
    func accommodatePresentedSubitemDeletion(at url: URL) async throws

    /// Prepares for the removal of the item's local copy: remove this presenter, or throw to refuse.
    ///
    /// - Throws: an error refuses. The default throws, because a presenter that ignores evictions would show a file
    ///   that is gone.
    func accommodatePresentedItemEviction() async throws

    /// Reports that the item was moved or renamed.
    ///
    /// - Parameter newURL: the new URL; return it from ``presentedItemURL`` from now on.
    func presentedItemDidMove(to newURL: URL) async

    /// Reports that the contents or attributes of the item may have changed. Compare the modification date inside a
    /// coordinated read.
    func presentedItemDidChange() async

    /// Reports that a program without coordination deleted the item.
    func presentedItemDidDisappear() async

    /// Reports changed ubiquity attributes of the item.
    ///
    /// - Parameter attributes: the observed attributes that have changed.
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async

    /// Reports a new version of the item.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidGain(_ version: FileVersionIdentifier) async

    /// Reports that a version of the item was removed.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidLose(_ version: FileVersionIdentifier) async

    /// Reports that a version of the item is no longer in conflict.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async

    /// Reports that an item appeared inside the presented directory, at any depth: it was created or moved in.
    ///
    /// - Parameter url: the new item.
    func presentedSubitemDidAppear(at url: URL) async

    /// Reports that an item inside the presented directory has moved, perhaps out of the directory.
    ///
    /// - Parameters:
    ///   - oldURL: its previous URL.
    ///   - newURL: its current URL.
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async

    /// Reports that the contents or attributes of an item inside the presented directory may have changed.
    ///
    /// - Parameter url: the item.
    func presentedSubitemDidChange(at url: URL) async

    /// Reports a new version of an item inside the presented directory.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async

    /// Reports that a version of an item inside the presented directory was removed.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async

    /// Reports that a version of an item inside the presented directory is no longer in conflict.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async
}

/// The defaults, which do what Cocoa does for a missing method.
extension FilePresenter {
    /// Every attribute.
    public var observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute> { UbiquityAttribute.all }

    /// Agrees.
    public func relinquishPresentedItemToReader() async -> Reacquirer? { nil }
    /// Agrees.
    public func relinquishPresentedItemToWriter() async -> Reacquirer? { nil }
    /// Has nothing to save.
    public func savePresentedItemChanges() async throws {}
    /// Agrees.
    public func accommodatePresentedItemDeletion() async throws {}
    /// Agrees.
    public func accommodatePresentedSubitemDeletion(at url: URL) async throws {}
    /// Refuses: a presenter that ignores evictions would continue to show a file that is gone.
    ///
    /// - Throws: `presenterRefused`.
    public func accommodatePresentedItemEviction() async throws {
        throw FileCoordinationError(
            .presenterRefused,
            "The presenter of \(presentedItemURL?.path ?? "no item") does not support eviction. "
                + "Implement accommodatePresentedItemEviction(), or remove the presenter first.")
    }
    /// Does nothing.
    public func presentedItemDidMove(to newURL: URL) async {}
    /// Does nothing.
    public func presentedItemDidChange() async {}
    /// Does nothing.
    public func presentedItemDidDisappear() async {}
    /// Does nothing.
    public func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async {}
    /// Does nothing.
    public func presentedItemDidGain(_ version: FileVersionIdentifier) async {}
    /// Does nothing.
    public func presentedItemDidLose(_ version: FileVersionIdentifier) async {}
    /// Does nothing.
    public func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async {}
    /// Becomes ``presentedItemDidChange()`` in a file package.
    public func presentedSubitemDidAppear(at url: URL) async { await changeOfPackage() }
    /// Becomes ``presentedItemDidChange()`` in a file package.
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async { await changeOfPackage() }
    /// Becomes ``presentedItemDidChange()`` in a file package.
    public func presentedSubitemDidChange(at url: URL) async { await changeOfPackage() }
    /// Does nothing.
    public func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async {}
    /// Does nothing.
    public func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async {}
    /// Does nothing.
    public func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async {}

    private func changeOfPackage() async {
        guard FilePresenterMessage.current?.presentedItemIsPackage == true else { return }
        await presentedItemDidChange()
    }
}

/// A permanent identifier of a version of a file.
public struct FileVersionIdentifier: RawRepresentable, Hashable, Sendable, Codable {
    /// The persistent identifier.
    public let rawValue: String

    /// Makes an identifier from its archived form.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// An attribute of an item in a container; Cocoa's `NSURLUbiquitousItem…Key`.
public struct UbiquityAttribute: RawRepresentable, Hashable, Sendable, Codable {
    /// Cocoa's name of the key.
    public let rawValue: String

    /// Makes an attribute from Cocoa's name of the key.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Whether the item has versions in conflict.
    public static let hasUnresolvedConflicts = UbiquityAttribute(rawValue: "NSURLUbiquitousItemHasUnresolvedConflictsKey")
    /// Whether a download is under way.
    public static let isDownloading = UbiquityAttribute(rawValue: "NSURLUbiquitousItemIsDownloadingKey")
    /// Whether the item has left this device.
    public static let isUploaded = UbiquityAttribute(rawValue: "NSURLUbiquitousItemIsUploadedKey")
    /// Whether an upload is under way.
    public static let isUploading = UbiquityAttribute(rawValue: "NSURLUbiquitousItemIsUploadingKey")
    /// Whether the item is on this device, and how current it is.
    public static let downloadingStatus = UbiquityAttribute(rawValue: "NSURLUbiquitousItemDownloadingStatusKey")
    /// The error of the last failed download.
    public static let downloadingError = UbiquityAttribute(rawValue: "NSURLUbiquitousItemDownloadingErrorKey")
    /// The error of the last failed upload.
    public static let uploadingError = UbiquityAttribute(rawValue: "NSURLUbiquitousItemUploadingErrorKey")

    /// Every attribute.
    public static let all: Set<UbiquityAttribute> = [
        .hasUnresolvedConflicts, .isDownloading, .isUploaded, .isUploading, .downloadingStatus, .downloadingError, .uploadingError,
    ]
}
