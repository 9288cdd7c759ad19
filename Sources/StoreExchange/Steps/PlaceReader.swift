internal import Foundation
internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import TreeWatching
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
    private var filling: PlaceFilling { PlaceFilling(context: context, mirror: mirror) }
    private var joining: PlaceJoining { PlaceJoining(context: context, mirror: mirror) }
    private var shapes: [TableShape] { context.file.shapes.filter { $0.access != nil } }

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
        } catch let fault as PlaceFault {
            report(fault.reason)
        } catch let fault as LogFault {
            report("\(fault)")
        }
    }

    private func report(_ reason: String) {
        if place.fault != reason { context.log.fault("the public place is not read further: \(reason)", [.event: "placeFault", .error: reason]) }
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
            let missing = filling.parts(of: head.value).flatMap(\.needs).filter { !mirror.has($0.path, $0.file) }
            guard missing.isEmpty else { return missing }
            state = PlaceState(
                head: head.value.number, id: head.id, signer: head.signer, publisher: head.value.publisher, expires: Self.date(head.value.expires))
            if let saved, saved.signer == head.signer { state.fresh = saved.fresh }
            try save(state, unless: nil)
            try keeper.assume(decisions.filter { $0.head <= head.value.snapshot }.map(\.statement), &content)
            try filling.fill(head.value, &content)
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
            throw PlaceFault(reason: "its head \(head.value.number) is older than the head \(state.head) that has been read")
        }
        if head.value.number == state.head, head.id != state.id {
            throw PlaceFault(reason: "its publisher has signed two heads of the number \(state.head)")
        }
    }

    private func checkContent(_ head: PublishedHead, _ content: KnownContent) throws {
        guard head.contentName == context.contentName else {
            throw PlaceFault(reason: "it is a place of the content “\(head.contentName)”, and this store's is “\(context.contentName)”")
        }
        guard head.epoch == content.state.epoch else {
            throw PlaceFault(reason: "it is a place of epoch \(head.epoch), and this store's is \(content.state.epoch)")
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
        case .counts: throw PlaceFault(reason: "\(head.value.publisher), which signs its head, does not hold the role \(PublishedHead.role)")
        case .rejected(let reason): throw PlaceFault(reason: "\(head.value.publisher), which signs its head, may not publish: \(reason)")
        case .waits(let needs):
            throw PlaceFault(reason: "its head needs \(needs.map(\.description).sorted().joined(separator: ", ")), which the place does not have")
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
        try mirror.read(path, file, by: context.files) { entry in
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

    // MARK: Bundles

    private func catchUp(
        with head: Signed<PublishedHead>, _ decisions: [Told], _ state: inout PlaceState, _ content: inout KnownContent
    ) throws -> [PlaceContext.Need] {
        guard let ranges = head.value.cover(from: state.read!) else { throw PlaceFault(reason: "its head names no bundles behind its snapshots") }
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
        cleanMirror(keeping: head.value, content)
        return []
    }

    /// Removes what has been taken in, except the bases from which a domain can be built again.
    private func cleanMirror(keeping head: PublishedHead, _ content: KnownContent) {
        for need in filling.parts(of: head).flatMap(\.needs) { try? context.files.remove(mirror.path(need.path)) }
        let authority = content.authority!
        let bases = [Domain.roles] + authority.knownAccounts.map(Domain.slice)
        var kept = Set(bases.compactMap { authority.base(of: $0).map { PublishedPath.base($0.name.hash) } })
        kept.insert(.authority(head.authority.written, head.authority.file.hash))
        let names = Set(kept.map { mirror.path($0) })
        for folder in ["authority", "bases", "values"] {
            let directory = mirror.root.appending(folder)
            for name in (try? context.files.directoryNames(in: directory) ?? []) ?? [] where !names.contains(directory.appending(name)) {
                try? context.files.remove(directory.appending(name))
            }
        }
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
            let needs = try joining.join(.bundle(channel, range, file.hash), file, after: state.read!, &seen, content)
            guard needs.isEmpty else { return needs }
        }
        return []
    }
}
