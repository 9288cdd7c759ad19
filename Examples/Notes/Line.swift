import Foundation
import Ubiquity

/// One line of the output of `notes run`.
struct Line: Encodable {
    var event: String
    /// The place of the notes from then on, and its account.
    var place: String?
    var account: String?
    var inserted: Int?
    var updated: Int?
    var deleted: Int?
    var reason: String?

    init(ready place: NotebookPlace) {
        event = "ready"
        (self.place, account) = (place.kind, place.account)
    }

    /// - Parameter notice: the notice; nil is returned for one that has no line.
    init?(_ notice: StoreNotice) {
        switch notice {
        case .didImport(let changes):
            event = "imported"
            inserted = changes.inserted.count
            updated = changes.updated.count
            deleted = changes.deleted.count
        case .didSuspend(let missing):
            event = "suspended"
            reason = ContainerAttachment.detached(missing).description
        case .didResume: event = "resumed"
        case .didFill(let tables):
            event = "filled"
            reason = tables.sorted().joined(separator: ", ")
        case .didRollBaseline(let number):
            event = "rolled"
            reason = "baseline \(number)"
        case .didChangeInAnotherProcess(let changes):
            event = "changed"
            // Another process may have changed thousands of records.
            reason = changes.map { "\(Set($0.changes.compactMap(\.record)).count) notes by another process of this device" }
        case .didTakeNewIdentifier(let peer):
            event = "renewed"
            reason = "this store continues as \(peer), because another copy of it is in use"
        case .didAdopt(let count, let total, let isDone):
            event = isDone ? "adopted" : "adopting"
            reason = "\(count) of \(total) records that were here before"
        case .didRemoveContent(let removal):
            event = "removed"
            reason = "the notebook was removed on all devices; \(removal.kept?.changes ?? 0) changes that no device had read are set aside"
        case .didChange(let change):
            let next = NotebookPlace(change.added.place)
            event = "moved"
            (place, account, reason) = (next.kind, next.account, "\(next.text) (\(change.kind.rawValue))")
        case .didSetAside(let file):
            event = "aside"
            reason = "the account's file could not be read, and is now \(file)"
        // The change is told when it is done.
        case .willChange: return nil
        // These events belong to containers with a scope.
        case .didChangeRights, .didRejectSaves: return nil
        case .didQuarantine(let log):
            event = "quarantined"
            reason = "\(log.peer)/\(log.file): \(log.reason)"
        case .didFindConflicts(let count):
            event = "conflicts"
            reason = "\(count) of the values written apart lost to others"
        case .didBreakChecks(let broken):
            event = "broken"
            reason = broken.map { "\($0.record): \($0.reason)" }.joined(separator: "; ")
        }
    }

    /// Prints the line at once, also into a pipe.
    func print(json: Bool) {
        var text: String
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            text = String(decoding: (try? encoder.encode(self)) ?? Data(), as: UTF8.self)
        } else {
            text = event
            if let inserted, let updated, let deleted { text += " \(inserted) inserted, \(updated) updated, \(deleted) deleted" }
            if let reason { text += ": \(reason)" }
            // Other devices have written the keys and names in it.
            text = printable(text)
        }
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
