import UbiquityTesting

/// One event of a run, as data, so that a history can be repeated without some of its events.
enum Operation: Sendable, CustomStringConvertible {
    /// A save of these statements by a peer.
    case save(peer: Int, [Write])
    /// A save of these statements by another program, which seals nothing.
    case foreignWrite(peer: Int, [Write])
    /// The peer publishes and imports.
    case settle(peer: Int)
    /// The peer publishes, and imports nothing.
    case publish(peer: Int)
    /// The peer writes a baseline.
    case roll(peer: Int)
    /// The peer rebuilds its store from the content.
    case rebuild(peer: Int)
    /// The peer retires another, dead or alive, at one of its logs.
    case retire(peer: Int, other: Int, sequence: Int64)
    /// One of the logs in the peer's container is damaged.
    case damage(peer: Int, seed: UInt64)
    /// The peer's device is lost, with all its unsent data.
    case die(peer: Int)
    /// The peer removes the content, on all devices.
    case removeContent(peer: Int)
    /// Files are delivered.
    case deliver(from: Int, to: Int, count: Int)
    /// The peer's clock is moved.
    case advance(peer: Int, seconds: Int)
    /// The store is closed and opened.
    case reopen(peer: Int)
    /// The store is closed, and opened with the next version of the schema.
    case upgrade(peer: Int)
    /// The peer seeds its store, as any other peer may do too.
    case seed(peer: Int)
    /// The store is closed, its file deleted, and opened again.
    case loseFile(peer: Int)
    /// The peer publishes and imports, and its process ends after this number of file changes.
    case crash(peer: Int, after: Int)
    /// The peer goes away, does nothing and receives nothing; or it returns.
    case turnAway(peer: Int)
    /// A copy of the store file is stored.
    case backUp(peer: Int)
    /// The last copy replaces the store file.
    case restore(peer: Int)
    /// Another device is made from a copy of everything on this one.
    case clone(peer: Int)
    /// A device without a store joins: with a copy of this peer's container, or empty.
    case join(peer: Int, copies: Bool)
    /// A copy of the peer's container is stored.
    case copyContainer(peer: Int)
    /// The last copy replaces the container.
    case putBackContainer(peer: Int)

    /// The peer of the operation.
    var peer: Int {
        switch self {
        case .save(let peer, _), .foreignWrite(let peer, _), .settle(let peer), .publish(let peer), .roll(let peer), .rebuild(let peer),
            .removeContent(let peer), .deliver(let peer, _, _), .retire(let peer, _, _), .damage(let peer, _), .die(let peer),
            .advance(let peer, _), .reopen(let peer), .upgrade(let peer), .seed(let peer), .loseFile(let peer), .crash(let peer, _),
            .turnAway(let peer), .backUp(let peer),
            .restore(let peer), .clone(let peer), .join(let peer, _), .copyContainer(let peer), .putBackContainer(let peer):
            peer
        }
    }

    static func random(peers: Int, _ writer: RandomWrite, _ random: inout SeededRandom) -> Operation {
        let isWide = writer.world == .random
        // Peers that join during the run take part too.
        let peers = isWide ? peers + 2 : peers
        let peer = Int.random(in: 0..<peers, using: &random)
        switch Int.random(in: 0..<(isWide ? 106 : 100), using: &random) {
        case 0..<38: return .save(peer: peer, writer.writes(&random))
        case 38..<44: return .foreignWrite(peer: peer, writer.writes(&random))
        case 44..<53: return .settle(peer: peer)
        case 53: return .roll(peer: peer)
        case 54: return Int.random(in: 0..<3, using: &random) == 0 ? .removeContent(peer: peer) : .rebuild(peer: peer)
        case 55:
            let other = (peer + Int.random(in: 1..<peers, using: &random)) % peers
            return .retire(peer: peer, other: other, sequence: [0, 0, 3, 1000].randomElement(using: &random)!)
        case 56..<60: return .publish(peer: peer)
        case 60..<80:
            let other = (peer + Int.random(in: 1..<peers, using: &random)) % peers
            return .deliver(from: peer, to: other, count: Int.random(in: 1...6, using: &random))
        case 80..<85:
            // A clock may be wrong by decades: 1966, 2027, 2198, 2200.
            if isWide, Int.random(in: 0..<4, using: &random) == 0 {
                return .advance(peer: peer, seconds: [-1_900_000_000, 5_390_000_000, 5_458_118_400, -5_390_000_000].randomElement(using: &random)!)
            }
            return .advance(peer: peer, seconds: Int.random(in: -31_536_000...31_536_000, using: &random))
        case 85: return Int.random(in: 0..<3, using: &random) == 0 ? .damage(peer: peer, seed: random.next()) : .seed(peer: peer)
        case 86: return .reopen(peer: peer)
        case 87: return .upgrade(peer: peer)
        case 88: return .loseFile(peer: peer)
        case 89..<94: return .crash(peer: peer, after: Int.random(in: 0..<12, using: &random))
        case 94..<96: return .turnAway(peer: peer)
        case 96..<98: return .backUp(peer: peer)
        case 98: return Int.random(in: 0..<3, using: &random) == 0 ? .die(peer: peer) : .restore(peer: peer)
        case 99: return .clone(peer: peer)
        case 100: return .rebuild(peer: peer)
        case 101: return .copyContainer(peer: peer)
        case 102: return .putBackContainer(peer: peer)
        case 103: return .roll(peer: peer)
        case 104: return .upgrade(peer: peer)
        default: return .join(peer: peer, copies: Bool.random(using: &random))
        }
    }

    var description: String {
        switch self {
        case .save(let peer, let writes): "peer \(peer) saves \(writes.map(\.sql).joined(separator: "; "))"
        case .foreignWrite(let peer, let writes): "another program writes to peer \(peer): \(writes.map(\.sql).joined(separator: "; "))"
        case .settle(let peer): "peer \(peer) settles"
        case .publish(let peer): "peer \(peer) publishes"
        case .roll(let peer): "peer \(peer) rolls a baseline"
        case .retire(let peer, let other, let sequence): "peer \(peer) retires peer \(other) at log \(sequence)"
        case .damage(let peer, _): "a log in peer \(peer)'s container is damaged"
        case .die(let peer): "peer \(peer) is lost for good"
        case .removeContent(let peer): "peer \(peer) removes the content"
        case .rebuild(let peer): "peer \(peer) rebuilds its store"
        case .deliver(let source, let target, let count): "up to \(count) files go from \(source) to \(target)"
        case .advance(let peer, let seconds): "peer \(peer)'s clock moves by \(seconds) s"
        case .reopen(let peer): "peer \(peer) reopens"
        case .upgrade(let peer): "peer \(peer) goes to the schema's next version"
        case .seed(let peer): "peer \(peer) seeds its store"
        case .loseFile(let peer): "peer \(peer) loses its store file"
        case .crash(let peer, let count): "peer \(peer) settles and crashes after \(count) changes to files"
        case .turnAway(let peer): "peer \(peer) goes away, or comes back"
        case .backUp(let peer): "peer \(peer)'s store file is copied"
        case .restore(let peer): "peer \(peer)'s store file is restored from the copy"
        case .clone(let peer): "peer \(peer) is cloned to another device"
        case .join(let peer, true): "a device joins with a copy of peer \(peer)'s container"
        case .join(_, false): "a device joins"
        case .copyContainer(let peer): "peer \(peer)'s container is copied"
        case .putBackContainer(let peer): "peer \(peer)'s container is put back from the copy"
        }
    }
}
