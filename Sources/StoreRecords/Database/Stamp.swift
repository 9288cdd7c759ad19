package import StoreFormat
package import UbiquityContainers

/// The number of a peer in one store file.
///
/// It has no meaning elsewhere.
package struct PeerNumber: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int64
    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// No peer: the peer of the least stamp.
    package static let nobody = PeerNumber(rawValue: 0)
}

/// The time, counter and peer of a write to a register.
package struct Stamp: Hashable, Sendable {
    package var time: HybridTime
    package var peer: PeerNumber

    package init(_ time: HybridTime, _ peer: PeerNumber) {
        self.time = time
        self.peer = peer
    }

    package static let least = Stamp(.least, .nobody)
}

/// The peers that a store file knows, by number, and their order.
///
/// The order is that of their names, so it is equal in every store.
package struct PeerTable: Sendable {
    private var names: [PeerNumber: PeerIdentifier] = [:]
    private var numbers: [PeerIdentifier: PeerNumber] = [:]

    package init(_ peers: [PeerNumber: PeerIdentifier] = [:]) {
        for (number, peer) in peers { insert(peer, as: number) }
    }

    var count: Int { names.count }
    var isEmpty: Bool { names.isEmpty }
    package subscript(number: PeerNumber) -> PeerIdentifier? { names[number] }
    package subscript(peer: PeerIdentifier) -> PeerNumber? { numbers[peer] }

    /// All peers with their numbers, in the order of the numbers.
    package var all: [(number: PeerNumber, peer: PeerIdentifier)] {
        names.map { (number: $0.key, peer: $0.value) }.sorted { $0.number.rawValue < $1.number.rawValue }
    }

    mutating func reserveCapacity(_ count: Int) {
        names.reserveCapacity(count)
        numbers.reserveCapacity(count)
    }

    package mutating func insert(_ peer: PeerIdentifier, as number: PeerNumber) {
        names[number] = peer
        numbers[peer] = number
    }

    /// Compares two stamps by time, then by the peer's name.
    package func compare(_ left: Stamp, _ right: Stamp) -> Ordering {
        if left.time != right.time { return left.time < right.time ? .less : .greater }
        if left.peer == right.peer { return .equal }
        guard let first = names[left.peer] else { return .less }
        guard let second = names[right.peer] else { return .greater }
        return first < second ? .less : .greater
    }
}
