package import GRDB
internal import StoreFormat
package import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Ends an epoch, and enters the next.
struct EpochEntry {
    let context: ExchangeContext

    private var file: StoreFile { context.file }
    private var layout: ContentLayout { context.layout }
    private var place: PeerPlace { PeerPlace(layout: layout, container: context.container!, files: context.files) }

    /// Ends the epoch for every peer, by writing the mark of the next.
    ///
    /// - Parameter state: the store's state.
    /// - Returns: the next epoch.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func end(_ state: StoreState) throws -> Int64 {
        let knowledge = try file.pool.write { db in
            try context.sealer.seal(db)
            return try StoreKnowledge.all(StoreState.read(db), db)
        }
        Waypoint.removalSealed.pass()
        let next = try max(state.epoch, EpochMarks(of: layout, files: context.files).present) + 1
        guard next <= ContentLayout.lastEpoch else {
            throw UbiquitousStoreError(
                .unsupported, "The content has a mark of the last epoch that can be: \(layout.epochs).", path: layout.epochs)
        }
        let mark = EpochMark(epoch: next, peer: state.peer, knowledge: knowledge, time: context.now())
        try place.write(mark, of: state.peer, placedIn: state.epoch)
        Waypoint.removalMarked.pass()
        return next
    }

    /// Enters a later epoch: sets unsent saves aside, and empties the store in one transaction with its knowledge.
    ///
    /// Each step before that may be repeated after a crash. This peer's place in the epoch is created after everything
    /// is set aside, because the other peers may then remove its files of the previous epoch. The ended epoch may have
    /// very many files. The removal itself deletes them on the device that asked for it, and the next exchange on the
    /// others.
    ///
    /// - Parameters:
    ///   - next: an epoch that a mark names.
    ///   - content: receives the store's state.
    /// - Returns: the result.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    @discardableResult
    func enter(_ next: Int64, _ content: inout KnownContent) throws -> ContentRemoval {
        Waypoint.epochSeen.pass()
        let marks = try EpochMarks(of: layout, files: context.files)
        let (state, removal) = try file.mendingDerived {
            try file.importing { db in
                try context.sealer.seal(db)
                Waypoint.epochSealed.pass()
                var state = try StoreState.read(db)
                let entry = KeptEntry(
                    ending: state, schema: context.sealer.schemaVersion, store: file.path.string, time: context.now())
                let unsent = UnsentLogs(
                    state: state, known: marks.knowledge(of: state.epoch), layout: layout,
                    kept: context.container!.home.kept,
                    files: context.files, db: db)
                let outcome = try unsent.setAside(as: entry)
                try place.makeDirectories(of: state.peer, epoch: next)
                Waypoint.epochPlaced.pass()
                try file.empty(context.sealer, db)
                (state.epoch, state.sequence, state.predecessor, state.receipt) = (next, 0, nil, 0)
                try state.update(db)
                Waypoint.epochEmptied.pass()
                return (state, ContentRemoval(epoch: next, kept: outcome.entry, missing: outcome.missing))
            }
        }
        // This precedes the removal of files that a store of the previous epoch would need.
        try context.publisher.syncWriteAheadLog()
        Waypoint.epochCommitted.pass()
        content.state = state
        content.arrivals = []
        context.post(.didRemoveContent(removal))
        Waypoint.epochDone.pass()
        return removal
    }
}

extension StoreFile {
    /// Removes every record with its registers, the outbox and the pending adoption, in the transaction of
    /// ``importing(_:)``.
    ///
    /// The numbers of tables and peers stay, and so do the app's local tables.
    package func empty(_ sealer: Sealer, _ db: Database) throws {
        try Capture.suspended(db) { try StoreTables.clearContent(shapes, keepingFacts: false, db) }
        try sealer.journal.append(whole: shapes, .removal, now: sealer.now(), db)
        let tables = ["outbox", "value", "adoption", "conflict", "seed", "joined", "rebirth"]
        for table in tables.map({ "ubiquity_\($0)" }) where try db.tableExists(table) {
            try db.execute(sql: "DELETE FROM \(table)")
        }
        for shape in shapes { try db.notifyChanges(in: Table(shape.name)) }
    }
}
