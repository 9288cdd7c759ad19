public import UbiquityContainers

/// The logs that have been joined: for each peer, the last one of each branch, which includes all logs before it.
///
/// A peer has one branch, unless its identifier has been forked by a restored backup or a copy of its store.
public struct Knowledge: Hashable, Sendable {
    /// A log of a known peer.
    ///
    /// The hash distinguishes two logs with one sequence.
    public struct Position: Hashable, Comparable, Sendable {
        /// The sequence of the log.
        public var sequence: Int64
        /// The content hash of the log.
        public var hash: ContentHash

        /// Creates a position.
        public init(sequence: Int64, hash: ContentHash) {
            self.sequence = sequence
            self.hash = hash
        }

        /// Compares by sequence, then by hash.
        public static func < (left: Self, right: Self) -> Bool {
            left.sequence == right.sequence ? left.hash < right.hash : left.sequence < right.sequence
        }
    }

    /// The last log of each branch, by peer.
    ///
    /// A peer without joined logs is absent.
    public private(set) var heads: [PeerIdentifier: Set<Position>] = [:]

    /// The holes, by peer: logs before a head that were not joined, because their author was retired at them
    /// (<doc:Retirement>).
    public private(set) var holes: [PeerIdentifier: Set<Position>] = [:]

    /// Creates empty knowledge.
    public init() {}

    /// Creates knowledge of one log of each peer, and the logs before it.
    public init(_ positions: [PeerIdentifier: Position]) { heads = positions.mapValues { [$0] } }

    /// Whether the knowledge is empty.
    public var isEmpty: Bool { heads.isEmpty }

    /// Returns the highest joined sequence of a peer on any branch, or 0 for none.
    public func sequence(of peer: PeerIdentifier) -> Int64 { heads[peer]?.lazy.map(\.sequence).max() ?? 0 }

    /// All heads, sorted by peer and position, so that equal knowledge has equal entries.
    public var entries: [(peer: PeerIdentifier, position: Position)] {
        heads.sorted { $0.key < $1.key }.flatMap { peer, positions in positions.sorted().map { (peer, $0) } }
    }

    /// Adds the head of a branch.
    public mutating func insert(_ position: Position, of peer: PeerIdentifier) { heads[peer, default: []].insert(position) }

    /// Adds a hole.
    public mutating func insertHole(_ position: Position, of peer: PeerIdentifier) { holes[peer, default: []].insert(position) }

    /// Returns the last log of a peer, on any branch, up to which all were joined, or 0 for none.
    package func passed(_ peer: PeerIdentifier) -> Int64 { passed(peer) { _ in true } }

    /// Returns the last log of a peer up to which all were certainly joined, or 0 for none.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - isMeant: returns whether the branch of a head counts.
    /// - Returns: the sequence of the log.
    /// - Throws: the error of `isMeant`.
    package func passed(_ peer: PeerIdentifier, where isMeant: (Position) throws -> Bool) rethrows -> Int64 {
        try certainHeads(of: peer).filter(isMeant).map(\.sequence).max() ?? 0
    }

    /// Returns the heads of a peer before any hole.
    package func certainHeads(of peer: PeerIdentifier) -> Set<Position> {
        let hole = holes[peer]?.lazy.map(\.sequence).min() ?? .max
        return heads[peer]?.filter { $0.sequence < hole } ?? []
    }

    /// Returns which of a peer's logs have certainly not been joined.
    ///
    /// For a peer with one branch, the sequences decide. If two logs have one sequence, the branch of each head is
    /// followed down to the fork. If a log cannot be read, the logs before it may belong to its branch.
    ///
    /// - Parameters:
    ///   - names: the logs.
    ///   - peer: the author of the logs.
    ///   - previous: returns the log before a given one. Nil if the log is the first or cannot be read.
    /// - Returns: the unread logs.
    package func unread(among names: [LogFileName], of peer: PeerIdentifier, previous: (LogFileName) -> Knowledge.Position?) -> Set<LogFileName> {
        var seen: Set<Int64> = []
        guard let fork = names.lazy.map(\.sequence).filter({ !seen.insert($0).inserted }).min() else {
            let last = sequence(of: peer)
            return Set(names.filter { $0.sequence > last })
        }
        var (read, uncertain): (Set<LogFileName>, Int64) = ([], fork - 1)
        for head in heads[peer] ?? [] {
            var name = LogFileName(head)
            while name.sequence >= fork, read.insert(name).inserted {
                guard let before = previous(name) else {
                    uncertain = max(uncertain, name.sequence - 1)
                    break
                }
                name = LogFileName(before)
            }
        }
        return Set(names.filter { $0.sequence > uncertain && !read.contains($0) })
    }

    /// Returns whether a log has been joined, judged by sequences.
    ///
    /// There may be no hole between it and a head, because logs before a hole need not be named.
    package func covers(_ sequence: Int64, of peer: PeerIdentifier) -> Bool {
        heads[peer]?.contains { head in
            head.sequence >= sequence && holes[peer]?.contains { (sequence..<head.sequence).contains($0.sequence) } != true
        } ?? false
    }

    /// Adds a joined log, which continues its predecessor's branch if that is a head, and otherwise begins a branch.
    package mutating func take(_ position: Position, after previous: Position?, of peer: PeerIdentifier) {
        if let previous { heads[peer]?.remove(previous) }
        insert(position, of: peer)
    }

    /// Returns the knowledge without one peer.
    package func without(_ peer: PeerIdentifier) -> Knowledge {
        var others = self
        others.heads[peer] = nil
        others.holes[peer] = nil
        return others
    }

    /// Returns the knowledge of some peers.
    package func filtered(_ isIncluded: (PeerIdentifier) -> Bool) -> Knowledge {
        var some = self
        some.heads = heads.filter { isIncluded($0.key) }
        some.holes = holes.filter { isIncluded($0.key) }
        return some
    }

    /// Removes the head of a branch.
    package mutating func remove(_ position: Position, of peer: PeerIdentifier) {
        heads[peer]?.remove(position)
        if heads[peer]?.isEmpty == true { heads[peer] = nil }
    }
}
