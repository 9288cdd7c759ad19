internal import Foundation
internal import GRDB
internal import UbiquityContainers

/// A log that has been read, checked and found to be next.
struct ReadyLog {
    var peer: PeerIdentifier
    var name: LogFileName
    var log: LogFile
    var contents: LogBody.Contents
}

/// Joins logs into the store, in the transaction that it is called in.
struct LogImporter {
    let shapes: [TableShape]
    let sealer: Sealer

    /// Joins logs in the order given, each of which is next for its author.
    ///
    /// What is noted and not sealed is sealed first, so that a write of another connection is never taken for older than the import.
    ///
    /// - Returns: the records that changed.
    func join(_ logs: [ReadyLog], _ db: Database) throws -> ImportNotice {
        try sealer.seal(db)
        try db.execute(sql: "UPDATE ubiquity_import SET active = 1")
        var state = try StoreState.read(db)
        var peers = try StoreKnowledge.peers(db)
        var notice = ImportNotice()
        for ready in logs {
            let author = try StoreKnowledge.number(of: ready.peer, in: &peers, db)
            for group in ready.contents.groups {
                let writer = try group.peer.map { try StoreKnowledge.number(of: $0, in: &peers, db) } ?? author
                state.clock = max(state.clock, group.time)
                try join(group, of: ready, stamp: Stamp(group.time, writer), peers: peers, &notice, db)
            }
            try StoreKnowledge.set(.init(sequence: ready.name.sequence, hash: ready.name.hash), of: author, db)
            try db.execute(
                sql: "DELETE FROM ubiquity_quarantine WHERE peer = ? AND file = ?", arguments: [ready.peer.description, ready.name.description])
        }
        state.receipt += 1
        try state.update(db)
        try db.execute(sql: "UPDATE ubiquity_import SET active = 0")
        for shape in shapes where notice.touches(shape.name) { try db.notifyChanges(in: Table(shape.name)) }
        Waypoint.importApplied.pass()
        return notice
    }

    private func join(
        _ group: LogBody.Group, of ready: ReadyLog, stamp: Stamp, peers: PeerTable, _ notice: inout ImportNotice, _ db: Database
    ) throws {
        for rows in group.rows {
            let table = ready.contents.tables[rows.table]
            let importer = try TableImporter(shape: shapes.first { $0.name == table.name }!, table: table, peers: peers, db)
            try rows.forEach(in: table) { change in
                if let kind = try importer.join(&change, stamp: stamp) {
                    notice.add(kind, ObjectID(table: table.name, key: change.key.map(\.detached)))
                }
            }
        }
    }
}

extension ImportNotice {
    fileprivate func touches(_ table: String) -> Bool {
        inserted.contains { $0.table == table } || updated.contains { $0.table == table } || deleted.contains { $0.table == table }
    }
}
