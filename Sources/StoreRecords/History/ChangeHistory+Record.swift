internal import Foundation
internal import GRDB
internal import StoreFormat

extension ChangeHistory {
    /// Returns the authors of a record.
    ///
    /// The call reads the whole history, to find the insertion and the deletion.
    ///
    /// - Parameter record: the record.
    /// - Returns: its authors; nil if the record has never been in this store.
    /// - Throws: `UbiquitousStoreError`: `notFound` if the table does not sync or has another key, `malformed` if the
    ///   store file is damaged; GRDB's errors.
    public func provenance(of record: ObjectID) throws -> RecordProvenance? {
        let table = try table(of: record)
        let found = try RecordClockSearch(table, db)
        let peers = try peers
        func write(_ stamp: Stamp?) -> RecordProvenance.Write? {
            guard let stamp, stamp != .least, let author = peers.author(stamp.peer) else { return nil }
            return RecordProvenance.Write(author: author, time: stamp.time.date)
        }
        guard let standing = try found.standing(of: record.key) else { return nil }
        var provenance = RecordProvenance(record: record, isDeleted: false, columns: [:])
        let (inserted, deleted) = try lastChanges(of: record, peers)
        switch standing {
        case .dead:
            provenance.isDeleted = true
            provenance.deleted = deleted
        case .alive(let clock):
            provenance.created = inserted
            guard let clock else { break }
            for (number, name) in table.columns.enumerated() {
                if let write = write(clock.stamp(of: number)) { provenance.columns[name] = write }
            }
            let oldest = provenance.columns.values.min { $0.time < $1.time }
            provenance.oldestWrite = oldest ?? write(clock.stamp)
        }
        return provenance
    }

    private func table(of record: ObjectID) throws -> KnownTable {
        let tables = try KnownTable.all(db, withLocalColumns: false)
        guard let table = tables.first(where: { $0.name == record.table }) else {
            let names = tables.map(\.name).filter { !$0.hasPrefix("ubiquity_") }.sorted().joined(separator: ", ")
            throw UbiquitousStoreError(
                .notFound, "“\(record.table)” is not a synced table; the synced tables are \(names.isEmpty ? "none" : names).")
        }
        guard record.key.count == table.keyColumns.count else {
            throw UbiquitousStoreError(
                .notFound,
                "A record of “\(table.name)” is found by \(table.keyColumns.joined(separator: ", ")): give \(table.keyColumns.count == 1 ? "one value" : "\(table.keyColumns.count) values"), not \(record.key.count)."
            )
        }
        return table
    }

    /// Returns the last insertion of a record and its last deletion, if the history lists them.
    private func lastChanges(of record: ObjectID, _ peers: Peers) throws -> (inserted: RecordProvenance.Write?, deleted: RecordProvenance.Write?) {
        var inserted: RecordProvenance.Write?
        var deleted: RecordProvenance.Write?
        guard try ChangeJournal.isInstalled(db) else { return (nil, nil) }
        try read(from: 0) { row in
            guard row.changes.tables.contains(where: { $0.name == record.table }) else { return true }
            do {
                try row.changes.forEach { stamp, table, kind, _, key in
                    guard table.name == record.table, kind == .whole || key == record.key else { return true }
                    let author = stamp.flatMap { $0.time == .least ? nil : peers.author($0.peer, isOwn: row.origin == .save) }
                    let write = author.map { RecordProvenance.Write(author: $0, time: stamp!.time.date) }
                    switch kind {
                    case .inserted: (inserted, deleted) = (write, nil)
                    case .deleted: (inserted, deleted) = (nil, write)
                    case .whole: (inserted, deleted) = (nil, nil)
                    case .updated: break
                    }
                    return true
                }
            } catch is WireReader.Fault {
                throw Self.damaged
            }
            return true
        }
        return (inserted, deleted)
    }
}
