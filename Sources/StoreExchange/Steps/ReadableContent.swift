internal import Foundation
internal import GRDB
internal import GRDBSQLite
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// The readable part of a content: the baselines that this store can join, and the logs beside them.
///
/// A new store reads it step by step, a rebuild joins it in one transaction, and it decides whether a store file may be
/// removed.
struct ReadableContent {
    let scope: ExchangeScope

    /// Returns the joinable baselines that together hold every log in any joinable baseline, the largest first.
    ///
    /// Usually one holds everything in the others. If devices have written theirs independently, each may hold logs
    /// that are in no other and in no file.
    ///
    /// - Parameters:
    ///   - content: the files of the content.
    ///   - shelf: the known baselines.
    /// - Returns: the baselines, which are complete.
    /// - Throws: `Errno`, or GRDB's errors.
    func baselines(_ content: ContentInventory, _ shelf: inout BaselineShelf) throws -> [BaselineShelf.Usable] {
        var candidates: [BaselineShelf.Usable] = []
        for id in content.baselines.subtracting(shelf.refused) {
            if let header = try scope.baselines.header(of: id, &shelf), scope.baselines.joiner.obstacle(to: header) == nil {
                candidates.append((id, header))
            }
        }
        var chosen: [BaselineShelf.Usable] = []
        for one in candidates.sorted(by: { ($0.header.logs, $0.id) > ($1.header.logs, $1.id) })
        where try !isHeld(one, by: chosen) && scope.baselines.verify(one.id, one.header, &shelf) {
            chosen.append(one)
        }
        return chosen
    }

    /// Returns whether each log of a baseline is in one of some others.
    private func isHeld(_ candidate: BaselineShelf.Usable, by others: [BaselineShelf.Usable]) throws -> Bool {
        guard !others.isEmpty else { return false }
        if others.contains(where: { $0.header.knowledge == candidate.header.knowledge && $0.header.logs == candidate.header.logs }) { return true }
        var rest: [(peer: PeerIdentifier, position: Knowledge.Position)] = []
        do {
            try scope.baselines.reader.forEachLog(of: candidate.id, candidate.header) { peer, log in rest.append((peer, log.position)) }
        } catch is LogFault {
            // A fault of the baseline is found when it is read to the end.
            return false
        }
        for (id, header) in others where !rest.isEmpty { rest = try scope.baselines.reader.lacking(rest, id, header) }
        return rest.isEmpty
    }

    /// Returns whether the content holds everything that the store does, so that the file could be rebuilt from it.
    ///
    /// Nothing is exchanged.
    ///
    /// - Parameters:
    ///   - context: the store.
    ///   - shelf: the known baselines.
    /// - Returns: whether it does; false also if the container is not there.
    /// - Throws: `Errno`, or GRDB's errors.
    static func holdsAll(of context: ExchangeContext, _ shelf: inout BaselineShelf) throws -> Bool {
        let file = context.file
        let (state, logs, register) = try file.pool.read { db in
            let state = try StoreState.read(db)
            let peers = try StoreKnowledge.peers(db)
            let logs = try Row.fetchAll(db, sql: "SELECT peer, sequence, hash FROM ubiquity_log").map { row in
                guard let peer = peers[PeerNumber(rawValue: row["peer"])], let hash = ContentHash(bytes: row["hash"] as Data) else {
                    throw UbiquitousStoreError(.malformed, "A log in the store's list of logs is malformed.", path: file.path)
                }
                return (peer: peer, position: Knowledge.Position(sequence: row["sequence"], hash: hash))
            }
            return (state, logs, try LogRegister(own: state.peer, db))
        }
        let (layout, files) = (context.layout, context.files)
        guard state.attached, PlaceKeeper(context: context).attachment(state) == .attached,
            try EpochMarks(of: layout, files: files).present <= state.epoch
        else { return false }
        let readable = ReadableContent(scope: ExchangeScope(context, state))
        let content = try ContentInventory(listing: layout, epoch: state.epoch, register: register, files: files, isWhole: true)
        // Logs outside the baselines are in files, and so may be another log with the number of one that a baseline
        // holds. The logs before them are here too, because this store has read them.
        var loose = logs
        for (id, header) in try readable.baselines(content, &shelf) where !loose.isEmpty {
            loose = try readable.scope.baselines.reader.lacking(loose, id, header)
        }
        let logReader = LogReader(layout: layout, contentName: context.contentName, epoch: state.epoch, shapes: file.shapes, files: files)
        return try loose.allSatisfy { log in
            try readable.isWhole(
                LogFileName(sequence: log.position.sequence, hash: log.position.hash), of: log.peer, clock: max(state.clock, .latest), logReader)
        }
    }

    /// Returns whether the container has a log unchanged, with the large values that it names.
    private func isWhole(_ name: LogFileName, of peer: PeerIdentifier, clock: HybridTime, _ reader: LogReader) throws -> Bool {
        do {
            let log = try reader.read(name, of: peer, clock: clock)
            return try log.values.allSatisfy { value, peers in
                if case .whole = try reader.largeValues.find(value, of: peers) { true } else { false }
            }
        } catch is LogFault {
            return false
        } catch let error as Errno where !error.isOfProcess {
            return false
        }
    }
}

extension StoreFile {
    /// Returns how many baselines can be attached at once, beside the app's attached files.
    func attachmentLimit() throws -> Int {
        try pool.writeWithoutTransaction { db in
            let attached = try Int.fetchOne(db, sql: "SELECT count(*) FROM pragma_database_list WHERE name NOT IN ('main', 'temp')") ?? 0
            return Int(sqlite3_limit(db.sqliteConnection, SQLITE_LIMIT_ATTACHED, -1)) - attached
        }
    }
}
