internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Sets aside the saves of this device that new statements reject, in the transaction that saves the statements, before
/// the records are built again.
///
/// These are changes that counted, or could count, until now: in logs in the container that no new base holds, and in
/// sealed logs. Of the sealed logs they are removed, because they can never count.
///
/// The entry is durable before the transaction ends. After a crash in between, the same statements continue the same entry.
struct RejectedSaves {
    let scope: ExchangeScope
    /// What was in effect until now.
    let former: Authority
    let authority: Authority
    /// The domains that are built again, with their new bases.
    let rebuilds: [Enactment.Rebuild]
    let headers: [BaselineID: BaselineHeader]

    private var layout: ContentLayout { scope.layout }
    private var files: any FileLayer { scope.files }

    /// Writes the entry.
    ///
    /// - Parameter db: the store in an import's transaction, in which all changes are sealed.
    /// - Returns: the entry; nil if no save is rejected.
    /// - Throws: `UbiquitousStoreError` if the entry cannot be written; GRDB's errors.
    func setAside(_ db: Database) throws -> KeptEntry? {
        let kept = scope.context.container!.home.kept
        do {
            return try write(to: kept, db)
        } catch let error as Errno {
            throw UbiquitousStoreError(
                .fileSystem,
                "A statement takes away the right to saves of this device, which cannot be set aside in \(kept): check owner, mode and free space there. Until then, the store stays unchanged.",
                path: kept, cause: error)
        }
    }

    /// A log with a rejected change.
    private struct Rejected {
        var name: LogFileName
        var log: LogFile
        var changes: LogBody.Contents
        var rest: LogBody.Contents
    }

    private func write(to kept: FilePath, _ db: Database) throws -> KeptEntry? {
        let state = try StoreState.read(db)
        guard let account = AccountIdentifier(state.peer.account) else { return nil }
        let domains = rebuilds.map { (rows: DomainRows($0.domain, scope.file.shapes), base: $0.base) }.filter { domain in
            switch domain.rows.domain {
            // Nobody else has ever changed a curated table with effect.
            case .roles: former.policy?.value.pins[account] != nil
            case .slice(let owner): owner == account
            }
        }
        guard !domains.isEmpty else { return nil }
        let (published, missing) = try published(state, domains, db)
        let (placed, sealed) = try sealed(state, domains, db)
        let rejected = published + placed + sealed
        guard !rejected.isEmpty else { return nil }
        var entry = KeptEntry(
            rejected: state, by: [authority.policy?.id.hash, authority.statement(of: account)?.id.hash].compactMap(\.self),
            schema: scope.context.sealer.schemaVersion, store: scope.file.path.string, time: scope.context.now())
        entry.missing = missing
        entry.tables = Set(rejected.flatMap { $0.changes.tableNames }).sorted()
        let draft = KeptDraft(kept: kept, id: entry.id, files: files)
        try draft.begin()
        var there = try draft.logs()
        for one in rejected {
            // It is a log of no container: only the rejected changes are in it, so the author's signature does not fit.
            var header = one.log.header
            (header.rights, header.changes) = (nil, one.changes.changes)
            let bytes = LogFile.encode(header, body: one.changes.encoded())
            let name = LogFileName(sequence: header.sequence, hash: ContentHash(of: bytes))
            if there.insert(name).inserted { try draft.add(bytes, as: name) }
        }
        let reader = LargeValueReader(layout: layout, epoch: state.epoch, files: files)
        try draft.finish(&entry, holding: there) { value, peers in try LargeValues.bytes(value.hash, db) ?? reader.whole(value, of: peers) }
        try withdraw(sealed, db)
        return entry
    }

    /// Returns the rejected changes in the logs that are in the container, and the number of logs that have gone from
    /// there.
    private func published(
        _ state: StoreState, _ domains: [(rows: DomainRows, base: BaselineID?)], _ db: Database
    ) throws -> (rejected: [Rejected], missing: Int) {
        let names = try StoreKnowledge.logs(of: state.peer, db)
        var held: [BaselineID: Set<LogFileName>] = [:]
        for base in Set(domains.compactMap(\.base)) {
            let lacking = try scope.baselines.reader.lacking(names.map { (state.peer, $0.position) }, base, headers[base]!)
            held[base] = Set(names).subtracting(lacking.map { LogFileName($0.position) })
        }
        let reader = LogExchange(scope: scope).reader
        var (rejected, missing): ([Rejected], Int) = ([], 0)
        for name in names {
            let lacking = domains.filter { domain in domain.base.map { !held[$0]!.contains(name) } ?? true }.map(\.rows)
            guard !lacking.isEmpty else { continue }
            do {
                let log = try reader.read(name, of: state.peer, clock: .latest)
                if let found = try self.rejected(name, log.log, lacking) { rejected.append(found) }
            } catch is LogFault {
                missing += 1
            } catch Errno.noSuchFileOrDirectory {
                missing += 1
            }
        }
        return (rejected, missing)
    }

    /// Returns the rejected changes in the sealed logs: those up to the last one that a crash has left in the container
    /// too, and the others.
    private func sealed(
        _ state: StoreState, _ domains: [(rows: DomainRows, base: BaselineID?)], _ db: Database
    ) throws -> (placed: [Rejected], sealed: [Rejected]) {
        let directory = layout.logs(of: state.peer, epoch: state.epoch)
        let names = try Outbox.names(db)
        let placed = try names.lastIndex { try files.kind(of: directory.appending($0.description)) != nil }.map { $0 + 1 } ?? 0
        func rejected(_ names: some Sequence<LogFileName>) throws -> [Rejected] {
            try names.compactMap { try self.rejected($0, try Outbox.log($0.sequence, db).log, domains.map(\.rows)) }
        }
        return (try rejected(names[..<placed]), try rejected(names[placed...]))
    }

    /// Returns the changes of a log that counted until now, or could, and never do from now on; nil for none.
    private func rejected(_ name: LogFileName, _ log: LogFile, _ domains: [DomainRows]) throws -> Rejected? {
        guard let rights = log.header.rights else { return nil }
        let before = LogProof.Ruling(former, on: rights, by: log.header.peer)
        let now = LogProof.Ruling(authority, on: rights, by: log.header.peer)
        let isOlder = LogTableMapping.isOlder(log.header.schema, than: scope.file.migrations)
        let (changes, rest) = try LogBody.decode(log).split { _, table, key in
            guard case .mapped(let mapping) = LogTableMapping.find(table, isOlder: isOlder, among: scope.file.shapes) else { return false }
            let shape = mapping.shape
            return domains.contains { $0.contains(key, in: shape) } && now.isRejected(shape, key) && !before.isRejected(shape, key)
        }
        return changes.isEmpty ? nil : Rejected(name: name, log: log, changes: changes, rest: rest)
    }

    /// Removes rejected changes from the sealed logs, with the large values that only they name.
    private func withdraw(_ rejected: [Rejected], _ db: Database) throws {
        guard !rejected.isEmpty else { return }
        var values: Set<ContentHash> = []
        for one in rejected { values.formUnion(try one.log.largeValues.keys.map(\.hash)) }
        try Outbox.replace(Dictionary(uniqueKeysWithValues: rejected.map { ($0.name, $0.rest) }), db)
        for name in try Outbox.names(db) where !values.isEmpty {
            values.subtract(try Outbox.log(name.sequence, db).log.largeValues.keys.map(\.hash))
        }
        try LargeValues.remove(values, db)
    }
}

extension LogBody.Contents {
    /// The names of the tables with changes.
    fileprivate var tableNames: [String] {
        groups.flatMap { group in group.rows.map { tables[$0.table].name } + group.same.map { tables[$0.table].name } }
    }
}
