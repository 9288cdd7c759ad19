public import UbiquityContainers

/// For each peer, up to where its logs have been taken in without a gap.
public struct Knowledge: Hashable, Sendable {
    /// The last log taken in of one peer.
    public struct Position: Hashable, Sendable {
        /// Its sequence.
        public var sequence: Int64
        /// Its content hash.
        public var hash: ContentHash

        /// A position.
        public init(sequence: Int64, hash: ContentHash) {
            self.sequence = sequence
            self.hash = hash
        }
    }

    /// By peer; a peer of which nothing is known is absent.
    public var positions: [PeerIdentifier: Position]

    /// Knowledge of these positions.
    public init(_ positions: [PeerIdentifier: Position] = [:]) { self.positions = positions }

    /// The last sequence taken in of a peer, 0 for none.
    public func sequence(of peer: PeerIdentifier) -> Int64 { positions[peer]?.sequence ?? 0 }

    /// Whether all that another knowledge names has been taken in.
    public func covers(_ other: Knowledge) -> Bool { firstGap(towards: other) == nil }

    /// The first peer, by name, of which the other knowledge holds more.
    public func firstGap(towards other: Knowledge) -> PeerIdentifier? {
        other.positions.filter { sequence(of: $0.key) < $0.value.sequence }.keys.min()
    }
}
