internal import UbiquityContainers

/// A named point between two steps of moving a document, at which a test can kill the agent; see ``KillPoint``.
enum DocumentPoint: String, CaseIterable {
    case intended = "document.intended"
    case pieceSent = "document.piece-sent"
    case uploaded = "document.uploaded"
    case withdrawn = "document.withdrawn"
    case pieceFetched = "document.piece-fetched"
    case assembled = "document.assembled"
    case placed = "document.placed"
    case unveiled = "document.unveiled"
    case found = "document.found"
    case copied = "document.copied"
    case removed = "document.removed"
    case held = "document.held"
    case veiled = "evict.veiled"
    case leased = "evict.leased"
    case moved = "evict.moved"
    case checked = "evict.checked"
    case unlinked = "evict.unlinked"
    case evicted = "evict.recorded"

    func pass() { KillPoint.pass(rawValue) }
}
