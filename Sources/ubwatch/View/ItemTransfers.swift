import Foundation
import StoreInspection
import UbiquityContainers

/// Tells from the statuses of items which ones have been transferred.
///
/// A file that a synchroniser renames into place is a change that the container's watch sees; this is for what only the transport knows.
struct ItemTransfers: Sendable {
    /// The items that were on their way, by path.
    private var moving: [String: Bool] = [:]

    /// Compares the statuses with the earlier ones.
    ///
    /// - Returns: what has gone out and come in since the last call.
    mutating func take(_ items: WatchFacts.Items, of kind: TransportKind?) -> TransferHistory.Column {
        var done = TransferHistory.Column()
        // A transport that does not answer has forgotten nothing.
        guard items.failure == nil else { return done }
        var now: [String: Bool] = [:]
        for line in items.listed {
            switch line.status {
            case .uploading, .waitingToUpload: now[line.path] = true
            case .notDownloaded, .downloading: now[line.path] = false
            case .current, .downloaded:
                guard let isUpload = moving[line.path] else { continue }
                let amount = TransferHistory.Amount(files: 1, bytes: line.size ?? 0)
                // Syncthing renames what it has fetched into place.
                if isUpload { done.up += amount } else if kind == .cloud { done.down += amount }
            case .failed, .unknown: now[line.path] = moving[line.path]
            case .conflicted, .excluded: break
            }
        }
        moving = now
        return done
    }
}
