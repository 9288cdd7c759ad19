internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Takes in what has been fetched of a public place, and says which files are needed to go on.
///
/// A reader without a state fills its tables from snapshots. Then it takes in the bundles behind it, range by range. A
/// crash repeats a range, which changes nothing, or begins to fill the tables again.
struct PlaceReader {
    let keeper: ScopeKeeper
    let place: PlaceContext

    /// Returns nil for a store that reads no place.
    init?(keeper: ScopeKeeper) {
        guard let place = keeper.scope.place else { return nil }
        (self.keeper, self.place) = (keeper, place)
    }

    private var context: ExchangeContext { keeper.context }
    private var mirror: PlaceFiles { place.mirror }
    private var shapes: [TableShape] { context.file.shapes.filter { $0.access != nil } }

    /// Why a place is not read further.
    private struct Fault: Error {
        var reason: String
    }

    /// Reads as far as the mirror goes.
    ///
    /// What is wrong with the place is kept for the status, and changes nothing.
    ///
    /// - Parameter content: the known content.
    /// - Throws: GRDB's errors, and errors of this device's own disk.
    func read(_ content: inout KnownContent) throws {
        do {
            let needs = try advance(&content)
            place.set(needs: needs, fault: nil, isRead: needs.isEmpty && content.takenHead != nil)
        } catch let fault as Fault {
            report(fault.reason)
        } catch let fault as LogFault {
            report("\(fault)")
        }
    }

    private func report(_ reason: String) {
        if place.fault != reason { context.log.fault("the public place is not read further: \(reason)") }
        place.set(needs: [], fault: reason, isRead: false)
    }

    private func advance(_ content: inout KnownContent) throws -> [PlaceContext.Need] {
        guard let bytes = try newestHead(), content.takenHead?.hash != (try Envelope(decoding: bytes)).hash else { return [] }
        let head = try Signed<PublishedHead>(decoding: bytes, in: keeper.scope.container)
        let saved = try context.file.pool.read { db in try PlaceState.read(db) }
        try checkOrder(head, saved)
        try checkContent(head.value, content)
        let authority = head.value.authority
        let need = PlaceContext.Need(path: .authority(authority.written, authority.file.hash), file: authority.file)
        guard mirror.has(need.path, need.file) else { return [need] }
        let decisions = try statements(in: need.path, need.file)
        try checkPublisher(head, decisions, content)
        var state: PlaceState
        if let next = continued(saved, with: head) {
            try save(next, unless: saved)
            state = next
        } else {
            let missing = snapshots(of: head.value).flatMap(\.needs).filter { !mirror.has($0.path, $0.file) }
            guard missing.isEmpty else { return missing }
            state = PlaceState(
                head: head.value.number, id: head.id, signer: head.signer, publisher: head.value.publisher, expires: Self.date(head.value.expires))
            if let saved, saved.signer == head.signer { state.fresh = saved.fresh }
            try save(state, unless: nil)
            try fill(head.value, decisions, &content)
            state.read = head.value.snapshot
            state.tables = Set(shapes.map(\.name))
            try save(state, unless: nil)
        }
        return try catchUp(with: head, decisions, &state, &content)
    }

    /// Returns the bytes of the newest head that has been fetched; nil if none has.
    private func newestHead() throws -> [UInt8]? {
        let path = mirror.path(.newestHead)
        return try context.files.kind(of: path) == nil ? nil : context.files.read(path, limit: PublishedHead.limit)
    }

    /// Returns the state of a reader that goes on with a head; nil if it must fill its tables from snapshots.
    private func continued(_ saved: PlaceState?, with head: Signed<PublishedHead>) -> PlaceState? {
        guard var state = saved, state.signer == head.signer, let read = state.read, state.tables == Set(shapes.map(\.name)),
            head.value.cover(from: read) != nil
        else { return nil }
        state.head = head.value.number
        state.id = head.id
        state.expires = Self.date(head.value.expires)
        return state
    }

    private static func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    private func save(_ state: PlaceState, unless saved: PlaceState?) throws {
        if state != saved { try context.file.pool.write { db in try state.save(db) } }
    }

    // MARK: What a head must be

    /// Checks that a head is not from before the newest one.
    private func checkOrder(_ head: Signed<PublishedHead>, _ state: PlaceState?) throws {
        guard let state, state.signer == head.signer else { return }
        if head.value.number < state.head {
            throw Fault(reason: "its head \(head.value.number) is older than the head \(state.head) that has been read")
        }
        if head.value.number == state.head, head.id != state.id {
            throw Fault(reason: "its publisher has signed two heads of the number \(state.head)")
        }
    }

    private func checkContent(_ head: PublishedHead, _ content: KnownContent) throws {
        guard head.contentName == context.contentName else {
            throw Fault(reason: "it is a place of the content “\(head.contentName)”, and this store's is “\(context.contentName)”")
        }
        guard head.epoch == content.state.epoch else {
            throw Fault(reason: "it is a place of epoch \(head.epoch), and this store's is \(content.state.epoch)")
        }
    }

    /// Checks that the head's policy lets its signer publish.
    private func checkPublisher(_ head: Signed<PublishedHead>, _ decisions: [Told], _ content: KnownContent) throws {
        var authority = content.authority!
        _ = authority.insert(decisions.map(\.statement), baselines: [])
        while case let awaited = authority.awaitedBases, !awaited.isEmpty { _ = authority.insert([], baselines: awaited) }
        let rights = LogRights(container: keeper.scope.container, policy: head.value.policy, certificate: head.value.certificate)
        switch authority.verdict(on: rights, by: head.value.publisher, sequence: 0, isCurated: true) {
        case .counts(let grant) where grant.author.key == head.signer && grant.holds(PublishedHead.role): return
        case .counts: throw Fault(reason: "\(head.value.publisher), which signs its head, does not hold the role \(PublishedHead.role)")
        case .rejected(let reason): throw Fault(reason: "\(head.value.publisher), which signs its head, may not publish: \(reason)")
        case .waits(let needs):
            throw Fault(reason: "its head needs \(needs.map(\.description).sorted().joined(separator: ", ")), which the place does not have")
        }
    }

    // MARK: Statements

    /// A statement, with the head with which it was published first.
    private struct Told {
        var head: Int64
        var statement: StoreAuthority.Statement
        var base: PlaceContext.Need?
    }

    /// Reads the statements of a bundle, and verifies their signatures.
    private func statements(in path: PublishedPath, _ file: PublishedFile) throws -> [Told] {
        var found: [(head: Int64, bytes: [UInt8], base: PlaceContext.Need?)] = []
        var base: PlaceContext.Need?
        try bundle(path, file) { entry in
            switch entry.content {
            case .base(let id, let size): base = .init(path: .base(id.name.hash), file: PublishedFile(hash: id.name.hash, size: size))
            case .statement(let bytes):
                found.append((entry.head, Array(bytes), base))
                base = nil
            case .log, .value: break
            }
        }
        let container = keeper.scope.container
        let statements = found.mapOnAllProcessors { entry in
            Result { () throws(LogFault) in try StoreAuthority.Statement(decoding: entry.bytes, in: container) }
        }
        return try zip(found, statements).map { Told(head: $0.head, statement: try $1.get(), base: $0.base) }
    }

    /// Reads a bundle; a file that is not whole is fetched again.
    private func bundle(_ path: PublishedPath, _ file: PublishedFile, _ body: (BundleEntry) throws -> Void) throws {
        do {
            try BundleFile.read(mirror.path(path), file.hash, body)
        } catch let fault as LogFault {
            if (try? ContentHash(ofFile: mirror.path(path))) != file.hash { try? context.files.remove(mirror.path(path)) }
            throw fault
        }
    }

    // MARK: Snapshots

    /// A part of a table that a head has a snapshot of.
    private struct Part {
        var shape: TableShape
        var digit: String
        var snapshot: PublishedHead.Snapshot
        var table: String

        var needs: [PlaceContext.Need] { snapshot.paths(of: table, digit).map { .init(path: $0.key, file: $0.value) } }
        var records: PublishedPath { .snapshot(table: table, digit: digit, snapshot.written, snapshot.records.hash) }
    }

    private func snapshots(of head: PublishedHead) -> [Part] {
        var parts: [Part] = []
        for shape in shapes {
            for name in [shape.name] + shape.formerNames {
                for (digit, snapshot) in (head.tables[name]?.parts ?? [:]).sorted(by: { $0.key < $1.key }) {
                    parts.append(Part(shape: shape, digit: digit, snapshot: snapshot, table: name))
                }
            }
        }
        return parts
    }

    /// Replaces the tables' records by those of the snapshots.
    private func fill(_ head: PublishedHead, _ decisions: [Told], _ content: inout KnownContent) throws {
        try keeper.assume(decisions.filter { $0.head <= head.snapshot }.map(\.statement), &content)
        let began = ContinuousClock.now
        var filled: Set<String> = []
        for part in snapshots(of: head) {
            try fill(part, head, content)
            filled.insert(part.shape.name)
            Waypoint.placeFilling.pass()
        }
        guard !filled.isEmpty else { return }
        content.state = try context.file.pool.read { db in try StoreState.read(db) }
        context.log.transition("filled \(filled.sorted().joined(separator: ", ")) from the snapshots of head \(head.number) in \(began.elapsed)")
        context.post(.didFill(filled))
        Waypoint.placeFilled.pass()
    }

    private func fill(_ part: Part, _ head: PublishedHead, _ content: KnownContent) throws {
        let path = mirror.path(part.records)
        let reader = BaselineReader(contentName: context.contentName, epoch: content.state.epoch) { _ in path }
        let id = BaselineID(
            peer: head.publisher, name: BaselineName(sequence: part.snapshot.written, hash: part.snapshot.records.hash))
        let header: BaselineHeader
        var deaths = DeathList()
        do {
            header = try reader.header(of: id, clock: .latest)
            try reader.verify(id, header)
            if let file = part.snapshot.deaths {
                let path = mirror.path(.deaths(table: part.table, digit: part.digit, part.snapshot.written, file.hash))
                let bytes = try context.files.read(path, limit: Int(clamping: file.size))
                guard ContentHash(of: bytes) == file.hash else { throw LogFault.damaged("its bytes are not those that its name says") }
                deaths = try DeathList(decoding: bytes)
            }
        } catch let fault as LogFault {
            for need in part.needs where (try? ContentHash(ofFile: mirror.path(need.path))) != need.file.hash {
                try? context.files.remove(mirror.path(need.path))
            }
            throw Fault(reason: "the snapshot of \(part.table) is of no use: \(fault)")
        }
        if let obstacle = BaselineJoiner(shapes: context.file.shapes, sealer: context.sealer, migrations: context.file.migrations).obstacle(
            to: header)
        {
            throw Fault(reason: "the snapshot of \(part.table) needs a newer version of the app: \(obstacle)")
        }
        let rows = TablePart(part.shape, digit: part.digit, among: context.file.shapes)
        let scope = ExchangeScope(context, content.state)
        let rebuild = DomainRebuild(scope: scope, authority: content.authority!)
        try context.file.importing(attaching: [path]) { db in
            try context.sealer.seal(db)
            let local = LocalColumns([part.shape])
            try local.keep(db)
            try rows.clear(db)
            var joiner = scope.baselines.joiner
            (joiner.takesKnowledge, joiner.lives) = (false, .widest)
            joiner.gate = ImportGate(
                decision: { _ in { shape, key in rows.contains(key, in: shape) ? nil : .otherAccount } }, movesClock: { _, _ in false })
            _ = try joiner.join(header, isRebuilding: true, db)
            try ForgottenDeaths.enter(deaths, in: part.shape, db)
            _ = try rebuild.replay([rows], of: { _ in true }, db)
            try context.sealer.journal.append(whole: [part.shape], .rebuild, now: context.now(), db)
            try local.putBack(db)
            try moveClocks(over: rows, db)
        }
        try context.file.resolve(by: context.sealer)
    }

    /// Moves this store's clocks above the stamps of the records that it may change.
    private func moveClocks(over rows: TablePart, _ db: Database) throws {
        if rows.shape.isCurated {
            var position = try ScopeState.read(db)
            position.clock = max(position.clock, min(try rows.latest(of: nil, db), .latest))
            try position.update(db)
        } else {
            var state = try StoreState.read(db)
            guard let account = AccountIdentifier(state.peer.account)?.description else { return }
            state.clock = max(state.clock, min(try rows.latest(of: account, db), .latest))
            try state.update(db)
        }
    }

    // MARK: Bundles

    private func catchUp(
        with head: Signed<PublishedHead>, _ decisions: [Told], _ state: inout PlaceState, _ content: inout KnownContent
    ) throws -> [PlaceContext.Need] {
        guard let ranges = head.value.cover(from: state.read!) else { throw Fault(reason: "its head names no bundles behind its snapshots") }
        let missing = ranges.flatMap { files(of: $0, head.value) }.filter { !mirror.has($0.path, $0.file) }
        for range in ranges {
            let files = files(of: range, head.value)
            guard files.allSatisfy({ mirror.has($0.path, $0.file) }) else { return missing }
            let needs = try take(range, head.value, decisions, state, &content)
            guard needs.isEmpty else { return needs + missing }
            state.read = range.last
            if range.last == head.value.number { state.fresh = Self.date(head.value.made) }
            try save(state, unless: nil)
            for file in files { try? context.files.remove(mirror.path(file.path)) }
            Waypoint.placeTaken.pass()
        }
        if state.fresh != Self.date(head.value.made) {
            state.fresh = Self.date(head.value.made)
            try save(state, unless: nil)
        }
        content.takenHead = head.id
        for need in snapshots(of: head.value).flatMap(\.needs) { try? context.files.remove(mirror.path(need.path)) }
        return []
    }

    /// The bundles of a range that this store needs.
    private func files(of range: HeadRange, _ head: PublishedHead) -> [PlaceContext.Need] {
        var files: [PlaceContext.Need] = []
        for channel in channels {
            guard let file = head.bundles[channel]?[range] else { continue }
            files.append(PlaceContext.Need(path: .bundle(channel, range, file.hash), file: file))
        }
        return files
    }

    private var channels: [PublishedHead.Channel] {
        var channels = [PublishedHead.Channel.accounts]
        for shape in shapes { for name in [shape.name] + shape.formerNames { channels.append(.table(name)) } }
        return channels
    }

    /// Takes in the statements and logs of a range, and returns the files that are needed first.
    private func take(
        _ range: HeadRange, _ head: PublishedHead, _ decisions: [Told], _ state: PlaceState, _ content: inout KnownContent
    ) throws -> [PlaceContext.Need] {
        var told = decisions
        if let file = head.bundles[.accounts]?[range] { told += try statements(in: .bundle(.accounts, range, file.hash), file) }
        let known = content.authority!.statementHashes
        told = told.filter { $0.head <= range.last && !known.contains($0.statement.id.hash) }
        let new = told.filter { $0.head > state.read! }
        let bases = Set(new.compactMap(\.base)).filter { !mirror.has($0.path, $0.file) }
        guard bases.isEmpty else { return Array(bases) }
        let old = told.filter { $0.head <= state.read! }
        if !old.isEmpty { try keeper.assume(old.map(\.statement), &content) }
        if !new.isEmpty { try keeper.take(new.map(\.statement), &content) }
        var seen: Set<ContentHash> = []
        for channel in channels {
            guard case .table = channel, let file = head.bundles[channel]?[range] else { continue }
            let needs = try join(.bundle(channel, range, file.hash), file, after: state.read!, &seen, content)
            guard needs.isEmpty else { return needs }
        }
        return []
    }

    /// Joins the logs of a bundle that are behind a head, and returns the large values that are needed first.
    private func join(
        _ path: PublishedPath, _ file: PublishedFile, after head: Int64, _ seen: inout Set<ContentHash>, _ content: KnownContent
    ) throws -> [PlaceContext.Need] {
        let scope = ExchangeScope(context, content.state)
        let exchange = LogExchange(scope: scope)
        let reader = exchange.reader
        let proof = content.proof!
        var importer = exchange.importer(reader, proof)
        (importer.takesKnowledge, importer.lives) = (false, .widest)
        importer.values = MirroredValues(mirror: mirror, files: context.files)
        let own = try ownLogs()
        var batch = Batch()
        var needs: [PlaceContext.Need] = []
        var taken = seen
        try bundle(path, file) { entry in
            guard entry.head > head else { return }
            switch entry.content {
            case .value(let hash, let size):
                let need = PlaceContext.Need(path: .value(hash), file: PublishedFile(hash: hash, size: size))
                if !mirror.has(need.path, need.file) { needs.append(need) }
            case .log(let peer, let name, let bytes):
                // What this store has written itself, it has.
                guard needs.isEmpty, taken.insert(name.hash).inserted, peer != scope.peer || !own.contains(name) else { return }
                batch.append(try checked(bytes, name, of: peer, reader, proof))
                guard batch.isFull else { return }
                try join(batch.logs, by: importer, proof)
                batch = Batch()
            case .statement, .base: break
            }
        }
        seen = taken
        guard needs.isEmpty else { return needs }
        try join(batch.logs, by: importer, proof)
        return []
    }

    /// The logs of one transaction.
    private struct Batch {
        private(set) var logs: [ReadyLog] = []
        private var size = 0

        mutating func append(_ log: ReadyLog) {
            logs.append(log)
            size += log.size
        }

        /// Whether there are enough, and the last save is whole.
        var isFull: Bool {
            guard let last = logs.last, !last.log.header.goesOn else { return false }
            return logs.count >= ImportPlanner.batchLogs || size >= ImportPlanner.batchBytes
        }
    }

    /// Returns a log of a bundle, which this store can join.
    private func checked(
        _ bytes: ArraySlice<UInt8>, _ name: LogFileName, of peer: PeerIdentifier, _ reader: LogReader, _ proof: LogProof
    ) throws -> ReadyLog {
        let log = try reader.check(Array(bytes), name, of: peer, clock: .latest)
        if let obstacle = reader.obstacle(to: log) {
            throw Fault(reason: "the log \(name) of \(peer) needs a newer version of the app: \(obstacle)")
        }
        if case .waits(let needs) = proof.verdict(on: log, context.file.shapes) {
            let awaited = needs.map(\.description).sorted().joined(separator: ", ")
            throw Fault(reason: "the log \(name) of \(peer) needs \(awaited), which the place does not have")
        }
        return log
    }

    /// Returns the logs that this store has written.
    private func ownLogs() throws -> Set<LogFileName> {
        try context.file.pool.read { db in
            Set(try StoreKnowledge.logs(of: StoreState.read(db).peer, db) + Outbox.names(db))
        }
    }

    private func join(_ logs: [ReadyLog], by importer: LogImporter, _ proof: LogProof) throws {
        guard !logs.isEmpty else { return }
        let unproved = Set(proof.unproved(logs).map(\.name))
        let proved = logs.filter { !unproved.contains($0.name) }
        for log in logs where unproved.contains(log.name) { context.log.fault("\(log.name) of \(log.peer) in the public place: \(LogProof.fault)") }
        var rest = proved[...]
        while !rest.isEmpty {
            let outcome = try context.file.mendingDerived {
                try context.file.importing { db in try importer.join(Array(rest), isolating: true, db) }
            }
            context.post(outcome.imported)
            guard let (log, refusal) = outcome.refused else { break }
            let save = LogImporter.save(at: rest.dropFirst(outcome.joined))
            try context.quarantine([
                QuarantinedLog(
                    peer: log.peer.description, file: log.name.description, kind: .refused, reason: refusal.reason, record: refusal.record?.text,
                    since: context.now())
            ])
            rest = rest[save.endIndex...]
        }
        context.post(try context.file.resolve(by: context.sealer))
    }
}

/// Large values that have been fetched from a public place.
private struct MirroredValues: LargeValueSource {
    let mirror: PlaceFiles
    let files: any FileLayer

    func whole(_ value: LargeValue, of peers: [PeerIdentifier]) throws -> [UInt8]? {
        guard let bytes = try? files.read(mirror.path(.value(value.hash)), limit: value.length), ContentHash(of: bytes) == value.hash else {
            return nil
        }
        return bytes
    }
}
