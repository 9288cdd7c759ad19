public import UbiquityContainers

/// Which logs have been taken in: for each peer the last one of each branch, and with it all before it.
///
/// A peer has one branch, unless its identifier has been forked: by a restored backup, or by a copy of its store.
public struct Knowledge: Hashable, Sendable {
    /// A log, as far as its peer is known: two logs of one sequence are told apart by their hashes.
    public struct Position: Hashable, Comparable, Sendable {
        /// Its sequence.
        public var sequence: Int64
        /// Its content hash.
        public var hash: ContentHash

        /// A position.
        public init(sequence: Int64, hash: ContentHash) {
            self.sequence = sequence
            self.hash = hash
        }

        /// By sequence, then by hash.
        public static func < (left: Self, right: Self) -> Bool {
            left.sequence == right.sequence ? left.hash < right.hash : left.sequence < right.sequence
        }
    }

    /// By peer, the last log of each branch; a peer of which nothing is known is absent.
    public private(set) var heads: [PeerIdentifier: Set<Position>] = [:]

    /// By peer, the logs before a head that have not been taken in all the same, for their author was retired at them (<doc:Retirement>).
    public private(set) var holes: [PeerIdentifier: Set<Position>] = [:]

    /// Knowledge of nothing.
    public init() {}

    /// Knowledge of one log of each peer, and those before it.
    public init(_ positions: [PeerIdentifier: Position]) { heads = positions.mapValues { [$0] } }

    /// Whether it names no log.
    public var isEmpty: Bool { heads.isEmpty }

    /// The highest sequence taken in of a peer, on any of its branches; 0 for none.
    public func sequence(of peer: PeerIdentifier) -> Int64 { heads[peer]?.lazy.map(\.sequence).max() ?? 0 }

    /// Every head, by peer and position: one order for one knowledge.
    public var entries: [(peer: PeerIdentifier, position: Position)] {
        heads.sorted { $0.key < $1.key }.flatMap { peer, positions in positions.sorted().map { (peer, $0) } }
    }

    /// Adds the head of a branch.
    public mutating func insert(_ position: Position, of peer: PeerIdentifier) { heads[peer, default: []].insert(position) }

    /// Adds a log that has been passed over.
    public mutating func insertHole(_ position: Position, of peer: PeerIdentifier) { holes[peer, default: []].insert(position) }

    /// The last log of a peer, on any branch, up to which all have been taken in; 0 for none.
    func passed(_ peer: PeerIdentifier) -> Int64 { passed(peer) { _ in true } }

    /// The last log of a peer up to which all have been taken in, as far as that is certain; 0 for none.
    ///
    /// - Parameters:
    ///   - peer: whose.
    ///   - isMeant: says which branches count.
    /// - Returns: its sequence.
    /// - Throws: what `isMeant` throws.
    func passed(_ peer: PeerIdentifier, where isMeant: (Position) throws -> Bool) rethrows -> Int64 {
        try certainHeads(of: peer).filter(isMeant).map(\.sequence).max() ?? 0
    }

    /// The heads of a peer before any hole.
    func certainHeads(of peer: PeerIdentifier) -> Set<Position> {
        let hole = holes[peer]?.lazy.map(\.sequence).min() ?? .max
        return heads[peer]?.filter { $0.sequence < hole } ?? []
    }

    /// Which of some logs of a peer have certainly not been taken in.
    ///
    /// Of a peer with one branch sequences tell. Where two have one sequence, each head's branch is followed down to where they part; what lies before a
    /// log that cannot be read may be of its branch.
    ///
    /// - Parameters:
    ///   - names: the logs.
    ///   - peer: whose they are.
    ///   - previous: the log before one; nil where it is the first, or cannot be read.
    /// - Returns: those.
    func unread(among names: [LogFileName], of peer: PeerIdentifier, previous: (LogFileName) -> Knowledge.Position?) -> Set<LogFileName> {
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

    /// Whether a log has been taken in, as far as sequences tell: nothing between it and a head may be missing, for what lies before a hole need not be named.
    func covers(_ sequence: Int64, of peer: PeerIdentifier) -> Bool {
        heads[peer]?.contains { head in
            head.sequence >= sequence && holes[peer]?.contains { (sequence..<head.sequence).contains($0.sequence) } != true
        } ?? false
    }

    /// Takes in a log, which goes on from the one before it where that is a head, and branches off where it is not.
    mutating func take(_ position: Position, after previous: Position?, of peer: PeerIdentifier) {
        if let previous { heads[peer]?.remove(previous) }
        insert(position, of: peer)
    }

    /// The same but for one peer.
    func without(_ peer: PeerIdentifier) -> Knowledge {
        var others = self
        others.heads[peer] = nil
        others.holes[peer] = nil
        return others
    }

    /// Removes the head of a branch.
    mutating func remove(_ position: Position, of peer: PeerIdentifier) {
        heads[peer]?.remove(position)
        if heads[peer]?.isEmpty == true { heads[peer] = nil }
    }
}
