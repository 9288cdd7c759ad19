internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Reads the statements of a container with a scope, and keeps the store's rights and records in step with them.
struct ScopeKeeper {
    let context: ExchangeContext
    let scope: ScopeContext

    /// Returns nil for a store in a plain container.
    init?(context: ExchangeContext) {
        guard let scope = context.scope else { return nil }
        (self.context, self.scope) = (context, scope)
    }

    // MARK: Requests

    /// The requests of other programs that wait.
    var requests: [ScopeRequest.Waiting] { get throws { try context.file.pool.read { db in try ScopeRequest.list(db) } } }

    /// Removes a request that is done or refused.
    func drop(_ number: Int64) throws { _ = try context.file.pool.write { db in try ScopeRequest.drop(number, db) } }

    // MARK: The device's identity

    /// Makes the store write under the name that this device's keys have.
    ///
    /// A store that only reads has a name of its own, under which nothing is ever published.
    ///
    /// - Throws: `UbiquitousStoreError` with `foreignStore` if saves of another account wait to be published.
    func identify() throws {
        guard let record = try scope.keys.record, let peer = PeerIdentifier(record.peer) else { return }
        // A copy of the store has another peer of the account.
        let isNew = try context.file.pool.read { db in try StoreState.read(db).peer.account != peer.account }
        guard isNew else { return }
        try context.file.pool.write { db in
            var state = try StoreState.read(db)
            guard state.peer.account != peer.account else { return }
            guard try Outbox.isEmpty(db), try !context.sealer.hasNotes(db) else {
                throw UbiquitousStoreError(
                    .foreignStore,
                    "\(context.file.path) holds saves of \(state.peer.account) that are not published yet; sign in to that account again, and let it publish them.",
                    path: context.file.path)
            }
            (state.peer, state.attached, state.sequence, state.predecessor, state.receipt) = (peer, false, 0, nil, 0)
            state.successor = nil
            try state.update(db)
        }
    }

    /// Enrols another peer of this device, for a copy of its store.
    ///
    /// - Parameters:
    ///   - peer: the new peer.
    ///   - old: the peer that the other copy keeps.
    /// - Returns: the enrolment, which is the new peer's certificate.
    /// - Throws: `UbiquitousStoreError` with `readOnly` if this device may not enrol another; `Errno`.
    func enrol(_ peer: PeerIdentifier, as old: PeerIdentifier) throws -> StatementIdentifier {
        var content = KnownContent(try context.file.pool.read { db in try StoreState.read(db) })
        try refresh(&content)
        guard let authority = content.authority, let (account, _) = identity(content.state), let key = try scope.keys.deviceKey,
            let statement = authority.statement(of: account), let certificate = authority.certificate(of: old, key: key.publicKey, in: account)
        else {
            throw UbiquitousStoreError(
                .readOnly,
                "Another copy of \(context.file.path) writes as \(old), and this device may not enrol a new name; enrol it again, with a new device home",
                path: context.file.path)
        }
        let enrolment = Enrolment(
            account: account, statement: statement.id, sponsor: old, certificate: certificate, device: peer, key: key.publicKey)
        let draft = enrolment.draft(by: key.publicKey)
        try scope.directory.write(draft.signed(with: key, in: scope.container))
        return StatementIdentifier(draft.hash)
    }

    // MARK: The place

    /// Returns whether the container is there, and the store's own directory if it writes.
    func attachment(_ state: StoreState) -> ContainerAttachment {
        let files = context.files
        if files.silence(of: scope.directory.path) != nil { return .detached(.silent) }
        do {
            guard try files.kind(of: scope.directory.path) == .directory else { return .detached(.containerGone) }
            guard try files.kind(of: scope.directory.authority) == .directory else { return .detached(.contentGone) }
            guard state.attached, isWriting(state) else { return .attached }
            let logs = context.layout.logs(of: state.peer, epoch: state.epoch)
            for directory in context.layout.way + [logs.removingLastComponent(), logs] where try files.kind(of: directory) != .directory {
                return .detached(.contentGone)
            }
            return .attached
        } catch {
            return .detached(.unreadable(error))
        }
    }

    /// Makes the store's own directory, if the store writes.
    func makePlace(_ state: StoreState) throws {
        guard isWriting(state) else { return }
        try PeerPlace(layout: context.layout, container: context.container!, files: context.files).makeSignedPlace(of: state.peer, epoch: state.epoch)
    }

    /// Returns whether the store writes under an account's name.
    func isWriting(_ state: StoreState) -> Bool { AccountIdentifier(state.peer.account) != nil }

    // MARK: The statements

    /// Reads new statements, and rebuilds what they take away.
    func refresh(_ content: inout KnownContent) throws {
        try reload(&content)
        let listing = try scope.directory.look(besides: content.authority!.statementHashes, faulty: &content.faultyStatements)
        try report(listing)
        try take(listing.new.map(\.statement), &content)
    }

    /// Reads what another process has saved.
    func reload(_ content: inout KnownContent) throws {
        let generation = try context.file.pool.read { db in try ScopeState.generation(db) }
        if content.authority == nil || content.authorityGeneration != generation { try load(&content) }
    }

    /// Takes in statements whose effect the records have already, which are filled from snapshots.
    func assume(_ statements: [StoreAuthority.Statement], _ content: inout KnownContent) throws {
        var authority = content.authority!
        _ = authority.insert(statements, baselines: [])
        while case let awaited = authority.awaitedBases, !awaited.isEmpty { _ = authority.insert([], baselines: awaited) }
        try save(authority, Enactment(), [:], &content)
    }

    /// Takes in statements, and rebuilds what they take away.
    func take(_ statements: [StoreAuthority.Statement], _ content: inout KnownContent) throws {
        var authority = content.authority!
        // A statement names its base, whose arrival puts it into effect.
        var enactment = authority.insert(statements, baselines: [])
        var isNews = !statements.isEmpty || content.authorityGeneration == nil
        for base in authority.awaitedBases.sorted() {
            guard let header = try header(of: base, content.state) else { continue }
            let arrival = authority.insert([], baselines: [base])
            enactment.add(arrival)
            // Otherwise a base that changes nothing would be verified again each time.
            isNews = true
            guard !arrival.rebuilds.isEmpty else { continue }
            // Each base is joined in a transaction of its own, because SQLite reads few files together.
            try save(authority, enactment, [base: header], &content)
            (enactment, isNews) = (Enactment(), false)
        }
        guard isNews || !enactment.rebuilds.isEmpty else { return try enforce(authority, content.state) }
        try save(authority, enactment, [:], &content)
    }

    private func load(_ content: inout KnownContent) throws {
        let (saved, held) = try context.file.pool.read { db in (try ScopeState.authority(db), try ScopeState.held(db)) }
        content.held = held
        content.authorityGeneration = saved?.generation
        guard let saved else {
            content.authority = Authority(container: scope.container)
            return
        }
        guard let authority = Authority(saved: saved.bytes), authority.container == scope.container else {
            throw UbiquitousStoreError(
                .malformed, "The store's own state is damaged; move \(context.file.path) aside, and it is filled again from the container.",
                path: context.file.path)
        }
        content.authority = authority
    }

    /// Returns the header of a base; nil if the base is missing, damaged or altered.
    func header(of base: BaselineID, _ state: StoreState) throws -> BaselineHeader? {
        let reader = context.baselineReader(epoch: state.epoch)
        do {
            let header = try reader.header(of: base, clock: .latest)
            try reader.verify(base, header)
            return header
        } catch let fault as LogFault {
            try context.quarantine([QuarantinedLog(base.name.description, of: base.peer, fault, since: context.now())])
        } catch is Errno {}
        return nil
    }

    /// Saves the statements with everything that follows from them, in one transaction.
    private func save(_ authority: Authority, _ enactment: Enactment, _ given: [BaselineID: BaselineHeader], _ content: inout KnownContent) throws {
        Waypoint.statementsRead.pass()
        for (id, fault) in enactment.refused { context.log.exchange("the statement \(id) has no effect: \(fault)") }
        var headers = given
        for base in enactment.rebuilds.compactMap(\.base) where headers[base] == nil {
            guard let header = try header(of: base, content.state) else { throw Errno.noSuchFileOrDirectory }
            headers[base] = header
        }
        let exchangeScope = ExchangeScope(context, content.state)
        let rebuild = DomainRebuild(scope: exchangeScope, authority: authority)
        let saves = RejectedSaves(
            scope: exchangeScope, former: content.authority!, authority: authority, rebuilds: enactment.rebuilds, headers: headers)
        let bases = DomainRebuild.bases(of: enactment.rebuilds)
        let began = ContinuousClock.now
        let (kept, outcome) = try context.file.importing(attaching: bases.map(context.baselineReader(epoch: content.state.epoch).path)) { db in
            // What has been written until now was written under the rights until now.
            try context.sealer.seal(db)
            let kept = try saves.setAside(db)
            try save(authority, since: content, db)
            try write(rights(by: authority, content.state), authority, content.state, db)
            guard !enactment.rebuilds.isEmpty else { return (kept, DomainRebuild.Outcome()) }
            let outcome = try rebuild.run(enactment.rebuilds, headers, db)
            try rebuild.forget(outcome.missing, db)
            return (kept, outcome)
        }
        Waypoint.statementsSaved.pass()
        content.authority = authority
        (content.state, content.authorityGeneration, content.held) = try context.file.pool.read { db in
            (try StoreState.read(db), try ScopeState.generation(db), try ScopeState.held(db))
        }
        if !outcome.missing.isEmpty {
            let names = outcome.missing.prefix(3).map { "\($0.name) of \($0.peer)" }.joined(separator: ", ")
            context.log.fault("\(counted(outcome.missing.count, "joined log")) are in no base and not whole in the content any more, first \(names)")
        }
        if !outcome.tables.isEmpty {
            context.log.transition("rebuilt \(outcome.tables.sorted().joined(separator: ", ")) under new statements in \(began.elapsed)")
            context.post(.didFill(outcome.tables))
        }
        if let kept { context.post(.didRejectSaves(kept)) }
        tell(rights(by: authority, content.state))
    }

    /// Saves the statements: those that have changed, unless another process has saved others.
    private func save(_ authority: Authority, since content: KnownContent, _ db: Database) throws {
        let isCurrent = try ScopeState.entriesGeneration(db).map { $0 == content.authorityGeneration } ?? false
        let change = authority.change(since: isCurrent ? content.authority : nil)
        try ScopeState.save(added: change.added.lazy.map { ($0.key, $0.bytes) }, removed: change.removed, isWhole: !isCurrent, db)
    }

    /// Rebuilds all domains from their bases and from the logs in the content.
    func rebuildAll(_ content: inout KnownContent) throws {
        try refresh(&content)
        let authority = content.authority!
        let domains = [Domain.roles] + authority.knownAccounts.sorted().map(Domain.slice)
        var enactment = Enactment()
        enactment.rebuilds = domains.map { .init(domain: $0, base: authority.base(of: $0)) }
        let bases = enactment.rebuilds.compactMap(\.base)
        let limit = try context.file.attachmentLimit()
        guard bases.count <= limit else {
            throw UbiquitousStoreError(
                .unsupported,
                "The content has \(bases.count) bases, and SQLite reads \(limit) together: open the store at another path, which reads all.",
                path: context.layout.directory)
        }
        var headers: [BaselineID: BaselineHeader] = [:]
        for base in bases {
            guard let header = try header(of: base, content.state) else {
                throw UbiquitousStoreError(
                    .contentIncomplete,
                    "The content lacks the baseline \(base.name) of \(base.peer), which a statement names. The store is as it was.",
                    path: context.layout.directory)
            }
            headers[base] = header
        }
        try save(authority, enactment, headers, &content)
    }

    /// Lists faulty files, and forgets those that are whole or gone.
    private func report(_ listing: ScopeDirectory.Listing) throws {
        let faults =
            listing.faults.map { file, fault in QuarantinedLog(statement: file, fault, since: context.now()) }
            + listing.unreadable.map { file, error in
                QuarantinedLog(
                    peer: file.removingLastComponent().string, file: file.lastComponent?.string ?? "", kind: .unreadable,
                    reason: "it cannot be read (\(error))", since: context.now())
            }
        try context.quarantine(faults)
        let listed = Set(faults.map { [$0.peer, $0.file] })
        func isGone(_ entry: QuarantinedLog) -> Bool {
            let isStatement = entry.peer == ScopeDirectory.authorityName || entry.peer.hasPrefix("\(ScopeDirectory.accountsName)/")
            return isStatement && !listed.contains([entry.peer, entry.file])
        }
        let gone = try context.file.pool.read { db in try QuarantinedLog.list(db).filter(isGone) }
        if !gone.isEmpty { try context.file.pool.write { db in for entry in gone { try entry.remove(db) } } }
    }

    // MARK: Rights

    /// Writes the rights into the store file if they differ, as after a sign-in or sign-out.
    private func enforce(_ authority: Authority, _ state: StoreState) throws {
        let rights = rights(by: authority, state)
        let isCurrent = try context.file.pool.read { db in
            try AuthorityRow.read(db) == rights && ScopeState.read(db).certificate == certificate(by: authority, state)
                && ScopeState.read(db).policy == authority.policy?.id
        }
        if !isCurrent { try context.file.pool.write { db in try write(rights, authority, state, db) } }
        tell(rights)
    }

    private func write(_ rights: WriteRights, _ authority: Authority, _ state: StoreState, _ db: Database) throws {
        try AuthorityRow.write(rights, db)
        if let limits = authority.policy?.value.limits { try RecordLimit.set(limits.records, context.file.shapes, db) }
        var position = try ScopeState.read(db)
        (position.policy, position.certificate) = (authority.policy?.id, certificate(by: authority, state))
        try position.update(db)
    }

    private func tell(_ rights: WriteRights) { if scope.set(rights) { context.post(.didChangeRights) } }

    /// Returns the statement or enrolment that names this device and its key; nil if none does.
    private func certificate(by authority: Authority, _ state: StoreState) -> StatementIdentifier? {
        guard let (account, key) = identity(state) else { return nil }
        return authority.certificate(of: state.peer, key: key, in: account)
    }

    private func identity(_ state: StoreState) -> (AccountIdentifier, PublicKey)? {
        guard let record = try? scope.keys.record, let account = record.account.flatMap(AccountIdentifier.init),
            state.peer.account == account.description, let key = try? scope.keys.deviceKey?.publicKey
        else { return nil }
        return (account, key)
    }

    private func rights(by authority: Authority, _ state: StoreState) -> WriteRights {
        guard let (account, key) = identity(state) else { return .reading }
        guard let policy = authority.policy, let certificate = authority.certificate(of: state.peer, key: key, in: account) else {
            return WriteRights(account: account)
        }
        let rights = LogRights(container: scope.container, policy: policy.id, certificate: certificate)
        guard case .counts(let grant) = authority.verdict(on: rights, by: state.peer, sequence: state.sequence + 1, isCurated: false) else {
            return WriteRights(account: account)
        }
        // While the roles are forked, nobody can tell who holds them.
        let roles = authority.isForked || grant.roles != nil ? [] : policy.value.roles.filter { $0.value.contains(account) }.keys.map(\.self)
        return WriteRights(account: account, contributes: grant.slice == nil, roles: Set(roles))
    }
}

extension QuarantinedLog {
    fileprivate init(statement file: FilePath, _ fault: LogFault, since: Date) {
        let kind: Kind = if case .newer = fault { .newer } else { .damaged }
        self.init(
            peer: file.removingLastComponent().string, file: file.lastComponent?.string ?? "", kind: kind, reason: fault.description, since: since)
    }
}
