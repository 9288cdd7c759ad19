internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// The next head of a publisher, in preparation.
struct Edition {
    let publisher: PlacePublisher
    let record: PublisherRecord
    let source: PlacePublisher.Source
    let last: Signed<PublishedHead>?

    private var number: Int64 { (last?.value.number ?? 0) + 1 }
    private var place: PlaceFiles { publisher.place }
    private var layout: ContentLayout { publisher.layout }
    private var files: any FileLayer { publisher.directory.files }
    private var epoch: Int64 { source.state.epoch }
    private var milliseconds: Int64 { Int64(publisher.now().timeIntervalSince1970 * 1000) }

    /// The entries of the head's bundles.
    private var entries: [PublishedHead.Channel: [BundleEntry]] = [:]
    /// The logs that are published with this head.
    private var logs: [(peer: PeerIdentifier, name: LogFileName)] = []
    /// The statements that are published with this head.
    private var statements: [ContentHash] = []
    /// The bases that have changed, by account; empty for the roles.
    private var bases: [String: BaselineID?] = [:]
    /// The accounts whose records are gone with this head because the admission was closed, or are back.
    private var shut: [String: Bool] = [:]
    /// Whether a log is gone from the content, so that only a snapshot has its effect.
    private var isIncomplete = false
    /// Whether nothing is published yet, so that the snapshots hold everything.
    private let isFirst: Bool

    init(publisher: PlacePublisher, record: PublisherRecord, source: PlacePublisher.Source, last: Signed<PublishedHead>?) throws {
        (self.publisher, self.record, self.source, self.last) = (publisher, record, source, last)
        isFirst = try record.read { db in try !Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM head)")! }
    }

    mutating func publish() throws -> PublishedEdition {
        try collect()
        if let last, !isNews(after: last.value) { return PublishedEdition(last.value) }
        var head = PublishedHead(
            number: number, predecessor: last?.id, publisher: source.state.peer, certificate: source.certificate, policy: source.policy.id,
            contentName: publisher.contentName, epoch: epoch, made: milliseconds,
            expires: milliseconds + Int64(publisher.options.lifetime / .milliseconds(1)), authority: try authority())
        let isBeginning = isFirst || isIncomplete
        if isBeginning { entries = [:] }
        let snapshots = try snapshots(&head, isBeginning: isBeginning)
        head.floor = isBeginning ? number : try floor(head)
        try bundle()
        Waypoint.placeBundled.pass()
        let ranges = head.ranges
        head.bundles = try record.read { db in
            try PublisherRecord.channels(db).reduce(into: [:]) { found, channel in
                let files = try PublisherRecord.bundles(channel, of: ranges, db)
                found[channel] = files.isEmpty ? nil : files
            }
        }
        try enter(head)
        try place(head)
        if head.floor > last?.value.floor ?? 0 || head.floor == number { PlaceCleaner(publisher: publisher).removeOld(keeping: head) }
        var edition = PublishedEdition(head)
        (edition.isNew, edition.logs, edition.statements, edition.snapshots) = (true, logs.count, statements.count, snapshots)
        return edition
    }

    /// Returns whether anything is to be published: changes, or the time.
    private func isNews(after last: PublishedHead) -> Bool {
        if !logs.isEmpty || !statements.isEmpty || !bases.isEmpty || !shut.isEmpty { return true }
        if last.policy != source.policy.id || last.certificate != source.certificate || last.epoch != epoch { return true }
        // A head is renewed in the second half of its time.
        if milliseconds > last.made + (last.expires - last.made) / 2 { return true }
        return last.snapshot < last.number && isOld(last)
    }

    // MARK: What is new

    private mutating func collect() throws {
        let authority = source.authority
        let known = try record.read { db in try PublisherRecord.statements(db) }
        let byAccount = authority.accountStatements
        let pinned = Set(authority.acceptedPolicies.flatMap(\.value.pins.keys))
        statements = authority.acceptedPolicies.map(\.id.hash).filter { known[$0] == nil }
        var told: Set<AccountIdentifier> = []
        for (account, all) in byAccount {
            let new = all.map(\.id.hash).filter { known[$0] == nil }
            if !new.isEmpty { told.insert(account) }
            statements += new
        }
        statements.sort()
        try collectLogs()
        try collectBases(told)
        try collectShut()
        for (peer, _) in logs { if let account = AccountIdentifier(peer.account) { told.insert(account) } }
        let heads = known.merging(statements.map { ($0, number) }) { first, _ in first }
        // The statements of the accounts with roles are in the file of policies.
        for account in told.subtracting(pinned).sorted() { entries[.accounts, default: []] += try self.entries(byAccount[account] ?? [], heads) }
        // Without a new statement, the file of policies stays as it is.
        guard last == nil || !statements.isEmpty else { return }
        let policies = authority.acceptedPolicies.sorted { $0.value.version < $1.value.version }
        pinnedEntries = try entries(policies.map { StoreAuthority.Statement.policy($0) }, heads)
        for account in pinned.sorted() { pinnedEntries += try entries(byAccount[account] ?? [], heads) }
    }

    /// The entries of the file of policies; empty if that stays as it is.
    private var pinnedEntries: [BundleEntry] = []

    /// Returns statements with the bases that they name.
    private func entries(_ statements: [StoreAuthority.Statement], _ heads: [ContentHash: Int64]) throws -> [BundleEntry] {
        try statements.flatMap { statement -> [BundleEntry] in
            guard let head = heads[statement.id.hash], let path = statement.path else { return [] }
            let bytes: [UInt8]
            do {
                bytes = try files.read(publisher.directory.path.pushing(path), limit: Envelope.limit)
            } catch {
                throw UbiquitousStoreError(
                    .contentIncomplete, "The container lacks the statement \(path), which is in effect; put it back.",
                    path: publisher.directory.path.pushing(path), cause: error)
            }
            let entry = BundleEntry(head: head, .statement(bytes[...]))
            guard let base = statement.base else { return [entry] }
            // A base that is gone was replaced by a later one.
            guard let file = try? copy(layout.baseline(base, epoch: epoch), to: .base(base.name.hash)) else { return [entry] }
            return [BundleEntry(head: head, .base(base, size: file)), entry]
        }
    }

    private mutating func collectLogs() throws {
        let known = try record.read { db in try PublisherRecord.counts(db) }
        let changed = source.counts.filter { known[$0.key] != $0.value }.keys
        // Numbers can be equal although one log has gone and another has come. So they are not relied on each time.
        let isThorough = last.map { isOld($0.value) && (!changed.isEmpty || $0.value.snapshot < $0.value.number) } ?? true
        let peers = (isThorough ? Array(source.counts.keys) : Array(changed)).compactMap { PeerIdentifier($0) }.sorted()
        var found: [(peer: PeerIdentifier, name: LogFileName)] = []
        for peer in peers {
            for name in try newLogs(of: peer, since: isThorough ? nil : known[peer.description]) { found.append((peer, name)) }
        }
        if !found.isEmpty { try take(found) }
    }

    /// Returns the logs of a peer that are not published.
    ///
    /// If it is known how many are, they are those behind the last one that is, unless the number of all is another.
    private func newLogs(of peer: PeerIdentifier, since published: PublisherRecord.Count?) throws -> [LogFileName] {
        if let published {
            let later = try source.moment.read { db in try StoreKnowledge.logs(of: peer, after: published.last, db) }
            if published.logs + Int64(later.count) == source.counts[peer.description]?.logs { return later }
        }
        let known = try record.read { db in try PublisherRecord.logs(of: peer, db) }
        return try source.moment.read { db in try StoreKnowledge.logs(of: peer, db) }.filter { !known.contains($0) }
    }

    /// Adds logs to the bundles of the tables that they change.
    private mutating func take(_ names: [(peer: PeerIdentifier, name: LogFileName)]) throws {
        var read: [(ReadyLog, bytes: [UInt8])] = []
        let reader = LogReader(
            layout: layout, contentName: publisher.contentName, epoch: epoch, shapes: publisher.shapes, files: files,
            container: publisher.directory.container)
        for (peer, name) in names {
            logs.append((peer, name))
            if isFirst { continue }
            do {
                let file = layout.logs(of: peer, epoch: epoch).appending(name.description)
                let bytes = try files.read(file, limit: BundleEntry.limit - 4096)
                read.append((try reader.check(bytes, name, of: peer, clock: .latest), bytes))
            } catch is LogFault {
                isIncomplete = true
            } catch Errno.noSuchFileOrDirectory, Errno.fileTooLarge {
                isIncomplete = true
            }
        }
        // Stamps follow causes, so a log comes behind those that its author had joined.
        var latest: [PeerIdentifier: HybridTime] = [:]
        let timed = read.map { log -> (log: ReadyLog, bytes: [UInt8], time: HybridTime) in
            let time = max(log.0.time, latest[log.0.peer] ?? .least)
            latest[log.0.peer] = time
            return (log.0, log.bytes, time)
        }
        for (log, bytes, _) in timed.sorted(by: { ($0.time, $0.log.peer, $0.log.name) < ($1.time, $1.log.peer, $1.log.name) }) {
            let tables = Set(log.contents.groups.flatMap { group in group.rows.map { log.contents.tables[$0.table].name } })
            var entry = [BundleEntry(head: number, .log(log.peer, log.name, bytes[...]))]
            for (value, peers) in log.values.sorted(by: { $0.key.hash < $1.key.hash }) {
                guard let size = try copy(value, of: peers) else {
                    isIncomplete = true
                    continue
                }
                entry.insert(BundleEntry(head: number, .value(value.hash, size: size)), at: 0)
            }
            for table in tables { entries[.table(table), default: []] += entry }
        }
    }

    /// Copies a large value to the place, and returns its size; nil if it is not here whole.
    private func copy(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> Int64? {
        for peer in peers {
            let file = layout.values(of: peer, epoch: epoch).appending(value.hash.description)
            guard let hash = try? ContentHash(ofFile: file), hash == value.hash else { continue }
            return try copy(file, to: .value(value.hash))
        }
        return nil
    }

    private func copy(_ file: FilePath, to path: PublishedPath) throws -> Int64 {
        let size = try files.size(of: file)
        guard !place.has(path, PublishedFile(hash: ContentHash(of: []), size: size)) else {
            // It is needed as long as the bundle that names it now.
            try? FileManager.default.setAttributes([.modificationDate: publisher.now()], ofItemAtPath: place.path(path).string)
            return size
        }
        let draft = try place.draft()
        try FileManager.default.copyItem(atPath: file.string, toPath: draft.string)
        try place.place(draft, at: path)
        return size
    }

    /// Publishes the logs of a domain again that a new base does not hold, because readers build the domain from the base
    /// alone.
    private mutating func collectBases(_ accounts: Set<AccountIdentifier>) throws {
        let authority = source.authority
        let domains = [Domain.roles] + accounts.sorted().map(Domain.slice)
        for domain in domains {
            let name = if case .slice(let account) = domain { account.description } else { "" }
            let base = authority.base(of: domain)
            guard try record.read({ db in try PublisherRecord.base(of: name, db) }) != base?.name.description else { continue }
            bases[name] = base
            guard let base, !isFirst else { continue }
            let reader = BaselineReader(layout: layout, contentName: publisher.contentName, epoch: epoch)
            let header = try reader.header(of: base, clock: .latest)
            let joined = try source.moment.read { db in
                try StoreKnowledge.peers(db).all.map(\.peer).filter { peer in
                    guard let account = AccountIdentifier(peer.account) else { return false }
                    if case .slice(let owner) = domain { return owner == account }
                    return authority.mayHaveHeldRoles(account)
                }.flatMap { peer in try StoreKnowledge.logs(of: peer, db).map { (peer: peer, position: $0.position) } }
            }
            let new = Set(logs.map { PeerLog(peer: $0.peer, name: $0.name) })
            let again = try reader.lacking(joined, base, header).map { PeerLog(peer: $0.peer, name: LogFileName($0.position)) }
            try take(again.filter { !new.contains($0) }.map { ($0.peer, $0.name) })
        }
    }

    /// Finds out which accounts are shut out, or admitted again.
    ///
    /// A reader that began with snapshots does not know the accounts whose records it has, and the logs of one that is
    /// admitted again are in bundles of long ago. So readers begin with new snapshots.
    private mutating func collectShut() throws {
        let former = try record.read { db in try PublisherRecord.shutAccounts(db) }
        let present = Set(source.authority.shutAccounts.map(\.description))
        for account in present.subtracting(former) { shut[account] = true }
        for account in former.subtracting(present) { shut[account] = false }
        if !shut.isEmpty { isIncomplete = true }
    }

    private struct PeerLog: Hashable {
        var peer: PeerIdentifier
        var name: LogFileName
    }

    // MARK: Writing

    private func authority() throws -> PublishedHead.Authority {
        if pinnedEntries.isEmpty, let last { return last.value.authority }
        var writer = try BundleWriter(try place.draft())
        for entry in pinnedEntries { try writer.append(entry) }
        let file = try writer.finish()
        if let last = last?.value.authority, last.file == file {
            try files.remove(writer.draft)
            return last
        }
        try place.place(writer.draft, at: .authority(number, file.hash))
        return PublishedHead.Authority(written: number, file: file)
    }

    /// Writes the bundles of the ranges that end with the head.
    private func bundle() throws {
        let ranges = HeadRange.ending(at: number)
        let channels = try record.read { db in try PublisherRecord.channels(db) }.union(entries.keys)
        for channel in channels.sorted() {
            var present = try record.read { db in try PublisherRecord.bundles(channel, of: ranges.flatMap(\.parts), db) }
            for range in ranges {
                var writer = try BundleWriter(try place.draft())
                if range.level == 0 {
                    for entry in entries[channel] ?? [] { try writer.append(entry) }
                } else {
                    for part in range.parts {
                        guard let file = present[part] else { continue }
                        let path = place.path(.bundle(channel, part, file.hash))
                        // What is behind the floor, no reader needs any more.
                        guard part.last > last?.value.floor ?? 0 || place.has(.bundle(channel, part, file.hash), file) else { continue }
                        try writer.append(path)
                    }
                }
                let file = try writer.finish()
                guard file.size > 0 else {
                    try files.remove(writer.draft)
                    continue
                }
                try place.place(writer.draft, at: .bundle(channel, range, file.hash))
                try record.write { db in try PublisherRecord.enter(file, channel, range, db) }
                present[range] = file
            }
        }
    }

    private func enter(_ head: PublishedHead) throws {
        let draft = head.draft(by: source.key.publicKey)
        try record.write { db in
            for statement in statements { try PublisherRecord.enter(statement, head: number, db) }
            for (peer, name) in logs { try PublisherRecord.enter(name, of: peer, head: number, db) }
            for (account, base) in bases { try PublisherRecord.enter(base: base?.name.description, of: account, head: number, db) }
            for (account, isShut) in shut { try PublisherRecord.enter(shut: isShut, account, head: number, db) }
            try db.execute(sql: "INSERT INTO head VALUES (?,?,?)", arguments: [number, Data(draft.hash.bytes), head.made])
        }
        Waypoint.placeEntered.pass()
    }

    private func place(_ head: PublishedHead) throws {
        let draft = head.draft(by: source.key.publicKey)
        let bytes = draft.signed(with: source.key, in: publisher.directory.container)
        guard bytes.count <= PublishedHead.limit else {
            throw UbiquitousStoreError(.unsupported, "The head would have \(bytes.count) bytes, more than readers take.", path: place.root)
        }
        for path in [PublishedPath.head(number, StatementIdentifier(draft.hash)), .newestHead] {
            let file = try place.draft()
            try files.writeNew(file, bytes)
            try place.place(file, at: path, isReplacing: path == .newestHead)
            Waypoint.placeHeadWritten.pass()
        }
    }

    // MARK: Snapshots

    /// Writes the snapshots that are due, and returns the tables of which there are new ones.
    private func snapshots(_ head: inout PublishedHead, isBeginning: Bool) throws -> Set<String> {
        if let last = last?.value { (head.snapshot, head.tables) = (last.snapshot, last.tables) }
        guard try isBeginning || areDue(head) else { return [] }
        let after = isBeginning ? 0 : head.snapshot
        let (bundled, authors, based) = try record.read { db in
            let channels = try PublisherRecord.channels(db).filter { try PublisherRecord.bundled($0, after: after, db).heads > 0 }
            let peers = try String.fetchAll(db, sql: "SELECT DISTINCT peer FROM log WHERE head > ?", arguments: [after])
            let accounts = try String.fetchAll(db, sql: "SELECT DISTINCT account FROM base WHERE head > ?", arguments: [after])
            return (channels, Set(peers.map { String($0.prefix(1)) }), Set(accounts))
        }
        let touched = bundled.union(entries.keys)
        let digits = authors.union(logs.map { String($0.peer.account.prefix(1)) }).union(based.union(bases.keys).map { String($0.prefix(1)) })
        /// Whether a table in one part may have changed.
        func isTouched(_ shape: TableShape) -> Bool {
            if !bases.isEmpty || !based.isEmpty { return true }
            return touched.contains(.table(shape.name)) || shape.formerNames.contains { touched.contains(.table($0)) }
        }
        let writer = SnapshotWriter(publisher: publisher, moment: source.moment, number: number)
        var written: Set<String> = []
        for shape in publisher.shapes where shape.access != nil {
            var table = PublishedHead.Table()
            table.records = try source.moment.read { db in
                try Int64.fetchOne(db, sql: "SELECT count(*) FROM main.\(shape.clockTable)")!
            }
            let isSplit = shape.ownerPlace != nil && table.records > publisher.options.recordsInOnePart
            let former = head.tables[shape.name]
            for digit in isSplit ? Base32.allDigits : [""] {
                if !isBeginning, !(isSplit ? digits.contains(digit) : isTouched(shape)), let part = former?.parts[digit] {
                    table.parts[digit] = part
                    continue
                }
                table.parts[digit] = try writer.write(TablePart(shape, digit: digit, among: publisher.shapes))
                written.insert(shape.name)
            }
            head.tables[shape.name] = table
        }
        head.snapshot = number
        return written
    }

    private func areDue(_ head: PublishedHead) throws -> Bool {
        if head.snapshot == 0 { return true }
        if isOld(head) { return true }
        let bundled = try record.read { db in
            try PublisherRecord.channels(db).subtracting([.accounts]).reduce(0) { size, channel in
                size + (try PublisherRecord.bundled(channel, after: head.snapshot, db).size)
            }
        }
        let new = entries.filter { $0.key != .accounts }.values.joined().reduce(Int64(0)) { size, entry in
            if case .log(_, _, let bytes) = entry.content { size + Int64(bytes.count) } else { size }
        }
        let held = head.tables.values.flatMap(\.parts.values).reduce(0) { $0 + $1.records.size }
        return bundled + new > max(publisher.options.leastBundledSize, held / 2)
    }

    /// Returns whether the snapshots are too old for a place that forgets.
    private func isOld(_ head: PublishedHead) -> Bool {
        let made = try? record.read { db in try Int64.fetchOne(db, sql: "SELECT made FROM head WHERE number = ?", arguments: [head.snapshot]) }
        guard let made else { return true }
        return milliseconds - made >= Int64(publisher.options.snapshotAge / .milliseconds(1))
    }

    // MARK: What is old

    /// Returns the last head that no reader needs a bundle of.
    private func floor(_ head: PublishedHead) throws -> Int64 {
        let limit = milliseconds - Int64(publisher.options.retention / .milliseconds(1))
        let old = try record.read { db in try Int64.fetchOne(db, sql: "SELECT max(number) FROM head WHERE made < ?", arguments: [limit]) }
        return max(last?.value.floor ?? 0, min(old ?? 0, head.snapshot))
    }
}

extension StoreAuthority.Statement {
    /// The base that the statement names.
    fileprivate var base: BaselineID? {
        switch self {
        case .policy(let signed): signed.value.base
        case .account(let signed): signed.value.base
        case .enrolment, .admittance, .warrant: nil
        }
    }
}
