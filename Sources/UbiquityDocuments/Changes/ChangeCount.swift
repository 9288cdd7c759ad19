/// Counts the changes of a document, and tells whether there is something to save.
///
/// Each state that undo and redo can reach has a number. A document is saved if its state is the one that was saved: a change that is
/// undone leaves nothing to save, and a change after an undo makes the saved state unreachable, however often it is undone.
public struct ChangeCount: Hashable, Sendable {
    /// A change, as ``Document/updateChangeCount(_:)`` takes it; the names are Cocoa's.
    public enum Change: Hashable, Sendable {
        /// A change was made.
        case done
        /// A change was undone.
        case undone
        /// A change that was undone was made again.
        case redone
        /// The document is as it is on disk.
        case cleared
    }

    /// A state of the document.
    public struct Token: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    /// The states that undo and redo can reach, oldest first.
    private var states: [UInt64] = [0]
    private var position = 0
    private var saved: UInt64 = 0
    private var next: UInt64 = 1

    /// How many states are remembered.
    static let limit = 4096

    /// Makes the count of a document without changes.
    public init() {}

    /// Whether the present state differs from the saved one.
    public var hasUnsavedChanges: Bool { states[position] != saved }

    /// The present state; take it with the content that is going to be saved.
    public var token: Token { Token(number: states[position]) }

    /// Notes a change.
    public mutating func update(_ change: Change) {
        switch change {
        case .done:
            states.removeSubrange((position + 1)...)
            append()
        case .undone:
            if position > 0 {
                position -= 1
            } else {
                // A change from before the count began is undone.
                states.insert(number(), at: 0)
            }
        case .redone: if position + 1 < states.count { position += 1 } else { append() }
        case .cleared: saved = states[position]
        }
    }

    /// Notes that the change that led to the present state goes on: undoing it leads to the state before, and nothing is left to redo.
    mutating func amend() {
        states.removeSubrange((position + 1)...)
        states[position] = number()
    }

    /// Notes that a state has been saved; later changes stay unsaved.
    public mutating func saved(_ token: Token) { saved = token.number }

    private mutating func append() {
        states.append(number())
        position = states.count - 1
        guard states.count > Self.limit else { return }
        states.removeFirst(states.count - Self.limit)
        position = states.count - 1
    }

    private mutating func number() -> UInt64 {
        defer { next += 1 }
        return next
    }
}
