internal import SystemPackage
internal import UbiquityContainers

/// Finds the logs that can be joined now, in an order in which they can, and says of each other why not.
///
/// A log is ready when its author's log before it and all that its author had taken in have been joined (causal delivery).
struct ImportPlanner {
    let layout: ContentLayout
    let contentName: String
    let epoch: Int64
    let own: PeerIdentifier
    let shapes: [TableShape]
    let files: any FileLayer
    /// The highest stamp seen.
    var clock: HybridTime

    /// How much one transaction takes in, beyond its first log.
    private static let batchBytes = 4 << 20
    private static let batchLogs = 512

    struct Plan {
        var ready: [ReadyLog] = []
        var waiting: [WaitingPeer] = []
        var quarantined: [QuarantinedLog] = []
        /// Whether there may be more that is ready.
        var isFull = false
    }

    /// Plans one transaction.
    ///
    /// - Parameters:
    ///   - knowledge: what has been joined, this peer's own logs included.
    ///   - inventory: the logs that are there; unusable ones are marked in it.
    /// - Returns: what can be joined, what waits, and what cannot be used.
    mutating func plan(knowledge: Knowledge, inventory: inout ContentInventory) -> Plan {
        var plan = Plan()
        var planned = knowledge
        var heads: [PeerIdentifier: ReadyLog] = [:]
        var bytes = 0
        var progress = true
        while progress {
            progress = false
            plan.waiting = []
            for peer in inventory.peers {
                while let next = ready(of: peer, planned, &inventory, &heads, &plan) {
                    plan.ready.append(next)
                    clock = next.contents.groups.reduce(clock) { max($0, $1.time) }
                    heads[peer] = nil
                    planned.positions[peer] = .init(sequence: next.name.sequence, hash: next.name.hash)
                    bytes += next.log.body.count
                    progress = true
                    if bytes >= Self.batchBytes || plan.ready.count >= Self.batchLogs {
                        plan.isFull = true
                        return plan
                    }
                }
            }
        }
        return plan
    }

    /// The next log of a peer if it can be joined; nil otherwise, with the reason noted in the plan.
    private func ready(
        of peer: PeerIdentifier, _ planned: Knowledge, _ inventory: inout ContentInventory, _ heads: inout [PeerIdentifier: ReadyLog],
        _ plan: inout Plan
    ) -> ReadyLog? {
        guard let next = head(of: peer, planned, &inventory, &heads, &plan) else { return nil }
        let header = next.log.header
        var reason: String?
        if let gap = planned.firstGap(towards: header.news) {
            reason = "it follows log \(header.news.sequence(of: gap)) of \(gap), which is not here yet"
        } else if let obstacle = next.contents.tables.lazy.compactMap({ TableImporter.obstacle(to: $0, among: shapes) }).first {
            reason = "\(obstacle) (its author's schema is at “\(header.schema)”): update this app"
        }
        guard let reason else { return next }
        plan.waiting.append(WaitingPeer(peer, next.name.sequence, reason, inventory))
        return nil
    }

    /// The next log of a peer, read and checked; nil, and why, where there is none.
    private func head(
        of peer: PeerIdentifier, _ planned: Knowledge, _ inventory: inout ContentInventory, _ heads: inout [PeerIdentifier: ReadyLog],
        _ plan: inout Plan
    ) -> ReadyLog? {
        if let head = heads[peer] { return head }
        let sequence = planned.sequence(of: peer) + 1
        let predecessor = planned.positions[peer]?.hash
        var unreadable: Errno?
        let candidates = inventory.candidates(of: peer, sequence: sequence)
        for name in candidates {
            do {
                let ready = try read(name, of: peer)
                guard ready.log.header.predecessor == predecessor else {
                    throw LogFault.damaged(
                        "it follows another log \(sequence - 1) of this peer than the one here: the peer's identifier has been forked")
                }
                for group in ready.contents.groups where !group.time.isPlausible(after: clock) {
                    throw LogFault.damaged("it has a stamp beyond the year 2200: its writer's clock is wrong")
                }
                for other in candidates where other != name && !plan.quarantined.contains(where: { $0.file == other.description }) {
                    inventory.markFaulty(other, of: peer)
                    plan.quarantined.append(
                        QuarantinedLog(
                            peer: peer.description, file: other.description,
                            reason: "another log has this sequence: the peer's identifier has been forked"))
                }
                heads[peer] = ready
                return ready
            } catch let fault as LogFault {
                inventory.markFaulty(name, of: peer)
                plan.quarantined.append(QuarantinedLog(peer: peer.description, file: name.description, reason: fault.description))
            } catch Errno.noSuchFileOrDirectory {
                inventory.remove(name, of: peer)
            } catch {
                unreadable = error as? Errno ?? .ioError
            }
        }
        if let unreadable {
            plan.waiting.append(WaitingPeer(peer, sequence, "it cannot be read (\(unreadable))", inventory))
            return nil
        }
        if inventory.hasLater(than: sequence, of: peer) {
            plan.waiting.append(WaitingPeer(peer, sequence, "it is not here yet, or cannot be used", inventory))
        }
        return nil
    }

    private func read(_ name: LogFileName, of peer: PeerIdentifier) throws -> ReadyLog {
        let bytes = try files.read(layout.logs(of: peer, epoch: epoch).appending(name.description), limit: LogFile.limit)
        let log = try LogFile(decoding: bytes, named: name)
        let header = log.header
        guard header.peer == peer else { throw LogFault.damaged("it is a log of \(header.peer)") }
        guard header.epoch == epoch else { throw LogFault.damaged("it is a log of epoch \(header.epoch)") }
        guard header.contentName == contentName else { throw LogFault.damaged("it is a log of the content “\(header.contentName)”") }
        let contents = try LogBody.decode(log)
        // Every change is looked at before the first is joined: a fault found later would undo the logs beside it.
        for rows in contents.groups.flatMap(\.rows) {
            do {
                try rows.forEach(in: contents.tables[rows.table]) { _ in }
            } catch is WireReader.Fault {
                throw LogFault.damaged("its body is malformed")
            }
        }
        return ReadyLog(peer: peer, name: name, log: log, contents: contents)
    }
}

/// A peer whose next log cannot be joined yet, and why.
public struct WaitingPeer: Sendable, Hashable, Codable {
    /// The peer.
    public var peer: String
    /// Its next log.
    public var sequence: Int64
    /// Why, in words.
    public var reason: String
    /// How many of its logs wait.
    public var logs: Int

    init(_ peer: PeerIdentifier, _ sequence: Int64, _ reason: String, _ inventory: ContentInventory) {
        self.peer = peer.description
        self.sequence = sequence
        self.reason = reason
        logs = inventory.count(of: peer)
    }
}
