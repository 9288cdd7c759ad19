internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Builds the records of domains again, after a statement has taken something away: from the statement's base, and from
/// the logs that this store has joined and that lie in the content.
///
/// It runs in the transaction that saves the statement, so a reader sees the records of the old statement or of the new
/// one.
struct DomainRebuild {
    let scope: ExchangeScope
    let authority: Authority

    /// The baselines that must be attached, in the order of ``run(_:_:)``.
    static func bases(of rebuilds: [Enactment.Rebuild]) -> [BaselineID] { rebuilds.compactMap(\.base) }

    /// Rebuilds domains.
    ///
    /// - Parameters:
    ///   - rebuilds: the domains, whose bases are attached in this order.
    ///   - headers: the headers of the bases.
    ///   - db: the store in an import's transaction, with foreign keys and CHECKs off.
    /// - Returns: the names of the tables that may have changed.
    /// - Throws: `Errno` if a log cannot be read now; GRDB's errors.
    func run(_ rebuilds: [Enactment.Rebuild], _ headers: [BaselineID: BaselineHeader], _ db: Database) throws -> Set<String> {
        let shapes = scope.file.shapes
        let domains = rebuilds.map { DomainRows($0.domain, shapes) }
        let touched = domains.flatMap(\.shapes)
        guard !touched.isEmpty else { return [] }
        try scope.context.sealer.seal(db)
        for (rebuild, domain) in zip(rebuilds, domains) {
            try domain.clear(db)
            try ScopeState.setHeld(rebuild.base.map { headers[$0]!.knowledge } ?? Knowledge(), of: rebuild.domain, db)
        }
        try scope.context.sealer.journal.append(whole: touched, .rebuild, now: scope.context.now(), db)
        Waypoint.rebuildEmptied.pass()
        var place = 0
        for base in Self.bases(of: rebuilds) {
            var joiner = scope.baselines.joiner
            (joiner.place, joiner.takesKnowledge) = (place, false)
            // An account names what remains of its own records, and nothing else.
            let domain = domains[rebuilds.firstIndex { $0.base == base }!]
            joiner.gate = ImportGate(
                decision: { _ in { shape, key in domain.contains(key, in: shape) ? nil : .otherAccount } }, movesClock: { _, _ in false })
            let header = headers[base]!
            _ = try joiner.join(header, isRebuilding: true, db)
            place += 1
            try moveClock(of: domain.domain, to: header.clock, db)
        }
        try replay(domains, db)
        Waypoint.rebuildJoined.pass()
        return Set(touched.map(\.name))
    }

    /// Returns whether a peer may have written records of the domains.
    private func concerns(_ peer: PeerIdentifier, _ domains: [DomainRows]) -> Bool {
        guard let account = AccountIdentifier(peer.account) else { return false }
        return domains.contains { domain in
            switch domain.domain {
            case .roles: authority.policy?.value.pins[account] != nil
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

    /// Joins the changes of the domains in all logs that this store has joined.
    private func replay(_ domains: [DomainRows], _ db: Database) throws {
        let exchange = LogExchange(scope: scope)
        var importer = exchange.importer(exchange.reader, LogProof(authority: authority, held: try ScopeState.held(db)))
        importer.takesKnowledge = false
        importer.domains = domains
        let reader = exchange.reader
        let register = try LogRegister(own: scope.peer, db)
        for name in try scope.files.names(in: scope.layout.directory).sorted() {
            guard let peer = PeerIdentifier(name), concerns(peer, domains) else { continue }
            let logs = (try? scope.context.folders.names(in: scope.layout.logs(of: peer, epoch: scope.epoch)))?.compactMap { LogFileName($0) } ?? []
            var batch: [ReadyLog] = []
            for log in logs.sorted() where try register.contains(log.position, of: peer) {
                do {
                    batch.append(try reader.read(log, of: peer, clock: .latest))
                } catch is LogFault {
                    // Somebody has damaged it since it was joined. Its author publishes it again.
                    continue
                }
                if batch.count == ImportPlanner.batchLogs {
                    _ = try importer.join(batch, isolating: true, db)
                    batch = []
                }
            }
            if !batch.isEmpty { _ = try importer.join(batch, isolating: true, db) }
        }
    }
}
