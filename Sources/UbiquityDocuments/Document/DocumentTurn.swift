/// Lets one save or read of a document after the other touch the disk.
///
/// Accesses of one presenter never wait for each other, so a save inside a presenter's answer can go before one that waits for its claim.
/// Nobody waits for a claim while having the turn.
@MainActor
final class DocumentTurn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func give() { if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() } }
}
