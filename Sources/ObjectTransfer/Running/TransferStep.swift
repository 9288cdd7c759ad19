internal import UbiquityContainers

/// A named point between two steps of a transfer, at which a test can kill the agent; see ``KillPoint``.
enum TransferStep: String, CaseIterable {
    case connected = "transfer.connected"
    case bulletinFetched = "transfer.bulletin-fetched"
    case bulletinTaken = "transfer.bulletin-taken"
    case intended = "transfer.intended"
    case sent = "transfer.sent"
    case uploaded = "transfer.uploaded"
    case drafted = "transfer.drafted"
    case published = "transfer.published"
    case recorded = "transfer.recorded"
    case tidied = "transfer.tidied"
    case fetched = "transfer.fetched"
    case placed = "transfer.placed"
    case found = "transfer.found"
    case removed = "transfer.removed"
    case deleted = "transfer.deleted"

    func pass() { KillPoint.pass(rawValue) }
}
