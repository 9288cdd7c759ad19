public import Foundation

/// Gives an item back to its presenter once a reader or writer is done with it; runs in the presenter's turn.
public typealias Reacquirer = @Sendable () async -> Void

/// An object that shows a file or directory to a person, or otherwise keeps its content, and has a say in who else touches it.
///
/// Register it with ``FileCoordinator/addFilePresenter(_:)``. Messages are delivered one after the other, in the order in which they
/// were sent, each when the one before has returned (C-28, C-32): a slow `presentedItemDidChange()` delays a later
/// `relinquishPresentedItemToWriter()`. The methods are `async`, so that actors and main-actor classes can conform; the actor takes the
/// place of Cocoa's `presentedItemOperationQueue`.
///
/// Every method has a default that does what Cocoa does when the method is missing:
///
/// - `relinquish…`, `save…` and the deletion methods agree, `accommodatePresentedItemEviction()` throws;
/// - `presentedSubitemDidAppear`, `…DidMove` and `…DidChange` become `presentedItemDidChange()` where the presented item is a file
///   package, and nothing in a plain directory (C-36);
/// - the others do nothing.
///
/// A presenter that accesses its own item while it handles a message uses a coordinator made with
/// ``FileCoordinator/init(filePresenter:)``, which goes before whoever is waiting for the presenter (C-52).
/// ``FilePresenterMessage/current`` tells who caused a message.
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
    /// The item that is presented, or nil while there is none.
    ///
    /// May be read on any thread, also from inside coordinated accesses, so it must not wait for one.
    var presentedItemURL: URL? { get }

    /// The attributes of which `presentedItemDidChangeUbiquityAttributes(_:)` tells; read once, when the presenter is added.
    var observedPresentedItemUbiquityAttributes: Set<UbiquityAttribute> { get }

    /// Somebody is about to read the item: stop writing it until the reacquirer runs.
    ///
    /// - Returns: what to do once the reader is done, or nil.
    func relinquishPresentedItemToReader() async -> Reacquirer?

    /// Somebody is about to write the item: stop using it until the reacquirer runs.
    ///
    /// - Returns: what to do once the writer is done, or nil.
    func relinquishPresentedItemToWriter() async -> Reacquirer?

    /// Save what the file does not hold yet. May come without a `relinquish…` before it (C-30).
    ///
    /// - Throws: an error makes the access that waits fail with it, without running its accessor (C-27).
    func savePresentedItemChanges() async throws

    /// The item is about to be deleted or replaced: close it.
    ///
    /// - Throws: an error makes the deletion fail with it.
    func accommodatePresentedItemDeletion() async throws

    /// Something inside the presented directory is about to be deleted or replaced.
    ///
    /// - Parameter url: the item.
    /// - Throws: an error makes the deletion fail with it.
    func accommodatePresentedSubitemDeletion(at url: URL) async throws

    /// The local copy of the item is about to be removed: remove this presenter, or veto.
    ///
    /// - Throws: an error vetoes. The default throws, for a presenter that does not know of evictions would show a file that is gone.
    func accommodatePresentedItemEviction() async throws

    /// The item has been moved or renamed.
    ///
    /// - Parameter newURL: where it is now; return this from ``presentedItemURL`` from now on.
    func presentedItemDidMove(to newURL: URL) async

    /// The contents or attributes of the item may have changed. Compare the modification date, inside a coordinated read (C-64).
    func presentedItemDidChange() async

    /// The item was deleted by a program that does not coordinate (C-63).
    func presentedItemDidDisappear() async

    /// Ubiquity attributes of the item have changed.
    ///
    /// - Parameter attributes: those of the observed ones that have.
    func presentedItemDidChangeUbiquityAttributes(_ attributes: Set<UbiquityAttribute>) async

    /// The item has another version.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidGain(_ version: FileVersionIdentifier) async

    /// A version of the item was removed.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidLose(_ version: FileVersionIdentifier) async

    /// A version of the item is no longer in conflict.
    ///
    /// - Parameter version: the version's persistent identifier.
    func presentedItemDidResolveConflict(_ version: FileVersionIdentifier) async

    /// Something has appeared inside the presented directory, at whatever depth: it was created, or moved in.
    ///
    /// - Parameter url: the new item.
    func presentedSubitemDidAppear(at url: URL) async

    /// Something inside the presented directory has moved, perhaps out of it.
    ///
    /// - Parameters:
    ///   - oldURL: where it was.
    ///   - newURL: where it is now.
    func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async

    /// The contents or attributes of something inside the presented directory may have changed.
    ///
    /// - Parameter url: the item.
    func presentedSubitemDidChange(at url: URL) async

    /// Something inside the presented directory has another version.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didGain version: FileVersionIdentifier) async

    /// A version of something inside the presented directory was removed.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didLose version: FileVersionIdentifier) async

    /// A version of something inside the presented directory is no longer in conflict.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - version: the version's persistent identifier.
    func presentedSubitem(at url: URL, didResolve version: FileVersionIdentifier) async
}

/// What Cocoa does when a method is missing.
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
    /// Vetoes: a presenter that does not know of evictions would go on showing a file that is gone.
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
    /// Becomes ``presentedItemDidChange()`` in a file package (C-36).
    public func presentedSubitemDidAppear(at url: URL) async { await changeOfPackage() }
    /// Becomes ``presentedItemDidChange()`` in a file package (C-36).
    public func presentedSubitem(at oldURL: URL, didMoveTo newURL: URL) async { await changeOfPackage() }
    /// Becomes ``presentedItemDidChange()`` in a file package (C-36).
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

/// Names a version of a file, for good.
public struct FileVersionIdentifier: RawRepresentable, Hashable, Sendable, Codable {
    /// The persistent identifier.
    public let rawValue: String

    /// Makes an identifier from its archived form.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

/// An attribute that an item has by virtue of being in a container; Cocoa's `NSURLUbiquitousItem…Key`.
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
    /// Whether the item is here, and how fresh it is.
    public static let downloadingStatus = UbiquityAttribute(rawValue: "NSURLUbiquitousItemDownloadingStatusKey")
    /// Why the last download failed.
    public static let downloadingError = UbiquityAttribute(rawValue: "NSURLUbiquitousItemDownloadingErrorKey")
    /// Why the last upload failed.
    public static let uploadingError = UbiquityAttribute(rawValue: "NSURLUbiquitousItemUploadingErrorKey")

    /// Every attribute.
    public static let all: Set<UbiquityAttribute> = [
        .hasUnresolvedConflicts, .isDownloading, .isUploaded, .isUploading, .downloadingStatus, .downloadingError, .uploadingError,
    ]
}
