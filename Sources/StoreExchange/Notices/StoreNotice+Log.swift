internal import StoreRecords
internal import UbiquityContainers

extension StoreLog {
    /// Logs a notice to observers of the store.
    package func write(_ notice: StoreNotice, showsContents: Bool) {
        switch notice {
        case .didSuspend(let reason):
            transition("suspended: \(ContainerAttachment.detached(reason)); nothing goes out or in, and nothing is deleted")
        case .didResume: transition("the content is back: the exchange continues")
        case .didTakeNewIdentifier(let peer): transition("another copy of this store uses its peer identifier; this store continues as \(peer)")
        case .didRemoveContent(let removal):
            transition("the content was removed: epoch \(removal.epoch) begins with an empty store; set aside: \(removal.kept?.id ?? "nothing")")
        case .didSetAside(let file): transition("an unusable file was set aside at \(file)")
        case .willChange(let change): transition("will change from \(change.removed.file) to \(change.added.file) (\(change.kind))")
        case .didChange(let change): transition("changed from \(change.removed.file) to \(change.added.file) (\(change.kind))")
        case .didQuarantine(let log): transition("cannot use \(log.file) of \(log.peer): \(log.kind.rawValue): \(log.reason)")
        case .didFill(let tables): exchange("filled \(tables.sorted().joined(separator: ", "))")
        case .didChangeRights: transition("the rights of its account have changed")
        case .didRejectSaves(let entry):
            transition("\(counted(entry.changes, "change")) of this device have no right any more, and were set aside: \(entry.id)")
        case .didRollBaseline(let number): exchange("wrote baseline \(number)")
        case .didImport(let notice): write(notice, showsContents)
        case .didFindConflicts(let count): exchange("\(counted(count, "value")) lost in conflicts, see `ubcontrol store conflicts`")
        case .didBreakChecks(let records): exchange("\(counted(records.count, "record")) break a CHECK since columns were merged")
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
        exchange("imported \(notice.inserted.count) inserted, \(notice.updated.count) updated, \(notice.deleted.count) deleted")
        guard showsContents else { return }
        for (what, records) in [("inserted", notice.inserted), ("updated", notice.updated), ("deleted", notice.deleted)] {
            for record in records { detail("\(what) \(record.text)") }
        }
    }
}
