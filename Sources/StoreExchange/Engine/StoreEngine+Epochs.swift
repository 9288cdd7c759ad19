package import GRDB
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension StoreEngine {
    /// Ends the epoch for every peer: writes the mark of the next, and goes over to it.
    ///
    /// - Returns: what was done here.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    package func removeContent() throws -> ContentRemoval {
        var removal: ContentRemoval?
        try leased { state in
            let knowledge = try file.pool.write { db in
                try sealer.seal(db)
                return try StoreKnowledge.all(StoreState.read(db), db)
            }
            Waypoint.removalSealed.pass()
            let next = try max(state.epoch, EpochMarks(of: layout, files: files).present) + 1
            guard next <= ContentLayout.lastEpoch else {
                throw UbiquitousStoreError(
                    .unsupported, "The content has a mark of the last epoch that can be: \(layout.epochs).", path: layout.epochs)
            }
            let mark = EpochMark(epoch: next, peer: state.peer, knowledge: knowledge, time: now())
            try place.write(mark, of: state.peer, placedIn: state.epoch)
            Waypoint.removalMarked.pass()
            removal = try enter(next).removal
            try publishReceipt()
            // Complete when it returns; what a crash leaves of the files goes with the next exchange of any device.
            removeEnded()
        }
        guard let removal else { throw suspension }
        return removal
    }

    /// Goes over to a later epoch: sets aside what had not been sent, and empties the store, in one transaction with what it knows.
    ///
    /// Each step before that may be repeated after a crash. This peer's place in the epoch is made when all is set aside, for then the
    /// others may remove what it had in the one before. The files of the epoch that has ended, of which there may be very many, are removed by the
    /// removal itself on the device that asked for it, and by the exchange that follows on the others.
    ///
    /// - Parameter next: an epoch that a mark names.
    /// - Returns: the store's state, and what was done.
    /// - Throws: `UbiquitousStoreError`, or GRDB's errors.
    func enter(_ next: Int64) throws -> (state: StoreState, removal: ContentRemoval) {
        Waypoint.epochSeen.pass()
        let marks = try EpochMarks(of: layout, files: files)
        let (state, removal) = try file.mendingDerived {
            try file.importing { db in
                try sealer.seal(db)
                Waypoint.epochSealed.pass()
                var state = try StoreState.read(db)
                let entry = KeptEntry(
                    ending: state, reason: .contentRemoved, schema: sealer.schemaVersion, store: file.path.string, time: now())
                let unsent = UnsentLogs(
                    state: state, known: marks.knowledge(of: state.epoch), layout: layout, kept: container!.home.kept, files: files, db: db)
                let outcome = try unsent.setAside(as: entry)
                try place.makeDirectories(of: state.peer, epoch: next)
                Waypoint.epochPlaced.pass()
                try file.empty(db)
                (state.epoch, state.sequence, state.predecessor, state.receipt) = (next, 0, nil, 0)
                try state.update(db)
                Waypoint.epochEmptied.pass()
                return (state, ContentRemoval(epoch: next, kept: outcome.entry, missing: outcome.missing))
            }
        }
        // Before files go that a store of the epoch before would look for.
        try publisher.syncWriteAheadLog()
        Waypoint.epochCommitted.pass()
        begin(state)
        post(.didRemoveContent(removal))
        Waypoint.epochDone.pass()
        return (state, removal)
    }

    /// Takes the store's identifier and epoch; what was known of another epoch's files is forgotten.
    func begin(_ state: StoreState) {
        if epoch != state.epoch {
            (inventory, lastReceipt, lastAwaits, maintenance, looseBytes) = (nil, nil, [], nil, 0)
            (waiting, arrivals, headers, contained, verified, refused, later) = ([], [], [:], [], [], [], [:])
        }
        (peer, epoch) = (state.peer, state.epoch)
    }

    /// Removes the files of ended epochs, as far as that is possible; it is nobody's failure where it is not.
    package func removeEnded() {
        guard epoch > 1, !isPaused, suspended == nil else { return }
        try? EndedEpochs(layout: layout, files: files, own: peer).remove(below: epoch)
    }

    var place: PeerPlace { PeerPlace(layout: layout, container: container!, files: files) }

    /// Why nothing can be exchanged now.
    var suspension: UbiquitousStoreError {
        if isPaused {
            return UbiquitousStoreError(
                .paused,
                "\(file.path) is paused: nothing goes out or in, and nothing is discarded, until it is resumed, by the app or with: ubcontrol store resume \(file.path)",
                path: file.path)
        }
        guard let container else {
            return UbiquitousStoreError(
                .suspended,
                "\(file.path) is in use, from which nothing goes out: nobody is signed in, or the account's content has not been read yet.",
                path: file.path)
        }
        return UbiquitousStoreError(
            .suspended,
            "\(container.path): \(suspended.map { ContainerAttachment.detached($0).description } ?? "the store has no place in it yet"). The store keeps everything and goes on when it is back.",
            path: container.path)
    }
}

extension StoreFile {
    /// Removes every record with all that is known of it, and what was to go out or to be taken over, in the transaction of ``importing(_:)``.
    ///
    /// The numbers of tables and peers stay, and the app's local tables.
    package func empty(_ db: Database) throws {
        try Capture.suspended(db) { try StoreTables.clearContent(shapes, keepingFacts: false, db) }
        let tables = ["outbox", "value", "adoption", "conflict", "seed", "joined", "rebirth"]
        for table in tables.map({ "ubiquity_\($0)" }) where try db.tableExists(table) {
            try db.execute(sql: "DELETE FROM \(table)")
        }
        for shape in shapes { try db.notifyChanges(in: Table(shape.name)) }
    }
}
