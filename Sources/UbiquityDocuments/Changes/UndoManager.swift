/// Remembers how to undo and redo changes; what Foundation's `UndoManager` is on Apple's systems.
///
/// Changes belong to groups, which are undone as one. An explicit group lasts from ``beginUndoGrouping()`` to
/// ``endUndoGrouping()``. Without one, all changes of one turn of the main actor are a group, as those of one event are in Cocoa, if
/// ``groupsByEvent`` is true.
///
/// ```swift
/// func setText(_ new: String) {
///     let old = text
///     undoManager.registerUndo(withTarget: self) { $0.setText(old) }
///     text = new
/// }
/// ```
@MainActor
public final class UndoManager {
    private struct Group {
        var actions: [@MainActor () -> Void] = []
        var name = ""
    }

    private var undoable: [Group] = []
    private var redoable: [Group] = []
    /// The open groups, outermost first.
    private var open: [Group] = []
    /// Whether the outermost open group ends by itself.
    private var isAutomatic = false
    /// Counts automatic groups, so that the end of a turn ends only its own.
    private var turn = 0
    private var disabled = 0

    /// Whether it undoes at this moment.
    public private(set) var isUndoing = false
    /// Whether it redoes at this moment.
    public private(set) var isRedoing = false
    /// Whether changes outside explicit groups are grouped by turns of the main actor; otherwise each is a group of its own.
    public var groupsByEvent = true
    /// How many groups are remembered; 0 for any number.
    public var levelsOfUndo = 0 { didSet { trim() } }
    /// Is called when a group gets its first change, and after a group was undone or redone.
    var changed: @MainActor (ChangeCount.Change) -> Void = { _ in }
    /// Is called when a group gets a further change.
    var amended: @MainActor () -> Void = {}
    /// Whether the outermost open group has a change.
    private var isCounted = false

    /// Makes a manager without changes.
    public init() {}

    // MARK: Registering

    /// Whether changes are registered.
    public var isUndoRegistrationEnabled: Bool { disabled == 0 }
    /// Registers nothing until ``enableUndoRegistration()``; calls nest.
    public func disableUndoRegistration() { disabled += 1 }
    /// Registers again.
    public func enableUndoRegistration() {
        precondition(disabled > 0, "Registration of changes was enabled more often than disabled")
        disabled -= 1
    }

    /// Registers how to undo a change; during an undo, how to redo it.
    ///
    /// - Parameters:
    ///   - target: the object to change; it is not retained, and nothing happens once it is gone.
    ///   - handler: undoes the change, and registers how to redo it.
    public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping @MainActor (Target) -> Void) {
        guard isUndoRegistrationEnabled else { return }
        let isOwn = open.isEmpty
        if isOwn { beginAutomatically() }
        open[open.count - 1].actions.append { [weak target] in if let target { handler(target) } }
        if !isUndoing, !isRedoing {
            redoable = []
            if isCounted { amended() } else { changed(.done) }
            isCounted = true
        }
        if isOwn, !groupsByEvent { endAutomatically() }
    }

    /// Names the current group, for a menu: `Typing`.
    public func setActionName(_ name: String) {
        if open.isEmpty { if !undoable.isEmpty { undoable[undoable.count - 1].name = name } } else { open[open.count - 1].name = name }
    }

    // MARK: Grouping

    /// How many groups are open.
    public var groupingLevel: Int { open.count }

    /// Begins a group, or one inside the group that is open.
    public func beginUndoGrouping() {
        // An explicit group does not become a part of the automatic one.
        if isAutomatic, open.count == 1 { endAutomatically() }
        open.append(Group())
    }

    /// Ends the group that was begun last.
    public func endUndoGrouping() {
        precondition(!open.isEmpty, "A group of changes was ended that was not begun")
        close()
    }

    private func beginAutomatically() {
        open.append(Group())
        guard groupsByEvent, !isUndoing, !isRedoing else { return }
        isAutomatic = true
        turn += 1
        Task { [weak self, turn] in if let self, isAutomatic, turn == self.turn { endAutomatically() } }
    }

    private func endAutomatically() {
        isAutomatic = false
        if !open.isEmpty { close() }
    }

    private func close() {
        let group = open.removeLast()
        if open.isEmpty { isCounted = false }
        guard !group.actions.isEmpty else { return }
        if open.isEmpty {
            if isUndoing {
                redoable.append(group)
            } else {
                undoable.append(group)
                trim()
            }
        } else {
            open[open.count - 1].actions.append(contentsOf: group.actions)
        }
    }

    private func trim() { if levelsOfUndo > 0, undoable.count > levelsOfUndo { undoable.removeFirst(undoable.count - levelsOfUndo) } }

    // MARK: Undoing

    /// Whether there is a change to undo.
    public var canUndo: Bool { !undoable.isEmpty || open.contains { !$0.actions.isEmpty } }
    /// Whether there is a change to redo.
    public var canRedo: Bool { !redoable.isEmpty }
    /// The name of the change that ``undo()`` undoes.
    public var undoActionName: String { (open.last ?? undoable.last)?.name ?? "" }
    /// The name of the change that ``redo()`` makes again.
    public var redoActionName: String { redoable.last?.name ?? "" }

    /// Undoes the last group of changes; an automatic group that is open ends first.
    public func undo() {
        if isAutomatic { endAutomatically() }
        precondition(open.isEmpty, "A change cannot be undone while a group of changes is open: end the group first")
        guard let group = undoable.popLast() else { return }
        isUndoing = true
        perform(group)
        isUndoing = false
        changed(.undone)
    }

    /// Makes the last group of changes again that was undone.
    public func redo() {
        if isAutomatic { endAutomatically() }
        precondition(open.isEmpty, "A change cannot be redone while a group of changes is open: end the group first")
        guard let group = redoable.popLast() else { return }
        isRedoing = true
        perform(group)
        isRedoing = false
        changed(.redone)
    }

    /// Runs a group backwards, and collects what it registers into one group of the opposite direction.
    private func perform(_ group: Group) {
        open.append(Group(name: group.name))
        for action in group.actions.reversed() { action() }
        close()
    }

    /// Forgets all changes; groups that are open stay open, and are empty.
    public func removeAllActions() {
        open = isAutomatic ? [] : open.map { _ in Group() }
        (undoable, redoable, isAutomatic, isCounted) = ([], [], false, false)
    }
}
