internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
internal import UbiquityContainers

extension StoreLog {
    /// Logs a notice to observers of the store.
    package func write(_ notice: StoreNotice, showsContents: Bool) {
        func facts() -> [LogFact: String] { StoreLog.facts(of: notice) }
        switch notice {
        case .didSuspend(let reason):
            transition("suspended: \(ContainerAttachment.detached(reason)); nothing goes out or in, and nothing is deleted", facts())
        case .didResume: transition("the content is back: the exchange continues", facts())
        case .didTakeNewIdentifier(let peer):
            transition("another copy of this store uses its peer identifier; this store continues as \(peer)", facts())
        case .didRemoveContent(let removal):
            transition(
                "the content was removed: epoch \(removal.epoch) begins with an empty store; set aside: \(removal.kept?.id ?? "nothing")", facts())
        case .didSetAside(let file): transition("an unusable file was set aside at \(file)", facts())
        case .willChange(let change): transition("will change from \(change.removed.file) to \(change.added.file) (\(change.kind))", facts())
        case .didChange(let change): transition("changed from \(change.removed.file) to \(change.added.file) (\(change.kind))", facts())
        case .didQuarantine(let log): transition("cannot use \(log.file) of \(log.peer): \(log.kind.rawValue): \(log.reason)", facts())
        case .didFill(let tables): exchange("filled \(tables.sorted().joined(separator: ", "))", facts())
        case .didChangeRights: transition("the rights of its account have changed", facts())
        case .didRejectSaves(let entry):
            transition("\(counted(entry.changes, "change")) of this device have no right any more, and were set aside: \(entry.id)", facts())
        case .didRollBaseline(let number): exchange("wrote baseline \(number)", facts())
        case .didImport(let notice): write(notice, showsContents)
        case .didFindConflicts(let count): exchange("\(counted(count, "value")) lost in conflicts, see `ubcontrol store conflicts`", facts())
        case .didBreakChecks(let records): exchange("\(counted(records.count, "record")) break a CHECK since columns were merged", facts())
        case .didAdopt(let rows, let total, let isDone):
            if isDone {
                exchange("adopted \(counted(rows, "row")) that existed before")
            } else {
                detail("adopted \(rows) of \(total) rows")
            }
        case .didChangeInAnotherProcess(let changes):
            let count = changes.map { ": \(counted($0.changes.count, "change")) of records" } ?? ""
            detail("another process has written to the file\(count)")
        }
    }

    private func write(_ notice: ImportNotice, _ showsContents: Bool) {
        exchange(
            "imported \(notice.inserted.count) inserted, \(notice.updated.count) updated, \(notice.deleted.count) deleted",
            [.event: "merged", .count: "\(notice.inserted.count + notice.updated.count + notice.deleted.count)"])
        guard showsContents else { return }
        for (what, records) in [("inserted", notice.inserted), ("updated", notice.updated), ("deleted", notice.deleted)] {
            for record in records { detail("\(what) \(record.text)") }
        }
    }
}

extension StoreLog {
    /// The facts of a notice.
    private static func facts(of notice: StoreNotice) -> [LogFact: String] {
        switch notice {
        case .didSuspend(let reason): [.event: "suspended", .reason: reason.word]
        case .didResume: [.event: "resumed"]
        case .didTakeNewIdentifier(let peer): [.event: "renamed", .peer: peer.description]
        case .didRemoveContent(let removal): [.event: "contentRemoved", .epoch: "\(removal.epoch)"]
        case .didSetAside(let file): [.event: "setAside", .path: file.string]
        case .willChange(let change): [.event: "willChange", .reason: change.kind.rawValue, .file: change.removed.file.string]
        case .didChange(let change): [.event: "changed", .reason: change.kind.rawValue, .file: change.added.file.string]
        case .didQuarantine(let log): [.event: "quarantined", .reason: log.kind.rawValue, .peer: log.peer, .log: log.file, .error: log.reason]
        case .didFill(let tables): [.event: "filled", .count: "\(tables.count)"]
        case .didChangeRights: [.event: "rightsChanged"]
        case .didRejectSaves(let entry): [.event: "savesRejected", .count: "\(entry.changes)"]
        case .didRollBaseline(let number): [.event: "baselineWritten", .baseline: "\(number)"]
        case .didFindConflicts(let count): [.event: "conflicts", .count: "\(count)"]
        case .didBreakChecks(let records): [.event: "checksBroken", .count: "\(records.count)"]
        case .didImport, .didAdopt, .didChangeInAnotherProcess: [:]
        }
    }
}
