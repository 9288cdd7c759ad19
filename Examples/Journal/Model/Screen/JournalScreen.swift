/// The screen of the journal: a state machine without effects.
///
/// Keys, posts and reports go in; effects come out as values, which the program performs. ``JournalView`` draws it.
public struct JournalScreen: Equatable, Sendable {
    /// The size of the terminal.
    public var size: ScreenSize
    /// The list, a post, a form or a question.
    public internal(set) var state = ScreenState.list
    /// The posts.
    public private(set) var contents = JournalContents(posts: [])
    /// The selected post.
    public internal(set) var selection: String?
    /// The words that are searched for.
    public internal(set) var search = ""
    /// The account and its connection; nil before it is known.
    public private(set) var status: JournalStatus?
    /// The result of the last key, for people.
    public internal(set) var message = ""
    var undo = UndoStack()

    /// Makes an empty screen.
    public init(size: ScreenSize) { self.size = size }

    /// The selected post, if it is in the list.
    public var selected: PostEntry? { contents.listed.first { $0.id == selection } }
}

// What the program reports.
extension JournalScreen {
    /// Takes in the posts, which this device or another has changed.
    public mutating func show(_ new: JournalContents) {
        let index = contents.listed.firstIndex { $0.id == selection } ?? 0
        contents = new
        let listed = new.listed
        let isGone = selected == nil
        if isGone { selection = listed.isEmpty ? nil : listed[min(index, listed.count - 1)].id }
        switch state {
        case .form(var form):
            form.update(new.posts.first { $0.id == form.post }?.contents)
            state = .form(form)
        case .post where isGone: state = .list
        case .question(.remove(let id)) where !listed.contains { $0.id == id }: state = .list
        default: break
        }
    }

    /// Takes in the status.
    ///
    /// Edits of one account cannot be undone in another.
    public mutating func show(_ new: JournalStatus) {
        if let status, status.account != new.account {
            undo = UndoStack()
            message = new.account.map { "These are the posts of \($0)." } ?? "These posts stay on this device until somebody signs in."
        }
        status = new
    }

    /// Takes in the outcome of a new edit.
    ///
    /// A form whose edit is refused stays open.
    public mutating func saved(_ edit: PostEdit, _ outcome: EditOutcome) {
        message = outcome.refusal ?? "Saved; u undoes it."
        guard outcome == .done else { return }
        undo.record(edit)
        if edit.after != nil { selection = edit.post }
        if case .form = state { state = .list }
    }

    /// Takes in the outcome of an undo or redo.
    public mutating func stepped(_ step: UndoStack.Step, _ edit: PostEdit, _ outcome: EditOutcome) {
        undo.finish(step, outcome)
        if outcome == .done, edit.after != nil { selection = edit.post }
        message = outcome.refusal ?? (step == .undo ? "Undone; r redoes it." : "Redone.")
    }

    /// Shows a sentence, such as an error.
    public mutating func say(_ text: String) { message = text }
}
