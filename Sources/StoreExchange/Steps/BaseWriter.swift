internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Writes the base of a statement: a baseline of what remains of a domain.
///
/// Most bases are what the store shows. To leave out logs that the store has joined, to merge the branches of a fork, or to
/// begin after a policy that is not in effect, it copies the store file, builds the domain in the copy again, and writes the
/// base from the copy. The store itself follows once it takes the statement in, as every reader does.
struct BaseWriter {
    let keeper: ScopeKeeper
    /// The authority before the statement.
    let authority: Authority
    let domain: Domain
    /// The policies that the statement follows; none for an account's statement.
    var follows: [Signed<Policy>] = []
    /// The baselines that the base takes over.
    var baselines: Set<BaselineID> = []

    private var context: ExchangeContext { keeper.context }
    /// The authority under which the domain is built: in a fork, that of the policy in effect, which lets all count that the
    /// store has joined.
    private var foundation: Authority {
        guard !follows.isEmpty, let policy = follows.count == 1 ? follows[0] : authority.policy else { return authority }
        return authority.asOf(policy)
    }
    /// Whether the store shows what the statement follows.
    private var isCurrent: Bool { follows.allSatisfy { $0.id == authority.policy?.id } }

    private static let suffix = "-taking-back"

    private typealias Base = (id: BaselineID, header: BaselineHeader)
    /// The logs that are left out, by their authors.
    private typealias LeftOut = [PeerIdentifier: Set<LogFileName>]

    /// Removes a copy that a killed process has left.
    ///
    /// Call it while no other process exchanges for the store.
    static func removeDraft(of store: FilePath) { NewFile(store, draftSuffix: suffix).remove() }

    /// Writes the base.
    ///
    /// - Parameters:
    ///   - content: the known content, to which the base is added.
    ///   - isTakenBack: whether a log is left out, by its author and number.
    /// - Returns: the base; nil if a save came in between.
    /// - Throws: `UbiquitousStoreError` if a log cannot be left out, or others cannot be read; `Errno`; GRDB's errors.
    func write(_ content: inout KnownContent, without isTakenBack: (PeerIdentifier, Int64) -> Bool) throws -> BaselineID? {
        let scope = ExchangeScope(context, content.state)
        var leftOut = try takenBack(isTakenBack)
        guard !leftOut.isEmpty || !isCurrent else { return try roll(scope, &content) }
        let former = try former(isTakenBack, scope, content.state)
        if !isCurrent { try leftOut.merge(leftBehind(scope, content.state)) { $0.union($1) } }
        let copy = NewFile(context.file.path, draftSuffix: Self.suffix)
        defer { copy.remove() }
        _ = try context.file.pool.read { db in try BackupWriter(place: copy).draft(db, nil) }
        Waypoint.takeBackCopied.pass()
        var copied = context
        copied.file = try context.file.opening(copy: copy.draft)
        defer { try? copied.file.pool.close() }
        let copiedScope = ExchangeScope(copied, content.state)
        guard try rebuild(copiedScope, from: former, leftOut, content.state) else { return nil }
        Waypoint.takeBackRebuilt.pass()
        return try roll(copiedScope, &content)
    }

    /// Returns the joined logs that are taken back.
    private func takenBack(_ isTakenBack: (PeerIdentifier, Int64) -> Bool) throws -> LeftOut {
        try joined { peer, log in isTakenBack(peer, log.sequence) }
    }

    /// Returns the joined logs for which a policy that the statement follows has no place: they name a policy that is not
    /// before it, or it has cut their author and its base does not hold them.
    private func leftBehind(_ scope: ExchangeScope, _ state: StoreState) throws -> LeftOut {
        let ancestry = authority.ancestry(of: follows)
        let reader = LogExchange(scope: scope).reader
        var left: LeftOut = [:]
        let joined = try joined { peer, _ in AccountIdentifier(peer.account).map(authority.mayHaveHeldRoles) ?? false }
        for (peer, names) in joined {
            // A log that cannot be read is missed when the domain is built again.
            let logs = names.reduce(into: [LogFileName: LogRights]()) { logs, name in
                logs[name] = try? reader.read(name, of: peer, clock: .latest).log.header.rights
            }
            left[peer] = Set(logs.filter { !ancestry.contains($0.value.policy) }.keys)
            for tip in follows {
                let cut = logs.filter { authority.isCut($0.value, by: peer, under: tip) }.keys.map { (peer, $0.position) }
                guard !cut.isEmpty else { continue }
                let lacking = try authority.rolesBase(under: tip).map { id in
                    try scope.baselines.reader.lacking(cut, id, base(id, state).header).map(\.position)
                }
                left[peer]!.formUnion((lacking ?? cut.map(\.1)).map { LogFileName($0) })
            }
        }
        return left.filter { !$0.value.isEmpty }
    }

    /// Returns the joined logs that a condition holds for.
    private func joined(_ isIncluded: (PeerIdentifier, LogFileName) throws -> Bool) throws -> LeftOut {
        try context.file.pool.read { db in
            var found: LeftOut = [:]
            for peer in try StoreKnowledge.peers(db).all.map(\.peer) {
                let logs = try StoreKnowledge.logs(of: peer, db).filter { try isIncluded(peer, $0) }
                if !logs.isEmpty { found[peer] = Set(logs) }
            }
            return found
        }
    }

    private func roll(_ scope: ExchangeScope, _ content: inout KnownContent) throws -> BaselineID? {
        let rows = DomainRows(domain, context.file.shapes)
        return try scope.baselines.roll(&content.inventory) { writer in
            writer.part = rows
            if domain == .roles { writer.clock = { db in try ScopeState.read(db).clock } }
            writer.holds = { peer in
                guard let account = AccountIdentifier(peer.account) else { return false }
                return switch domain {
                case .roles: (follows.isEmpty ? authority.policy.map { [$0] } ?? [] : follows).contains { $0.value.pins[account] != nil }
                case .slice(let owner): owner == account
                }
            }
        }
    }

    /// Returns the base of the statement before, which must hold nothing that is taken back.
    private func former(_ isTakenBack: (PeerIdentifier, Int64) -> Bool, _ scope: ExchangeScope, _ state: StoreState) throws -> Base? {
        guard let id = foundation.base(of: domain) else { return nil }
        let former = try base(id, state)
        var held: [PeerIdentifier: LogFileName] = [:]
        try scope.baselines.reader.forEachLog(of: id, former.header) { peer, log in
            if isTakenBack(peer, log.sequence) { held[peer] = max(held[peer] ?? log, log) }
        }
        if let (peer, log) = held.min(by: { $0.key < $1.key }) {
            throw UbiquitousStoreError(
                .unsupported,
                "The baseline \(id.name) of \(id.peer), which the statement before names, holds the log \(log) of \(peer), whose changes cannot be told from others there. Take back what came after it: \(peer):\(log.sequence). Nothing is signed.",
                path: context.layout.directory)
        }
        return former
    }

    private func base(_ id: BaselineID, _ state: StoreState) throws -> Base {
        guard let header = try keeper.header(of: id, state) else {
            throw UbiquitousStoreError(
                .suspended,
                "The content lacks the baseline \(id.name) of \(id.peer), from which the records are built again. Nothing is signed; wait until it has arrived, or put it back.",
                path: context.layout.directory)
        }
        return (id, header)
    }

    /// Builds the domain in the copy again; returns false if a save came in between.
    private func rebuild(_ scope: ExchangeScope, from former: Base?, _ leftOut: LeftOut, _ state: StoreState) throws -> Bool {
        let (file, sealer) = (scope.file, context.sealer)
        let rebuild = DomainRebuild(scope: scope, authority: foundation)
        func path(_ base: Base) -> FilePath { scope.layout.baseline(base.id, epoch: scope.epoch) }
        let isQuiet = try file.importing(attaching: former.map { [path($0)] } ?? []) { db in
            guard try Outbox.isEmpty(db), try !sealer.hasNotes(db) else { return false }
            for (peer, logs) in leftOut { try StoreKnowledge.forget(Set(logs.map(\.position)), of: peer, db) }
            let headers = former.map { [$0.id: $0.header] } ?? [:]
            let missing = try rebuild.run([.init(domain: domain, base: former?.id)], headers, db).missing
            if let (peer, log) = missing.first {
                throw UbiquitousStoreError(
                    .contentIncomplete,
                    "The content lacks the log \(log) of \(peer), or it is damaged, and the records cannot be built again. Nothing is signed.",
                    path: scope.layout.directory)
            }
            return true
        }
        guard isQuiet else { return false }
        for id in baselines.sorted() where id != former?.id {
            let other = try base(id, state)
            try file.importing(attaching: [path(other)]) { db in
                try rebuild.join(other.header, attachedAt: 0, into: DomainRows(domain, file.shapes), takesKnowledge: true, db)
            }
        }
        let sealed = try file.pool.read { db in try StoreState.read(db) }
        _ = try file.resolve(by: sealer)
        // What resolving tells others, each reader finds in the base.
        try file.pool.write { db in
            try db.execute(sql: "DELETE FROM ubiquity_outbox")
            var resolved = try StoreState.read(db)
            (resolved.sequence, resolved.predecessor) = (sealed.sequence, sealed.predecessor)
            try resolved.update(db)
        }
        return true
    }
}
