/// An open-addressing set of node numbers whose keys are in the nodes: 5 bytes for each slot.
///
/// Each number has eight bits of its hash beside it, so that a search visits a wrong node only once in 256 slots. The
/// table uses linear probing and removes by shifting back, so that churn leaves no tombstones. Probing, removal and
/// growth ask for the hashes of nodes again.
struct IndexTable {
    private var nodes: ContiguousArray<UInt32> = .init(repeating: 0, count: 64)
    /// The top bits of the hash, never 0; 0 marks an empty slot.
    private var tags: ContiguousArray<UInt8> = .init(repeating: 0, count: 64)
    private(set) var count = 0

    @inline(__always)
    func find(hash: UInt32, matches: (UInt32) -> Bool) -> UInt32 {
        tags.withUnsafeBufferPointer { tags in
            let mask = tags.count - 1
            let tag = Self.tag(hash)
            var slot = Int(hash) & mask
            while true {
                let present = tags[slot]
                if present == 0 { return 0 }
                if present == tag {
                    let node = nodes[slot]
                    if matches(node) { return node }
                }
                slot = (slot &+ 1) & mask
            }
        }
    }

    /// Adds a node whose key is absent.
    /// - Parameters:
    ///   - node: The node's number, not 0.
    ///   - hash: The hash of its key.
    ///   - rehash: The hash of another node's key.
    mutating func insert(_ node: UInt32, hash: UInt32, rehash: (UInt32) -> UInt32) {
        if (count + 1) * 4 > nodes.count * 3 { grow(rehash) }
        place(node, hash: hash)
        count += 1
    }

    /// Removes a node that is present under `hash`; does nothing otherwise.
    mutating func remove(_ node: UInt32, hash: UInt32, rehash: (UInt32) -> UInt32) {
        let mask = nodes.count - 1
        var hole = Int(hash) & mask
        while nodes[hole] != node {
            if tags[hole] == 0 { return }
            hole = (hole &+ 1) & mask
        }
        count -= 1
        var slot = hole
        while true {
            slot = (slot &+ 1) & mask
            if tags[slot] == 0 { break }
            // An entry moves into the hole unless its home is cyclically in (hole, slot].
            let home = Int(rehash(nodes[slot])) & mask
            if (slot &- home) & mask >= (slot &- hole) & mask {
                nodes[hole] = nodes[slot]
                tags[hole] = tags[slot]
                hole = slot
            }
        }
        nodes[hole] = 0
        tags[hole] = 0
    }

    private static func tag(_ hash: UInt32) -> UInt8 { max(1, UInt8(truncatingIfNeeded: hash >> 24)) }

    private mutating func place(_ node: UInt32, hash: UInt32) {
        let mask = nodes.count - 1
        var slot = Int(hash) & mask
        while tags[slot] != 0 { slot = (slot &+ 1) & mask }
        nodes[slot] = node
        tags[slot] = Self.tag(hash)
    }

    private mutating func grow(_ rehash: (UInt32) -> UInt32) {
        let old = nodes
        nodes = ContiguousArray(repeating: 0, count: old.count * 2)
        tags = ContiguousArray(repeating: 0, count: old.count * 2)
        for node in old where node != 0 { place(node, hash: rehash(node)) }
    }
}
