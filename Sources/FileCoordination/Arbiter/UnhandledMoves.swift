import SystemPackage

/// Moves of a presenter's item that the presenter has not been told of, or has not handled the message about (C-53).
///
/// Until then it names the item by where it was.
struct UnhandledMoves: Sendable {
    private(set) var moves: [(message: MessageID, move: Move)] = []

    /// The item has moved, which a message tells its presenter.
    mutating func add(_ move: Move, toldBy message: MessageID) { moves.append((message, move)) }

    /// The presenter knows of what a message tells.
    mutating func remove(_ message: MessageID) { moves.removeAll { $0.message == message } }

    /// Where an item is that the presenter names.
    func presentPath(_ path: FilePath) -> FilePath { moves.reduce(path) { $0.moved(from: $1.move.from, to: $1.move.to) ?? $0 } }

    /// What the presenter asks for, where it is.
    func presentItem(_ item: ClaimItem) -> ClaimItem { moves.reduce(item) { $0.moved($1.move) ?? $0 } }
}
