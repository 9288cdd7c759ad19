import SystemPackage

/// Moves of a presenter's item that the presenter has not been told about, or whose message it has not handled.
///
/// Until it has, the presenter uses the old path.
struct UnhandledMoves: Sendable {
    private(set) var moves: [(message: MessageID, move: Move)] = []

    /// Adds a move that a message reports to the presenter.
    mutating func add(_ move: Move, toldBy message: MessageID) { moves.append((message, move)) }

    /// Removes the move that a handled message reported.
    mutating func remove(_ message: MessageID) { moves.removeAll { $0.message == message } }

    /// Returns the current path for a path that the presenter names.
    func presentPath(_ path: FilePath) -> FilePath { moves.reduce(path) { $0.moved(from: $1.move.from, to: $1.move.to) ?? $0 } }

    /// Returns the item that the presenter names, at its current path.
    func presentItem(_ item: ClaimItem) -> ClaimItem { moves.reduce(item) { $0.moved($1.move) ?? $0 } }
}
