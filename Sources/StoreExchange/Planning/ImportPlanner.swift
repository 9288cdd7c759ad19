internal import GRDB
internal import StoreAuthority
internal import StoreFormat
internal import StoreRecords
internal import SystemPackage
internal import UbiquityContainers

/// Finds the logs that can be joined now, in a valid order, and states for each other log why it waits.
///
/// A log is ready when its author's previous log on its branch has been joined, and every log that its author had
/// joined (causal delivery). If nothing is ready and no baseline helps, logs at which their author was retired are
/// passed over.
struct ImportPlanner {
    let reader: LogReader
    /// Proves signed logs; nil in a plain container.
    var rights: LogProof?

    /// The limits of one transaction, beyond its first log.
    static let batchBytes = 4 << 20
    static let batchLogs = 512

    /// Plans one transaction.
    ///
    /// - Parameters:
    ///   - inventory: the logs in the container. Planned logs are removed from it.
    ///   - isPassing: whether logs at which their author was retired may be missing.
    ///   - db: the store, in one snapshot.
    /// - Returns: the logs that can be joined, that wait, and that cannot be used.
    /// - Throws: GRDB's errors.
    func plan(_ inventory: inout ContentInventory, isPassing: Bool = false, _ db: Database) throws -> ImportPlan {
        var quarantined: [(peer: PeerIdentifier, name: LogFileName, fault: LogFault)] = []
        while true {
            var plan = try planOnce(&inventory, isPassing: isPassing, db)
            let unproved = rights?.unproved(plan.ready) ?? []
            quarantined += plan.quarantined + unproved.map { ($0.peer, $0.name, LogProof.fault) }
            plan.quarantined = quarantined
            guard !unproved.isEmpty else { return plan }
            // Logs behind an unproved one are not ready without it.
            for log in plan.ready { inventory.insert(log.name, of: log.peer) }
            for log in unproved { inventory.set(.faulty, log.name, of: log.peer) }
        }
    }

    private func planOnce(_ inventory: inout ContentInventory, isPassing: Bool, _ db: Database) throws -> ImportPlan {
        let state = try StoreState.read(db)
        var planning = Planning(
            reader: reader, rights: rights, register: try LogRegister(own: state.peer, db), known: try StoreKnowledge.others(db), clock: state.clock,
            passable: isPassing ? try Retirements.passable(db) : [:])
        var isProgressing = true
        while isProgressing, !planning.plan.isFull {
            isProgressing = false
            for peer in inventory.peers where try planning.advance(peer, &inventory) { isProgressing = true }
        }
        // A retirement in these logs may let others pass.
        if planning.plan.ready.contains(where: { !$0.contents.retired.isEmpty }) { planning.plan.isFull = true }
        if !planning.plan.isFull { planning.plan.waiting = try inventory.peers.compactMap { try planning.waiting($0, inventory) } }
        return planning.plan
    }
}

/// The logs of one transaction.
struct ImportPlan {
    var ready: [ReadyLog] = []
    var waiting: [WaitingPeer] = []
    var quarantined: [(peer: PeerIdentifier, name: LogFileName, fault: LogFault)] = []
    /// Whether more logs may be ready.
    var isFull = false
    /// Whether a peer has read a log under this store's identifier that the store does not remember.
    var isForked = false
}

/// A plan in preparation.
private struct Planning {
    let reader: LogReader
    let rights: LogProof?
    let register: LogRegister
    /// The knowledge of the store, with the planned logs.
    var known: Knowledge
    /// The highest stamp seen.
    var clock: HybridTime
    /// The last log of each peer that may be missing.
    let passable: [PeerIdentifier: Int64]
    var plan = ImportPlan()
    private var planned: [PeerIdentifier: Set<Knowledge.Position>] = [:]
    private var bytes = 0

    init(
        reader: LogReader, rights: LogProof?, register: LogRegister, known: Knowledge, clock: HybridTime, passable: [PeerIdentifier: Int64]
    ) {
        self.reader = reader
        self.rights = rights
        self.register = register
        self.known = known
        self.clock = clock
        self.passable = passable
    }

    /// Plans the ready logs of one peer, and returns whether there were any.
    mutating func advance(_ peer: PeerIdentifier, _ inventory: inout ContentInventory) throws -> Bool {
        var hasAdvanced = false
        var index = 0
        // No log above the next sequence can be ready. Logs below it are on branches that were not known.
        while !plan.isFull, let name = inventory.name(of: peer, at: index), name.sequence <= next(of: peer) {
            if try isTakenIn(name.position, of: peer) {
                inventory.remove(name, of: peer)
            } else if let logs = try ready(name, of: peer, &inventory) {
                for log in logs {
                    inventory.remove(log.name, of: peer)
                    add(log)
                }
                hasAdvanced = true
            } else if inventory.name(of: peer, at: index) == name {
                index += 1
            }
        }
        return hasAdvanced
    }

    /// Returns the highest sequence that a peer's next log can have.
    private func next(of peer: PeerIdentifier) -> Int64 { max(known.sequence(of: peer), passable[peer] ?? 0) + 1 }

    /// Returns whether a log may be missing.
    ///
    /// A log under this store's own identifier may not: if another peer has read it, there is another copy of this
    /// store.
    private func isPassable(_ position: Knowledge.Position, of peer: PeerIdentifier) -> Bool {
        peer != register.own && position.sequence <= passable[peer] ?? 0
    }

    private mutating func add(_ log: ReadyLog) {
        bytes += log.size
        clock = max(clock, log.time)
        known.take(log.name.position, after: log.log.header.previous, of: log.peer)
        planned[log.peer, default: []].insert(log.name.position)
        plan.ready.append(log)
        if plan.ready.count >= ImportPlanner.batchLogs { plan.isFull = true }
    }

    private func isTakenIn(_ position: Knowledge.Position, of peer: PeerIdentifier) throws -> Bool {
        if known.heads[peer]?.contains(position) == true || planned[peer]?.contains(position) == true { return true }
        return try register.contains(position, of: peer)
    }

    /// Returns a log that can be joined, with the logs that hold the rest of its last save.
    ///
    /// Otherwise it notes the reason in the inventory and returns nil.
    ///
    /// If a save has several logs, none is kept in memory: each is read again when it is joined.
    private mutating func ready(_ name: LogFileName, of peer: PeerIdentifier, _ inventory: inout ContentInventory) throws -> [ReadyLog]? {
        var logs: [ReadyLog] = []
        switch inventory.state(name, of: peer) {
        case .faulty, .unknown, .unauthorised: return nil
        case .waits(let header): if try !missing(header).isEmpty { return nil }
        case .begun(let begun): logs = begun
        case .new, .unreadable, .lacks: break
        }
        if logs.isEmpty {
            guard let first = try read(name, of: peer, after: nil, &inventory) else { return nil }
            logs = [first]
        }
        while let last = logs.last, last.log.header.goesOn, known.sequence(of: peer) <= last.name.sequence {
            guard let rest = try rest(after: last, of: peer, &inventory) else {
                // If the author was retired at this log, the rest of the save will not come.
                if last.name.sequence < passable[peer] ?? 0 { break }
                inventory.set(.begun(logs.map(\.light)), name, of: peer)
                return nil
            }
            logs = logs.map(\.light) + [rest.light]
        }
        guard bytes == 0 || bytes + logs.reduce(0, { $0 + $1.size }) <= ImportPlanner.batchBytes else {
            if logs.count > 1 { inventory.set(.begun(logs), name, of: peer) }
            plan.isFull = true
            return nil
        }
        return logs
    }

    /// Returns the log that continues the last save of another log, if both can be joined.
    private mutating func rest(after last: ReadyLog, of peer: PeerIdentifier, _ inventory: inout ContentInventory) throws -> ReadyLog? {
        for name in inventory.names(of: peer, at: last.name.sequence + 1) {
            switch inventory.state(name, of: peer) {
            case .faulty, .unknown, .unauthorised: continue
            case .waits(let header): if try !missing(header, after: last.name.position).isEmpty { continue }
            case .new, .unreadable, .lacks, .begun: break
            }
            if let log = try read(name, of: peer, after: last.name.position, &inventory) { return log }
        }
        return nil
    }

    /// Reads a log that can be joined, after the given log.
    ///
    /// Otherwise it notes the reason in the inventory and returns nil.
    private mutating func read(
        _ name: LogFileName, of peer: PeerIdentifier, after last: Knowledge.Position?, _ inventory: inout ContentInventory
    ) throws -> ReadyLog? {
        let log: ReadyLog
        do {
            log = try reader.read(name, of: peer, clock: clock)
        } catch let fault as LogFault {
            inventory.set(.faulty, name, of: peer)
            plan.quarantined.append((peer, name, fault))
            return nil
        } catch Errno.noSuchFileOrDirectory {
            inventory.remove(name, of: peer)
            return nil
        } catch let error as Errno {
            inventory.set(.unreadable(error), name, of: peer)
            return nil
        }
        if let last, log.log.header.predecessor != last.hash { return nil }
        if try !missing(log.log.header, after: last).isEmpty {
            inventory.set(.waits(log.log.header), name, of: peer)
            return nil
        }
        if let obstacle = reader.obstacle(to: log) {
            inventory.set(.unknown(obstacle: obstacle, schema: log.log.header.schema), name, of: peer)
            return nil
        }
        if case .waits(let needs)? = rights?.verdict(on: log, reader.shapes) {
            inventory.set(.unauthorised(needs), name, of: peer)
            return nil
        }
        let awaited: [AwaitedFile]
        do {
            awaited = try missingValues(of: log)
        } catch let error as Errno {
            inventory.set(.unreadable(error), name, of: peer)
            return nil
        }
        guard awaited.isEmpty else {
            inventory.set(.lacks(awaited), name, of: peer)
            return nil
        }
        return log
    }

    /// Returns the large values that a log names and that are missing or damaged here.
    private func missingValues(of log: ReadyLog) throws -> [AwaitedFile] {
        try log.values.sorted { $0.key.hash < $1.key.hash }.compactMap { value, peers in
            let finding = try reader.largeValues.find(value, of: peers)
            if case .whole = finding { return nil }
            return AwaitedFile(
                peer: log.peer.description, sequence: nil, hash: value.hash.description, isDamaged: finding == .damaged, log: log.name.description)
        }
    }

    /// Returns the missing logs that a log follows, except one that is joined together with it.
    private mutating func missing(
        _ header: LogHeader, after last: Knowledge.Position? = nil
    ) throws -> [(peer: PeerIdentifier, position: Knowledge.Position)] {
        var missing: [(peer: PeerIdentifier, position: Knowledge.Position)] = []
        if let previous = header.previous, previous != last,
            try !isPassable(previous, of: header.peer) && !isTakenIn(previous, of: header.peer)
        {
            missing.append((header.peer, previous))
        }
        // A signed log waits for no other account's.
        let news = reader.container == nil ? header.news : header.news.filtered { $0.account == header.peer.account }
        for entry in news.entries where try !isPassable(entry.position, of: entry.peer) && !isTakenIn(entry.position, of: entry.peer) {
            missing.append(entry)
            if entry.peer == register.own { plan.isForked = true }
        }
        return missing
    }

    /// Returns why a peer's next log waits, or nil if no log waits.
    mutating func waiting(_ peer: PeerIdentifier, _ inventory: ContentInventory) throws -> WaitingPeer? {
        guard let (name, count) = inventory.waiting(of: peer) else { return nil }
        let next = known.sequence(of: peer) + 1
        var waiting = WaitingPeer(peer: peer.description, sequence: name.sequence, reason: .files([]), logs: count)
        if case .begun(let logs) = inventory.state(name, of: peer), let last = logs.last {
            var rest: WaitingReason?
            for name in inventory.names(of: peer, at: last.name.sequence + 1) where rest == nil {
                rest = try reason(for: name, of: peer, after: last.name.position, inventory)
            }
            waiting.reason = rest ?? .files([AwaitedFile(peer, last.name.sequence + 1, nil, inventory)])
        } else if let reason = try reason(for: name, of: peer, after: nil, inventory) {
            waiting.reason = reason
        } else {
            waiting.sequence = next
            waiting.reason = .files([AwaitedFile(peer, next, nil, inventory)])
        }
        return waiting
    }

    /// Returns why a log that has been read waits, or nil for any other log.
    private mutating func reason(
        for name: LogFileName, of peer: PeerIdentifier, after last: Knowledge.Position?, _ inventory: ContentInventory
    ) throws -> WaitingReason? {
        switch inventory.state(name, of: peer) {
        case .waits(let header):
            .files(
                try missing(header, after: last).map { missing in
                    AwaitedFile(missing.peer, missing.position.sequence, missing.position.hash, inventory)
                })
        case .lacks(let files): .files(files)
        case .unknown(let obstacle, let schema): .schema(obstacle: obstacle, authors: schema)
        case .unreadable(let error): .unreadable(String(describing: error))
        case .unauthorised(let needs): .statements(needs.map(\.description).sorted())
        case .new, .faulty, .begun: nil
        }
    }
}

extension AwaitedFile {
    fileprivate init(_ peer: PeerIdentifier, _ sequence: Int64, _ hash: ContentHash?, _ inventory: ContentInventory) {
        self.init(
            peer: peer.description, sequence: sequence, hash: hash?.description,
            isDamaged: inventory.isFaulty(sequence, hash: hash, of: peer) || inventory.hidden.contains(peer))
    }
}
