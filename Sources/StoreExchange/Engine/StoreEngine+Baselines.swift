internal import Foundation
internal import GRDB
package import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

extension StoreEngine {
    var reader: BaselineReader { BaselineReader(layout: layout, contentName: contentName, epoch: epoch) }

    /// So many logs are joined faster from a baseline that holds them than one by one.
    private static let worthwhile: Int64 = 500

    /// How long it is waited for fewer logs, which may be on their way; those of a baseline that a synchroniser brings first are.
    private static let grace = Duration.seconds(5)

    // MARK: Joining

    /// Joins a baseline that holds logs which are not here, or many that are.
    ///
    /// - Parameters:
    ///   - inventory: what is there.
    ///   - isFirst: whether the logs that are here are still to be joined.
    ///   - isEager: whether nothing is waited for.
    /// - Returns: whether something has been joined, so that logs may be ready that were not.
    /// - Throws: `Errno`, or GRDB's errors.
    func joinBaseline(_ inventory: ContentInventory, isFirst: Bool, isEager: Bool) throws -> Bool {
        var candidates: [(id: BaselineID, header: BaselineHeader, lag: Int64)] = []
        for id in inventory.baselines.sorted() where !contained.contains(id) && !refused.contains(id) {
            guard let header = try header(of: id), let news = try news(in: id, header) else { continue }
            if news.isForked {
                try takeNewIdentifier()
                return true
            }
            candidates.append((id, header, news.logs))
        }
        let ids = Set(candidates.map(\.id))
        later = later.filter { ids.contains($0.key) }
        for (id, header, lag) in candidates.sorted(by: { ($0.lag, $0.id) > ($1.lag, $1.id) }) {
            guard try isFirst ? lag >= Self.worthwhile : isEager || isOverdue(id) else {
                log.detail("passed over baseline \(id.name) of \(id.peer): \(lag) logs ahead, and the logs may come by themselves")
                continue
            }
            if let obstacle = joiner.obstacle(to: header) {
                log.detail("passed over baseline \(id.name) of \(id.peer): \(obstacle)")
                waiting.append(
                    WaitingPeer(
                        peer: id.peer.description, sequence: id.name.sequence, reason: .schema(obstacle: obstacle, authors: header.schema), logs: 0))
                continue
            }
            guard try verify(id, header) else { continue }
            progress.update { $0.begin(logs: Int(clamping: lag)) }
            let began = ContinuousClock.now
            guard let outcome = try joined(id, header) else { continue }
            log.exchange("joined baseline \(id.name) of \(id.peer), \(counted(lag, "log")) ahead, in \(began.elapsed)")
            Waypoint.joinCommitted.pass()
            progress.update { $0.finish(logs: Int(clamping: lag)) }
            contained.insert(id)
            post(outcome)
            return true
        }
        return false
    }

    /// Whether it has been waited long enough for logs that a baseline holds; a store that knows nothing does not wait.
    private func isOverdue(_ id: BaselineID) throws -> Bool {
        if let limit = later[id] {
            guard let limit, limit > .now else {
                later[id] = .some(nil)
                return true
            }
            return false
        }
        if try file.pool.read({ db in try StoreKnowledge.others(db).isEmpty }) { return true }
        later[id] = .now + Self.grace
        return false
    }

    /// Joins a baseline; nil where this store cannot hold what it says, which harms nothing else.
    private func joined(_ id: BaselineID, _ header: BaselineHeader) throws -> ImportTransaction.Outcome? {
        let reason: String
        do {
            return try file.mendingDerived {
                try file.importing(attaching: [layout.baseline(id, epoch: epoch)]) { db in try joiner.join(header, db) }
            }
        } catch {
            guard let refusal = BaselineJoiner.refusal(error) else { throw error }
            reason = refusal
        }
        try refuse(id, reason)
        return nil
    }

    /// Passes over a baseline that this store cannot hold, and lists it.
    func refuse(_ id: BaselineID, _ reason: String) throws {
        refused.insert(id)
        try quarantine([
            QuarantinedLog(peer: id.peer.description, file: id.name.description, kind: .refused, reason: reason, record: nil, since: now())
        ])
    }

    var joiner: BaselineJoiner { BaselineJoiner(shapes: file.shapes, sealer: sealer, migrations: file.migrations) }

    func post(_ outcome: ImportTransaction.Outcome) {
        if !outcome.wholeTables.isEmpty { post(.didFill(outcome.wholeTables)) }
        if !outcome.notice.isEmpty { post(.didImport(outcome.notice)) }
        if !outcome.broken.isEmpty { post(.didBreakChecks(outcome.broken)) }
        if outcome.conflicts > 0 { post(.didFindConflicts(outcome.conflicts)) }
    }

    /// What a baseline says of itself; nil where it cannot be used.
    func header(of id: BaselineID) throws -> BaselineHeader? {
        if let known = headers[id] { return known }
        do {
            let clock = try file.pool.read { db in try StoreState.read(db).clock }
            // It is the last of many stamps: a store that has seen none of them is not to know how they came to be just behind the last good one.
            headers[id] = .some(try reader.header(of: id, clock: max(clock, .latest)))
        } catch let fault as LogFault {
            try quarantine(id, fault)
        } catch Errno.noSuchFileOrDirectory {
            return nil
        } catch let error as Errno {
            try quarantine([
                QuarantinedLog(
                    peer: id.peer.description, file: id.name.description, kind: .unreadable, reason: "it cannot be read (\(error))", record: nil,
                    since: now())
            ])
            return nil
        }
        return headers[id] ?? nil
    }

    /// What a baseline holds that this store does not; nil for nothing.
    private func news(in id: BaselineID, _ header: BaselineHeader) throws -> (logs: Int64, isForked: Bool)? {
        let (lacking, own, knowledge) = try file.pool.read { db in
            let state = try StoreState.read(db)
            let register = try LogRegister(own: state.peer, db)
            let lacking = try header.knowledge.entries.filter { try !register.contains($0.position, of: $0.peer) }
            return (lacking, state.peer, try StoreKnowledge.all(state, db))
        }
        let logs = header.knowledge.count(beyond: knowledge)
        if !lacking.isEmpty { return (logs, lacking.contains { $0.peer == own }) }
        let holes = knowledge.holes.flatMap { peer, positions in positions.map { (peer: peer, position: $0) } }
            .filter { header.knowledge.sequence(of: $0.peer) >= $0.position.sequence }
        if !holes.isEmpty {
            // One that cannot be read any more is looked at again from its header on.
            guard let lacking = try? reader.lacking(holes, id, header) else {
                headers[id] = nil
                return nil
            }
            if lacking.count < holes.count { return (logs, false) }
        }
        contained.insert(id)
        later[id] = nil
        return nil
    }

    /// Whether this store holds all that a baseline does.
    private func isContained(_ id: BaselineID) throws -> Bool {
        if contained.contains(id) { return true }
        guard let header = try header(of: id) else { return false }
        return try news(in: id, header) == nil
    }

    /// Reads a baseline to the end; whether it is whole.
    func verify(_ id: BaselineID, _ header: BaselineHeader) throws -> Bool {
        if verified.contains(id) { return true }
        do {
            try reader.verify(id, header)
            verified.insert(id)
            return true
        } catch let fault as LogFault {
            try quarantine(id, fault)
        } catch is Errno {}
        return false
    }

    private func quarantine(_ id: BaselineID, _ fault: LogFault) throws {
        headers[id] = .some(nil)
        try quarantine([QuarantinedLog(id.name.description, of: id.peer, fault, since: now())])
    }

    // MARK: Rolling

    /// Writes a baseline and trims what it makes superfluous, where there is reason to.
    ///
    /// - Parameter all: whether it is looked at now whatever has happened.
    /// - Throws: `Errno`, or GRDB's errors.
    func maintain(all: Bool) throws {
        let isDue = all || maintenance.map { $0 <= .now } == true
        // An exchange that has nothing to do with it asks no file system.
        guard try isDue || hasManyLoose() else { return }
        maintenance = nil
        var current = try inventory ?? listed()
        // A cry for help counts from whomever: who is stuck cannot even read that it is retired, and one baseline answers it for good.
        let receipts = try receipts()
        var others = try active(receipts)
        if try retireSilent(others) {
            try publish(all: true)
            others = try active(others)
        }
        if let policy = baselines, !hasMeasuredLoose || looseBytes >= policy.bytes {
            (looseBytes, hasMeasuredLoose) = (try measureLoose(current), true)
        }
        let isNeeded = try hasManyLoose() || isAwaited(current, receipts) || isStranded(current, others, isEager: all)
        if isNeeded, let id = try roll(current) { current.baselines.insert(id) }
        inventory = current
        try trim(current, others)
    }

    /// The baselines of which this store has everything.
    func containedBaselines(_ inventory: ContentInventory) throws -> [(id: BaselineID, header: BaselineHeader)] {
        try inventory.baselines.compactMap { id in try isContained(id) ? header(of: id).map { (id: id, header: $0) } : nil }
    }

    /// Whether so many logs are in no baseline that one is due.
    private func hasManyLoose() throws -> Bool {
        guard let policy = baselines, let knowledge = lastReceipt else { return false }
        if looseBytes >= policy.bytes { return true }
        let contained = try inventory.map(containedBaselines) ?? []
        return (contained.map(\.header.knowledge) + [Knowledge()]).map { knowledge.count(beyond: $0) }.min()! >= policy.logs
    }

    /// How many bytes the logs have that are joined and in no baseline.
    private func measureLoose(_ inventory: ContentInventory) throws -> Int {
        let usable = try containedBaselines(inventory).map(\.header.knowledge)
        var bytes = 0
        for author in try files.names(in: layout.directory).compactMap({ PeerIdentifier($0) }) {
            let directory = layout.logs(of: author, epoch: epoch)
            let names: [String]
            do { names = try directories.names(in: directory) } catch is PeerFault { continue }
            let loose = names.compactMap { LogFileName($0) }
                .filter { log in !usable.contains { $0.covers(log.sequence, of: author) } }
            let unknown = Set(try file.pool.read { db in try LogRegister(own: peer, db).unknown(among: loose, of: author) })
            for log in loose where !unknown.contains(log) {
                bytes += (try? files.size(of: directory.appending(log.description))).map { Int($0) } ?? 0
            }
        }
        return bytes
    }

    /// Publishes, and writes a baseline.
    package func rollNow() throws -> Int64? {
        var sequence: Int64?
        var isPlaced = false
        try leased { _ in
            isPlaced = true
            try publish(all: true)
            var current = try inventory ?? listed()
            sequence = try roll(current).map { id in
                current.baselines.insert(id)
                return id.name.sequence
            }
            inventory = current
            try trim(current, try active(receipts()))
        }
        guard isPlaced else { throw suspension }
        return sequence
    }

    /// Writes a baseline of what has been joined and published.
    ///
    /// The order is that of a log: write it where no synchroniser looks, sync it, rename it into place, sync the directory. A crash before the rename leaves a draft,
    /// which the next start removes; one after it a baseline that is as good as any.
    ///
    /// - Parameter inventory: what is there.
    /// - Returns: the baseline; nil where saves came in between.
    /// - Throws: `Errno`, or GRDB's errors.
    func roll(_ inventory: ContentInventory) throws -> BaselineID? {
        let sequence = (inventory.baselines.filter { $0.peer == peer }.map(\.name.sequence).max() ?? 0) + 1
        let began = ContinuousClock.now
        let temporary = layout.temporary(of: peer, epoch: epoch)
        try files.makeDirectory(temporary)
        let draft = temporary.appending("baseline.\(UUID().uuidString)")
        defer { try? files.remove(draft) }
        let writer = BaselineWriter(store: file.path, shapes: file.shapes, schemaVersion: file.migrations.last ?? "", now: now())
        guard try writer.write(to: draft, sequence: sequence) != nil else { return nil }
        Waypoint.rollWritten.pass()
        try files.syncFile(draft)
        let id = BaselineID(peer: peer, name: BaselineName(sequence: sequence, hash: try ContentHash(ofFile: draft)))
        Waypoint.rollSynced.pass()
        let directory = layout.baselines(of: peer, epoch: epoch)
        try files.makeDirectory(directory)
        try files.syncDirectory(directory.removingLastComponent())
        try files.renameNew(draft, to: layout.baseline(id, epoch: epoch))
        Waypoint.rollRenamed.pass()
        try files.syncDirectory(directory)
        Waypoint.rollDirectorySynced.pass()
        contained.insert(id)
        looseBytes = 0
        log.detail("wrote \(id.name) in \(began.elapsed)")
        post(.didRollBaseline(sequence))
        return id
    }

    // MARK: Trimming

    /// Removes own logs that a baseline holds which has been read to the end, and that every other peer has passed; and own baselines that a greater one holds.
    private func trim(_ inventory: ContentInventory, _ receipts: [PeerIdentifier: PeerReceipt]) throws {
        var usable: [(id: BaselineID, header: BaselineHeader)] = []
        for id in try inventory.baselines.filter(isContained) {
            if let header = try header(of: id) { usable.append((id, header)) }
        }
        guard !usable.isEmpty else { return }
        try trimLogs(for: usable, receipts)
        try trimBaselines(usable)
    }

    private func trimLogs(for usable: [(id: BaselineID, header: BaselineHeader)], _ receipts: [PeerIdentifier: PeerReceipt]) throws {
        let own = try file.pool.read { db in
            // Positions of this identifier's that are this store's own: another copy of it may have written others.
            let stated = usable.map(\.header.knowledge) + receipts.values.compactMap { $0.receipt?.stated }
            let register = try LogRegister(own: peer, db)
            return try Set(stated.flatMap { $0.heads[peer] ?? [] }).filter { try register.contains($0, of: peer) }
        }
        func passed(_ knowledge: Knowledge?) -> Int64 { knowledge?.passed(peer, where: own.contains) ?? 0 }
        let limit = receipts.values.map { passed($0.receipt?.stated) }.min() ?? .max
        let greatest = min(limit, usable.map { passed($0.header.knowledge) }.max() ?? 0)
        // The directory may hold very many logs: it is listed where there is something to remove.
        guard greatest > trimmed else { return }
        let directory = layout.logs(of: peer, epoch: epoch)
        let logs = try files.names(in: directory).compactMap { LogFileName($0) }.sorted()
        let unknown = Set(try file.pool.read { db in try LogRegister(own: peer, db).unknown(among: logs, of: peer) })
        for (id, header) in usable.sorted(by: { passed($0.header.knowledge) > passed($1.header.knowledge) }) {
            let covered = min(limit, passed(header.knowledge))
            let superfluous = logs.filter { $0.sequence <= covered && !unknown.contains($0) }
            guard !superfluous.isEmpty else {
                if covered == greatest { trimmed = greatest }
                break
            }
            // What was whole when it was joined may have been damaged since.
            verified.remove(id)
            guard try verify(id, header) else { continue }
            for log in superfluous {
                try files.remove(directory.appending(log.description))
                Waypoint.trimLog.pass()
                self.log.detail("removed \(log), which baseline \(id.name) of \(id.peer) holds")
            }
            self.log.exchange("removed \(counted(superfluous.count, "log")) that a baseline holds and every peer has read")
            trimmed = covered
            let gone = Set(superfluous)
            try trimValues(after: logs.filter { !gone.contains($0) })
            break
        }
    }

    private func trimBaselines(_ usable: [(id: BaselineID, header: BaselineHeader)]) throws {
        let knowledge = try file.pool.read { db in try StoreKnowledge.all(StoreState.read(db), db) }
        for (id, header) in usable where id.peer == peer {
            for (other, greater) in usable
            where other != id && greater.knowledge.holds(header.knowledge, orIsEqual: other > id, within: knowledge) {
                verified.remove(other)
                guard try verify(other, greater) else { continue }
                try files.remove(layout.baseline(id, epoch: epoch))
                self.inventory?.baselines.remove(id)
                Waypoint.trimBaseline.pass()
                log.exchange("removed baseline \(id.name), for \(other.name) of \(other.peer) holds all of it")
                break
            }
        }
    }

    /// Removes own large values that no log which is left names.
    private func trimValues(after logs: [LogFileName]) throws {
        let directory = layout.values(of: peer, epoch: epoch)
        // What lies behind a link is somebody else's.
        let values = try (files.directoryNames(in: directory) ?? []).filter { ContentHash(hexadecimal: $0) != nil }
        guard !values.isEmpty else { return }
        let logReader = LogReader(layout: layout, contentName: contentName, epoch: epoch, shapes: file.shapes, files: files)
        var named: Set<String> = []
        for log in logs {
            // Where one cannot be read nothing is known of what it names.
            guard let ready = try? logReader.read(log, of: peer, clock: .latest) else { return }
            named.formUnion(ready.values.keys.map(\.hash.description))
        }
        // What is still to go out may name what has gone out with another log.
        guard try file.pool.read({ db in try Outbox.isEmpty(db) }) else { return }
        for value in values where !named.contains(value) {
            try files.remove(directory.appending(value))
            Waypoint.trimValue.pass()
        }
    }
}

extension Knowledge {
    /// Whether all that another names is in this, and more, as far as that is certain: of an identifier with several branches each head must be the same.
    ///
    /// - Parameters:
    ///   - other: another knowledge.
    ///   - orIsEqual: what is said of one that is the same.
    ///   - all: what holds both.
    /// - Returns: whether it does.
    package func holds(_ other: Knowledge, orIsEqual: Bool, within all: Knowledge) -> Bool {
        if self == other { return orIsEqual }
        let isWhole = holes.allSatisfy { peer, positions in
            positions.allSatisfy { other.holes[peer]?.contains($0) == true || other.sequence(of: peer) < $0.sequence }
        }
        guard isWhole else { return false }
        return other.heads.allSatisfy { peer, positions in
            guard let own = heads[peer] else { return false }
            if own == positions { return true }
            return all.heads[peer]?.count == 1 && positions.allSatisfy { sequence(of: peer) >= $0.sequence && covers($0.sequence, of: peer) }
        }
    }
}
