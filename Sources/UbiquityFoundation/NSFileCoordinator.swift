import FileCoordination
public import Foundation

/// Reads and writes files in coordination with other readers, writers and presenters; Cocoa's class over `FileCoordinator`.
///
/// ```swift
/// var error: NSError?
/// NSFileCoordinator(filePresenter: nil).coordinate(readingItemAt: url, options: [], error: &error) { url in
///     text = try? String(contentsOf: url, encoding: .utf8)
/// }
/// ```
///
/// The blocking forms run the accessor at most once, on the calling thread, before they return. If the accessor was not run, `error` tells
/// why, in Cocoa's domains; after an accessor that has run, `error` is unchanged.
open class NSFileCoordinator: NSObject, @unchecked Sendable {
    // Constants, which guard their own state. The adapter lives as long as the coordinator, which works for it.
    private let base: FileCoordinator
    private let presenter: PresenterAdapter?

    /// Makes a coordinator.
    ///
    /// - Parameter filePresenter: the presenter on whose behalf it works, or nil. The presenter gets no messages about this coordinator's
    ///   accesses. It is not retained, and need not be registered.
    public init(filePresenter: (any NSFilePresenter)?) {
        presenter = filePresenter.map { PresenterAdapters.adapter(of: $0) }
        base = FileCoordinator(filePresenter: presenter)
    }

    /// Makes a coordinator without a presenter.
    public override convenience init() { self.init(filePresenter: nil) }

    /// The purpose of the coordinator: accesses with one purpose never wait for each other, not even across processes.
    ///
    /// Set it at most once, to a non-empty string, on a coordinator without a presenter; anything else is a programming error.
    open var purposeIdentifier: String {
        get { base.purposeIdentifier }
        set { base.purposeIdentifier = newValue }
    }

    /// Gives up every waiting access of this coordinator and refuses later ones, with `NSUserCancelledError`.
    ///
    /// It returns at once, on any thread. A running accessor finishes normally.
    open func cancel() { base.cancel() }

    // MARK: Blocking forms

    /// Reads an item, blocking until all writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: the reading options.
    ///   - outError: gets the reason if the accessor was not run.
    ///   - reader: reads the item at the given URL.
    open func coordinate(
        readingItemAt url: URL, options: ReadingOptions = [], error outError: NSErrorPointer, byAccessor reader: (URL) -> Void
    ) {
        report(.reading, to: outError) { try base.coordinate(readingItemAt: url, options: options.base) { reader($0) } }
    }

    /// Writes an item, blocking until all other readers and writers of it have finished.
    ///
    /// - Parameters:
    ///   - url: the item; it need not exist.
    ///   - options: at most one option; more are a programming error.
    ///   - outError: gets the reason if the accessor was not run.
    ///   - writer: writes the item at the given URL.
    open func coordinate(
        writingItemAt url: URL, options: WritingOptions = [], error outError: NSErrorPointer, byAccessor writer: (URL) -> Void
    ) {
        report(.writing, to: outError) { try base.coordinate(writingItemAt: url, options: options.base) { writer($0) } }
    }

    /// Reads one item and writes another under one claim.
    ///
    /// - Parameters:
    ///   - readingURL: the item to read.
    ///   - readingOptions: the reading options.
    ///   - writingURL: the item to write.
    ///   - writingOptions: at most one option.
    ///   - outError: gets the reason if the accessor was not run.
    ///   - readerWriter: gets both URLs in this order.
    open func coordinate(
        readingItemAt readingURL: URL, options readingOptions: ReadingOptions = [], writingItemAt writingURL: URL,
        options writingOptions: WritingOptions = [], error outError: NSErrorPointer, byAccessor readerWriter: (URL, URL) -> Void
    ) {
        report(.writing, to: outError) {
            try base.coordinate(
                readingItemAt: readingURL, options: readingOptions.base, writingItemAt: writingURL, options: writingOptions.base
            ) { readerWriter($0, $1) }
        }
    }

    /// Writes two items under one claim, for example to move one.
    ///
    /// - Parameters:
    ///   - firstURL: an item, such as the item to move.
    ///   - firstOptions: at most one option, such as `forMoving`.
    ///   - secondURL: another item, such as the destination.
    ///   - secondOptions: at most one option, such as `forReplacing`.
    ///   - outError: gets the reason if the accessor was not run.
    ///   - writer: gets both URLs in this order.
    open func coordinate(
        writingItemAt firstURL: URL, options firstOptions: WritingOptions = [], writingItemAt secondURL: URL,
        options secondOptions: WritingOptions = [], error outError: NSErrorPointer, byAccessor writer: (URL, URL) -> Void
    ) {
        report(.writing, to: outError) {
            try base.coordinate(writingItemAt: firstURL, options: firstOptions.base, writingItemAt: secondURL, options: secondOptions.base) {
                writer($0, $1)
            }
        }
    }

    /// Asks the presenters of items, and of everything inside them, once before many accesses, blocking until they have answered.
    ///
    /// - Parameters:
    ///   - readingURLs: items to read.
    ///   - readingOptions: the reading options; `resolvesSymbolicLink` is a programming error here.
    ///   - writingURLs: items to write.
    ///   - writingOptions: at most one option; `forReplacing` is a programming error here.
    ///   - outError: gets the reason if the accessor was not run.
    ///   - batchAccessor: makes the accesses, and calls the given closure after them, on any thread.
    open func prepare(
        forReadingItemsAt readingURLs: [URL], options readingOptions: ReadingOptions = [], writingItemsAt writingURLs: [URL],
        options writingOptions: WritingOptions = [], error outError: NSErrorPointer,
        byAccessor batchAccessor: (@escaping @Sendable () -> Void) -> Void
    ) {
        report(writingURLs.isEmpty ? .reading : .writing, to: outError) {
            try base.prepare(
                forReadingItemsAt: readingURLs, options: readingOptions.base, writingItemsAt: writingURLs, options: writingOptions.base
            ) { batchAccessor($0) }
        }
    }

    private func report(_ access: FailedAccess, to outError: NSErrorPointer, _ body: () throws -> Void) {
        do { try body() } catch { outError?.pointee = cocoaError(error, access) }
    }

    // MARK: Asynchronous form

    /// Accesses any number of items under one claim, without blocking the caller.
    ///
    /// - Parameters:
    ///   - intents: the items; when the accessor runs, each intent's `url` is the current URL of its item.
    ///   - queue: the queue that runs the accessor, exactly once in every case.
    ///   - accessor: gets nil when the access was granted, which lasts until the accessor returns; otherwise the error, in Cocoa's domains.
    open func coordinate(
        with intents: [NSFileAccessIntent], queue: OperationQueue, byAccessor accessor: @escaping @Sendable ((any Error)?) -> Void
    ) {
        base.coordinate(with: intents.map(\.base), queue: queue) { error in accessor(error.map { cocoaError($0) }) }
    }

    // MARK: Announcements

    /// Announces a move; it does nothing, as in an app without a sandbox.
    ///
    /// - Parameters:
    ///   - oldURL: the item's current URL.
    ///   - newURL: its future URL.
    open func item(at oldURL: URL, willMoveTo newURL: URL) { base.item(at: oldURL, willMoveTo: newURL) }

    /// Reports that the accessor has moved an item, so that waiting accesses follow it and presenters hear of a move.
    ///
    /// Call it inside the accessor of a write access that covers the old place, after the move; any other call is a programming error.
    ///
    /// - Parameters:
    ///   - oldURL: the item's previous URL.
    ///   - newURL: its current URL.
    open func item(at oldURL: URL, didMoveTo newURL: URL) { base.item(at: oldURL, didMoveTo: newURL) }

    /// Tells the presenters of an item about changed ubiquity attributes.
    ///
    /// - Parameters:
    ///   - url: the item.
    ///   - attributes: the changed attributes.
    open func item(at url: URL, didChangeUbiquityAttributes attributes: Set<URLResourceKey>) {
        base.item(at: url, didChangeUbiquityAttributes: Set(attributes.map { UbiquityAttribute(rawValue: $0.rawValue) }))
    }

    // MARK: Presenters

    /// Registers a presenter, so that it gets messages until it is removed or released; the registry does not retain it.
    ///
    /// - Parameter filePresenter: the presenter; adding it twice does nothing.
    open class func addFilePresenter(_ filePresenter: any NSFilePresenter) {
        FileCoordinator.addFilePresenter(PresenterAdapters.adapter(of: filePresenter))
    }

    /// Removes a presenter; it may be called from the presenter's `deinit`.
    ///
    /// Its pending messages are dropped, and its unanswered questions count as agreed.
    ///
    /// - Parameter filePresenter: the presenter; removing one that is not registered does nothing.
    open class func removeFilePresenter(_ filePresenter: any NSFilePresenter) {
        guard let adapter = PresenterAdapters.known(of: filePresenter) else { return }
        FileCoordinator.removeFilePresenter(adapter)
    }

    /// The registered presenters of this process, in the order in which they were added.
    open class var filePresenters: [any NSFilePresenter] {
        FileCoordinator.filePresenters.compactMap { ($0 as? PresenterAdapter)?.client }
    }
}
