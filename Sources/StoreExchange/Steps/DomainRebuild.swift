internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Builds the records of domains again, after a statement has taken something away: from the statement's base, from the
/// logs that this store has joined and that lie in the content, and from its own sealed logs.
///
/// It runs in the transaction that saves the statement, so a reader sees the records of the old statement or of the new
/// one.
struct DomainRebuild {
    let scope: ExchangeScope
    let authority: Authority
    /// Whether a log is left out; it counts as a log that this store has not joined.
    var leavesOut: (PeerIdentifier, LogFileName) -> Bool = { _, _ in false }

    /// A log by its author and name.
    typealias PeerLog = (peer: PeerIdentifier, name: LogFileName)

    /// What a rebuild has done.
    struct Outcome {
        /// The names of the tables that may have changed.
        var tables: Set<String> = []
        /// The joined logs that are neither in a base nor whole in the content, so that their changes are gone.
        var missing: [PeerLog] = []
    }

    /// The baselines that must be attached, in the order of ``run(_:_:_:)``.
    static func bases(of rebuilds: [Enactment.Rebuild]) -> [BaselineID] { rebuilds.compactMap(\.base) }

    /// Rebuilds domains.
    ///
    /// - Parameters:
    ///   - rebuilds: the domains, whose bases are attached in this order.
    ///   - headers: the headers of the bases.
    ///   - db: the store in an import's transaction, with foreign keys and CHECKs off, and all changes sealed.
    /// - Returns: what has been done.
    /// - Throws: `Errno` if a log cannot be read now; GRDB's errors.
    func run(_ rebuilds: [Enactment.Rebuild], _ headers: [BaselineID: BaselineHeader], _ db: Database) throws -> Outcome {
        let shapes = scope.file.shapes
        let domains = rebuilds.map { DomainRows($0.domain, shapes) }
        let touched = shapes.filter { shape in domains.contains { domain in domain.shapes.contains { $0.name == shape.name } } }
        guard !touched.isEmpty else { return Outcome() }
        let local = LocalColumns(touched)
        try local.keep(db)
        for (rebuild, domain) in zip(rebuilds, domains) {
            try domain.clear(db)
            try ScopeState.setHeld(rebuild.base.map { headers[$0]!.knowledge } ?? Knowledge(), of: rebuild.domain, db)
        }
        try scope.context.sealer.journal.append(whole: touched, .rebuild, now: scope.context.now(), db)
        Waypoint.rebuildEmptied.pass()
        var place = 0
        for (rebuild, domain) in zip(rebuilds, domains) {
            guard let base = rebuild.base else { continue }
            try join(headers[base]!, attachedAt: place, into: domain, db)
            place += 1
        }
        let missing = try lacking(try replay(domains, of: { concerns($0, domains) }, db), rebuilds, headers)
        try local.putBack(db)
        Waypoint.rebuildJoined.pass()
        return Outcome(tables: Set(touched.map(\.name)), missing: missing)
    }

    /// Joins the records of a domain in a baseline.
    ///
    /// - Parameters:
    ///   - header: the header of the baseline.
    ///   - place: the place of the baseline among those that are attached.
    ///   - domain: the domain.
    ///   - takesKnowledge: whether the logs that the baseline holds become known.
    ///   - db: the store in an import's transaction.
    /// - Throws: `LogFault` if a record is malformed, or GRDB's errors.
    func join(_ header: BaselineHeader, attachedAt place: Int, into domain: DomainRows, takesKnowledge: Bool = false, _ db: Database) throws {
        var joiner = scope.baselines.joiner
        (joiner.place, joiner.takesKnowledge) = (place, takesKnowledge)
        // An account names what remains of its own records, and nothing else.
        joiner.gate = ImportGate(
            decision: { _ in { shape, key in domain.contains(key, in: shape) ? nil : .otherAccount } }, movesClock: { _, _ in false })
        _ = try joiner.join(header, isRebuilding: true, db)
        try moveClock(of: domain.domain, to: header.clock, db)
    }

    /// Forgets logs of others whose changes are gone, so that they are joined when they are found.
    ///
    /// This store's own logs stay known: an unknown one under its name would be taken for another copy's.
    ///
    /// - Parameters:
    ///   - logs: the logs that a rebuild has missed.
    ///   - db: the store, in the transaction of the rebuild.
    /// - Throws: GRDB's errors.
    func forget(_ logs: [PeerLog], _ db: Database) throws {
        for (peer, logs) in Dictionary(grouping: logs, by: \.peer) where peer != scope.peer {
            try StoreKnowledge.forget(Set(logs.map(\.name.position)), of: peer, db)
        }
    }

    /// Returns whether a peer may have written records of the domains.
    private func concerns(_ peer: PeerIdentifier, _ domains: [DomainRows]) -> Bool {
        guard let account = AccountIdentifier(peer.account) else { return false }
        return domains.contains { domain in
            switch domain.domain {
            case .roles: authority.mayHaveHeldRoles(account)
            case .slice(let owner): owner == account
            }
        }
    }

    /// Moves the clock with which this store writes records of a domain above the domain's stamps.
    private func moveClock(of domain: Domain, to time: HybridTime, _ db: Database) throws {
        switch domain {
        case .roles:
            var position = try ScopeState.read(db)
            position.clock = max(position.clock, min(time, .latest))
            try position.update(db)
        case .slice(let account):
            var state = try StoreState.read(db)
            guard state.peer.account == account.description else { return }
            state.clock = max(state.clock, min(time, .latest))
            try state.update(db)
        }
    }

    /// Returns those of the logs that the base of a domain which they concern does not hold.
    private func lacking(
        _ logs: [PeerLog], _ rebuilds: [Enactment.Rebuild], _ headers: [BaselineID: BaselineHeader]
    ) throws -> [PeerLog] {
        guard !logs.isEmpty else { return [] }
        var found: [PeerLog] = []
        for rebuild in rebuilds {
            let concerned = logs.filter { log in
                concerns(log.peer, [DomainRows(rebuild.domain, scope.file.shapes)]) && !found.contains { $0 == log }
            }
            guard let base = rebuild.base, !concerned.isEmpty else {
                found += concerned
                continue
            }
            let lacking = try scope.baselines.reader.lacking(concerned.map { ($0.peer, $0.name.position) }, base, headers[base]!)
            found += lacking.map { ($0.peer, LogFileName($0.position)) }
        }
        return found
    }

    /// Joins the changes of parts of the store in all logs that this store has joined or sealed.
    ///
    /// - Parameters:
    ///   - parts: the parts.
    ///   - isAuthor: whether a peer may have written records of them.
    ///   - db: the store in an import's transaction.
    /// - Returns: the logs that are not whole in the content, or that the store refuses now.
    /// - Throws: `Errno` if a log cannot be read now; GRDB's errors.
    func replay(_ parts: [any RecordPart], of isAuthor: (PeerIdentifier) -> Bool, _ db: Database) throws -> [PeerLog] {
        let exchange = LogExchange(scope: scope)
        let reader = exchange.reader
        var importer = exchange.importer(reader, LogProof(authority: authority, held: try ScopeState.held(db)))
        importer.takesKnowledge = false
        importer.parts = parts
        var missing: [PeerLog] = []
        for peer in try StoreKnowledge.authors(db).all.map(\.peer).sorted() where isAuthor(peer) {
            var (batch, bytes): ([ReadyLog], Int) = ([], 0)
            func join() throws {
                missing += try refused(batch, by: importer, db).map { (peer, $0) }
                (batch, bytes) = ([], 0)
            }
            for name in try StoreKnowledge.logs(of: peer, db) where !leavesOut(peer, name) {
                guard let log = try whole(name, of: peer, by: reader) else {
                    missing.append((peer, name))
                    continue
                }
                batch.append(log)
                bytes += log.size
                if batch.count == ImportPlanner.batchLogs || bytes >= ImportPlanner.batchBytes { try join() }
            }
            try join()
        }
        try replayOwn(by: importer, reader, db)
        return missing
    }

    /// Returns a log that is whole in the content, with its large values; nil of any other.
    private func whole(_ name: LogFileName, of peer: PeerIdentifier, by reader: LogReader) throws -> ReadyLog? {
        do {
            let log = try reader.read(name, of: peer, clock: .latest)
            return try log.values.allSatisfy { value, peers in try reader.largeValues.whole(value, of: peers) != nil } ? log : nil
        } catch is LogFault {
            return nil
        } catch let error as Errno {
            // An own log is never read again by itself, so its file must be gone, and not only unreadable now.
            guard peer == scope.peer ? error == .noSuchFileOrDirectory : !error.isOfProcess else { throw error }
            return nil
        }
    }

    /// Joins the sealed logs of this store, which are in no other store's rows yet.
    private func replayOwn(by given: LogImporter, _ reader: LogReader, _ db: Database) throws {
        var importer = given
        importer.values = SealedValues(db: db, reader: reader.largeValues)
        for name in try Outbox.names(db) where !leavesOut(scope.peer, name) {
            let log = try Outbox.log(name.sequence, db).log
            let isOlder = LogTableMapping.isOlder(log.header.schema, than: scope.file.migrations)
            let ready = ReadyLog(peer: log.header.peer, name: name, log: log, contents: try LogBody.decode(log), isOlder: isOlder)
            _ = try refused([ready], by: importer, db)
        }
    }

    /// Joins logs, and returns those that the store refuses, each with the rest of its save.
    private func refused(_ logs: [ReadyLog], by importer: LogImporter, _ db: Database) throws -> [LogFileName] {
        var (rest, refused) = (logs[...], [LogFileName]())
        while !rest.isEmpty {
            let outcome = try importer.join(Array(rest), isolating: true, db)
            guard let (log, refusal) = outcome.refused else { break }
            scope.context.log.fault("could not join \(log.name) of \(log.peer) again: \(refusal.reason)")
            let save = LogImporter.save(at: rest.dropFirst(outcome.joined))
            refused += save.map(\.name)
            rest = rest[save.endIndex...]
        }
        return refused
    }
}

/// The large values of sealed logs, of which some may have been published with an earlier log.
private struct SealedValues: LargeValueSource {
    let db: Database
    let reader: LargeValueReader

    func whole(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> [UInt8]? {
        try LargeValues.bytes(value.hash, db) ?? reader.whole(value, of: peers)
    }
}
