internal import Foundation
internal import GRDB
package import StoreFormat
internal import StoreRecords
internal import SystemPackage
package import UbiquityContainers

/// Sets aside the unsent saves of a store whose epoch has ended, in the transaction that empties the store.
///
/// Unsent are sealed logs, and published logs that no peer that ended the epoch had joined. They are logs of this peer,
/// and of retired peers, because those may never come back to do it. A former identifier of this store is one of the
/// retired peers (``PeerIdentity``).
struct UnsentLogs {
    let state: StoreState
    /// The knowledge of the peers that ended the epoch.
    let known: Knowledge
    let layout: ContentLayout
    /// The directory of kept entries.
    let kept: FilePath
    let files: any FileLayer
    let db: Database

    /// The result of setting aside.
    struct Outcome {
        /// The entry, or nil if there was nothing to set aside.
        var entry: KeptEntry?
        var missing = 0
    }

    /// Writes the entry.
    ///
    /// - Parameter entry: the description of the entry without its counts.
    /// - Returns: the entry with its counts.
    /// - Throws: `UbiquitousStoreError` if it cannot be written; GRDB's errors.
    func setAside(as entry: KeptEntry) throws -> Outcome {
        do {
            return try write(entry)
        } catch let error as Errno {
            throw UbiquitousStoreError(
                .fileSystem,
                "The store's content was removed, and the unsent saves cannot be set aside in \(kept): check owner, mode and free space there. Until then, the store stays unchanged.",
                path: kept, cause: error)
        }
    }

    private func write(_ given: KeptEntry) throws -> Outcome {
        let read = try lastRead()
        let sealed = try Outbox.names(db).filter { $0.sequence > read }.filter { try hasContent(try Outbox.bytes($0.sequence, db)) }
        let own = try StoreKnowledge.logs(of: state.peer, db).filter { $0.sequence > read }.map { (peer: state.peer, name: $0) }
        let published = try own + unreadOfRetired()
        let draft = KeptDraft(kept: kept, id: given.id, files: files)
        guard try !sealed.isEmpty || !published.isEmpty || draft.exists() else { return Outcome() }
        try draft.begin()
        var there = try draft.logs()
        var empty: Set<LogFileName> = []
        for name in sealed where there.insert(name).inserted { try draft.add(try Outbox.bytes(name.sequence, db), as: name) }
        for (peer, name) in published where !there.contains(name) {
            guard let bytes = bytes(of: name, by: peer) else { continue }
            guard try hasContent(bytes) else {
                empty.insert(name)
                continue
            }
            try draft.add(bytes, as: name)
            there.insert(name)
        }
        var entry = given
        entry.missing = published.count { !there.contains($0.name) && !empty.contains($0.name) }
        guard !there.isEmpty else {
            try draft.discard()
            return Outcome(missing: entry.missing)
        }
        try draft.finish(&entry, holding: there) { value, peers in try bytes(of: value, peers) }
        return Outcome(entry: entry, missing: entry.missing)
    }

    /// Returns whether a log contains changes of records.
    ///
    /// Retirements have no meaning after the epoch.
    private func hasContent(_ bytes: [UInt8]) throws -> Bool {
        guard let log = try? LogFile(decoding: bytes), let contents = try? LogBody.decode(log) else { return true }
        return contents.groups.contains { !$0.rows.isEmpty || !$0.same.isEmpty }
    }

    /// Returns the sequence of this peer's last log that any peer that ended the epoch had joined, or 0 for none.
    ///
    /// All earlier logs were joined too.
    private func lastRead() throws -> Int64 {
        let register = try LogRegister(own: state.peer, db)
        // A log of another branch says nothing about this one.
        return try known.passed(state.peer) { try register.contains($0, of: state.peer) }
    }

    /// Returns the logs of retired peers that are joined here and that no peer that ended the epoch had joined.
    private func unreadOfRetired() throws -> [(peer: PeerIdentifier, name: LogFileName)] {
        try Retirements.all(db).sorted { $0.key < $1.key }.flatMap { peer, fact -> [(peer: PeerIdentifier, name: LogFileName)] in
            // A retired peer that came back sets its logs aside itself.
            let receipts = (try? files.namesIfThere(in: layout.receipts(of: peer, epoch: state.epoch))) ?? []
            guard peer != state.peer, fact.isInForce(receipts.compactMap(Receipt.number(ofFile:)).max() ?? 0) else { return [] }
            let names = try StoreKnowledge.logs(of: peer, db)
            let unread = known.unread(among: names, of: peer) { name in
                bytes(of: name, by: peer).flatMap { try? LogFile(decoding: $0, named: name).header.previous }
            }
            return names.filter(unread.contains).map { (peer, $0) }
        }
    }

    /// Reads a log from the container.
    ///
    /// Returns nil if it is missing or damaged.
    private func bytes(of name: LogFileName, by peer: PeerIdentifier) -> [UInt8]? {
        let file = layout.logs(of: peer, epoch: state.epoch).appending(name.description)
        guard let bytes = try? files.read(file, limit: LogFile.limit), ContentHash(of: bytes) == name.hash else { return nil }
        return bytes
    }

    /// Reads a large value, from the store file or from the container.
    private func bytes(of value: LargeValue, _ peers: [PeerIdentifier]) throws -> [UInt8]? {
        if let bytes = try LargeValues.bytes(value.hash, db) { return bytes }
        guard case .whole(let bytes) = try LargeValueReader(layout: layout, epoch: state.epoch, files: files).find(value, of: peers) else {
            return nil
        }
        return bytes
    }
}

extension LogFile {
    /// The large values that the log names, and the peers in whose directories they may lie.
    package var largeValues: [LargeValue: [PeerIdentifier]] {
        get throws {
            var values: [LargeValue: [PeerIdentifier]] = [:]
            let contents = try LogBody.decode(self)
            for group in contents.groups {
                for rows in group.rows {
                    try rows.forEach(
                        in: contents.tables[rows.table],
                        values: { value in
                            values[value] = [header.peer] + (group.peer.map { [$0] } ?? [])
                            return .null
                        }
                    ) { _ in }
                }
            }
            return values
        }
    }
}
