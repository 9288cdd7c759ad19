/// An open-addressing set of node numbers whose keys live in the nodes themselves.
///
/// A slot holds a node's number and its hash, so that most misses are decided without touching the node and growing needs no keys.
/// Linear probing, and removal by shifting back, so that churn leaves no tombstones. Number 0 marks an empty slot.
struct IndexTable {
    private var slots: ContiguousArray<UInt64> = .init(repeating: 0, count: 64)
    private(set) var count = 0

    @inline(__always)
    func find(hash: UInt32, matches: (UInt32) -> Bool) -> UInt32 {
        slots.withUnsafeBufferPointer { slots in
            let mask = slots.count - 1
            var slot = Int(hash) & mask
            while true {
                let entry = slots[slot]
                let node = UInt32(truncatingIfNeeded: entry)
                if node == 0 || (UInt32(truncatingIfNeeded: entry >> 32) == hash && matches(node)) { return node }
                slot = (slot &+ 1) & mask
            }
        }
    }

    /// Adds a node whose key is not present.
    mutating func insert(_ node: UInt32, hash: UInt32) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        Self.place(UInt64(hash) << 32 | UInt64(node), in: &slots)
        count += 1
    }

    /// Removes a node that is present under `hash`; does nothing where it is not.
    mutating func remove(_ node: UInt32, hash: UInt32) {
        let mask = slots.count - 1
        let entry = UInt64(hash) << 32 | UInt64(node)
        var hole = Int(hash) & mask
        while slots[hole] != entry {
            if slots[hole] == 0 { return }
            hole = (hole &+ 1) & mask
        }
        count -= 1
        var slot = hole
        while true {
            slot = (slot &+ 1) & mask
            let other = slots[slot]
            if other == 0 { break }
            // An entry moves into the hole unless its home lies cyclically in (hole, slot].
            let home = Int(other >> 32) & mask
            if (slot &- home) & mask >= (slot &- hole) & mask {
                slots[hole] = other
                hole = slot
            }
        }
        slots[hole] = 0
    }

    private static func place(_ entry: UInt64, in slots: inout ContiguousArray<UInt64>) {
        let mask = slots.count - 1
        var slot = Int(entry >> 32) & mask
        while slots[slot] != 0 { slot = (slot &+ 1) & mask }
        slots[slot] = entry
    }

    private mutating func grow() {
        var larger = ContiguousArray<UInt64>(repeating: 0, count: slots.count * 2)
        for entry in slots where entry != 0 { Self.place(entry, in: &larger) }
        slots = larger
    }
}
