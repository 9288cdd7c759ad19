/// The edits that can be undone and redone.
///
/// The stack is a value, and writes nothing: a caller takes the edit of a step, applies it, and reports the outcome.
public struct UndoStack: Equatable, Sendable {
    /// A direction.
    public enum Step: Equatable, Sendable {
        case undo, redo
    }

    private var done: [PostEdit] = []
    private var undone: [PostEdit] = []

    /// Makes an empty stack.
    public init() {}

    /// Records a new edit.
    ///
    /// Edits that were undone before cannot be redone after it.
    public mutating func record(_ edit: PostEdit) {
        done.append(edit)
        undone = []
    }

    /// Returns the edit that a step applies; nil if there is nothing to undo or redo.
    public func edit(for step: Step) -> PostEdit? {
        switch step {
        case .undo: done.last?.inverse
        case .redo: undone.last
        }
    }

    /// Reports the outcome of a step.
    ///
    /// A refused edit is dropped, because another device has the last word on its values.
    public mutating func finish(_ step: Step, _ outcome: EditOutcome) {
        switch step {
        case .undo:
            guard let edit = done.popLast(), outcome == .done else { return }
            undone.append(edit)
        case .redo:
            guard let edit = undone.popLast(), outcome == .done else { return }
            done.append(edit)
        }
    }
}
