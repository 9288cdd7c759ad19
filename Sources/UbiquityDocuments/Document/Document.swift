public import FileCoordination
public import Foundation
internal import Synchronization
internal import SystemPackage
internal import UbiquityContainers

/// A document on disk and its content in memory: opened, saved, moved and watched under coordination; what `UIDocument` and `NSDocument`
/// do on Apple's systems, for programs without windows of ours.
///
/// A subclass turns its content into a ``FileWrapper`` and back, and says when the content has changed:
///
/// ```swift
/// final class Letter: Document {
///     private(set) var text = ""
///
///     func edit(_ new: String) {
///         text = new
///         updateChangeCount(.done)
///     }
///
///     override func contents(forType type: String) throws -> FileWrapper { FileWrapper(regularFileWithContents: Data(text.utf8)) }
///     override func load(fromContents contents: FileWrapper, ofType type: String) throws {
///         text = String(decoding: contents.regularFileContents ?? Data(), as: UTF8.self)
///     }
/// }
///
/// let letter = Letter(fileURL: url)
/// try await letter.open()
/// letter.edit(letter.text + "\nYours")
/// try await letter.close()
/// ```
///
/// What the document promises:
///
/// - Changes are saved by themselves after ``autosavingDelay``, when somebody else wants to read or write the item, and at ``close()``.
/// - A save replaces the whole file or package in one step, so a reader sees the old or the new content, also after a crash. A package
///   is a directory that `FileCoordinator.filePackages` declares.
/// - What other programs write is loaded, and if there are unsaved changes here, it becomes a version in conflict instead.
/// - A document that was moved is followed, and its old name is not written again. One that was deleted is closed, or keeps its unsaved
///   changes in memory with ``DocumentState/savingError``; it is not written again by itself.
///
/// A document that is released without ``close()`` loses its unsaved changes. All methods run on the main actor, and disk work outside it.
@MainActor
open class Document: FilePresenter {
    private let url: Mutex<URL>
    /// Measures the delay of saves.
    package var clock: any Clock<Duration> = ContinuousClock()
    /// The item as it was last read or written; nil while the document is closed.
    var seen: DocumentFile.Seen?
    var changes = ChangeCount()
    /// How many writers have the item now.
    var writers = 0 { didSet { stateMayHaveChanged() } }
    /// Counts openings, so that the end of a write from before the document was closed is told from others.
    var openings = 0
    var isOpening = false
    var isInConflict = false { didSet { stateMayHaveChanged() } }
    let turn = DocumentTurn()
    /// Counts contents that were taken to be saved, so that an older one does not replace a newer one.
    var lastTaken: UInt64 = 0
    /// The last content that was saved or given up; those before it are not written any more.
    var lastSaved: UInt64 = 0
    var isCleaned = false
    /// Counts looks for versions, so that an earlier one does not overwrite what a later one has found.
    var looks = 0
    var autosaving: Task<Void, Never>?
    var autosavingFailures = 0
    private let stateStream: Broadcast<DocumentState>

    /// Makes a document that is not open.
    ///
    /// - Parameter fileURL: the file URL of its item, which need not exist for ``save(to:for:)`` with `creating`.
    public init(fileURL: URL) {
        url = Mutex(fileURL)
        stateStream = Broadcast(present: .closed, buffering: .bufferingNewest(64))
        undoManager = UndoManager()
        undoManager.changed = { [weak self] in self?.updateChangeCount($0) }
        undoManager.amended = { [weak self] in self?.changeGoesOn() }
    }

    deinit {
        autosaving?.cancel()
        stateStream.close()
    }

    // MARK: What a subclass overrides

    /// Returns the present content, as it is to be written; a subclass overrides it.
    ///
    /// - Parameter type: the path extension of the item, in lower case.
    /// - Returns: a regular file, or a directory for a package.
    /// - Throws: an error fails the save.
    open func contents(forType type: String) throws -> FileWrapper {
        throw DocumentError(.notImplemented, "\(Self.self) cannot be saved: override contents(forType:).")
    }

    /// Takes content that was read; a subclass overrides it.
    ///
    /// - Parameters:
    ///   - contents: a regular file, or a directory for a package.
    ///   - type: the path extension of the item, in lower case.
    /// - Throws: an error fails the opening; the content in memory should then be as before.
    open func load(fromContents contents: FileWrapper, ofType type: String) throws {
        throw DocumentError(.notImplemented, "\(Self.self) cannot be opened: override load(fromContents:ofType:).")
    }

    /// Is called after ``state`` has changed; the default does nothing.
    open func stateDidChange() {}

    /// Is called after a save or a reading that nobody asked for has failed.
    ///
    /// ``savingError`` is set. The default does nothing.
    open func handleError(_ error: any Error) {}

    /// Is called after the item was moved by anybody; the default does nothing.
    open func didMove(to newURL: URL) {}

    // MARK: Facts

    /// The item's URL; it follows moves.
    nonisolated public var fileURL: URL { url.withLock { $0 } }
    /// The path extension of the item, in lower case.
    public var fileType: String { fileURL.pathExtension.lowercased() }
    /// The name without the extension, for people.
    public var localizedName: String { fileURL.deletingPathExtension().lastPathComponent }
    /// The time of the last change of the content that was read or written; nil while it is closed.
    public var fileModificationDate: Date? { seen?.stamp.modificationDate }
    /// Whether it is open.
    public var isOpen: Bool { seen != nil }
    /// Why the last save failed; nil after one that succeeded.
    public internal(set) var savingError: (any Error)? { didSet { stateMayHaveChanged() } }

    /// The state; it is also told by ``states`` and ``stateDidChange()``.
    public private(set) var state: DocumentState = .closed

    /// The state now and after each change.
    ///
    /// A slow reader misses old states. The stream ends when the document is released.
    public var states: AsyncStream<DocumentState> { stateStream.subscribe() }

    func stateMayHaveChanged() {
        var new: DocumentState = isOpen ? [] : .closed
        if isOpen, writers > 0 { new.insert(.editingDisabled) }
        if isInConflict { new.insert(.inConflict) }
        if savingError != nil { new.insert(.savingError) }
        guard new != state else { return }
        state = new
        stateStream.post { present in
            present = [new]
            return new
        }
        stateDidChange()
    }

    /// Follows the item to another place, unless it is known to be where the document thinks it is.
    ///
    /// A message or a claim can name an old place: it may have waited while the item was moved again.
    func follow(to new: URL) { if seen?.hold?.isAt(DocumentFile(fileURL).path) != true { setFileURL(new) } }

    /// Gives up all contents that were taken to be saved and are not written yet.
    func dropTaken() {
        lastTaken += 1
        lastSaved = lastTaken
    }

    func setFileURL(_ new: URL) {
        guard new != fileURL else { return }
        url.withLock { $0 = new }
        didMove(to: new)
    }

    // MARK: Changes

    /// Remembers how to undo changes; what is registered, undone or redone updates the change count.
    public let undoManager: UndoManager

    /// Whether there is something to save.
    public var hasUnsavedChanges: Bool { changes.hasUnsavedChanges }

    /// How long after a change it is saved; nil saves only when asked.
    ///
    /// By default it is five seconds.
    public var autosavingDelay: Duration? = .seconds(5) {
        didSet {
            autosaving?.cancel()
            autosaving = nil
            scheduleAutosave()
        }
    }

    /// Notes a change of the content; changes that go through ``undoManager`` are noted by themselves.
    ///
    /// - Parameter change: what has happened; `done` during an undo or redo of ``undoManager`` is part of that.
    public func updateChangeCount(_ change: ChangeCount.Change) {
        if change == .done, undoManager.isUndoing || undoManager.isRedoing { return }
        changes.update(change)
        scheduleAutosave()
    }

    private func changeGoesOn() {
        changes.amend()
        scheduleAutosave()
    }

    // MARK: Presenting

    /// The item, while it is open or being opened.
    nonisolated public var presentedItemURL: URL? { fileURL }
}
