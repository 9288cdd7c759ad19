import Glibc

/// The known state of the watched tree: all directories and files, in flat arrays of 32-bit indices.
///
/// It stores no paths. A node knows its parent and its name, so a rename changes one parent, whatever is below, and a
/// path is built by walking up. All names are in one shared arena. Two tables find a node by its watch descriptor and
/// by (parent, name).
struct TreeIndex {
    /// A node's number; it is reused after the node is removed.
    struct Node: Hashable, Sendable {
        let number: UInt32
        static let none = Node(number: 0)
        static let root = Node(number: 1)
    }

    private struct Flags {
        static let directory: UInt8 = 1
        /// The listing in progress has seen the node.
        static let seen: UInt8 = 2
        /// The stamp does not match the last report.
        static let dirty: UInt8 = 4
        /// Not found at its known place; removed unless the rescan finds it elsewhere.
        static let missing: UInt8 = 8
        static let free: UInt8 = 16
    }

    /// A node's record of 32 bytes.
    ///
    /// `low` and `high` contain a file's stamp, or a directory's first child and watch descriptor.
    private struct Record {
        var parent: UInt32 = 0
        var nameOffset: UInt32 = 0
        var next: UInt32 = 0
        var previous: UInt32 = 0
        var low: UInt32 = 0
        var high: UInt32 = 0
        var attributes: UInt32 = 0
        var nameLength: UInt8 = 0
        var flags: UInt8 = 0
        var found: UInt16 = 0
    }

    private var records: ContiguousArray<Record>
    private var firstFree: UInt32 = 0
    private var names: ContiguousArray<UInt8> = []
    private var wastedNameBytes = 0
    private var entries = IndexTable()
    private var watches = IndexTable()
    private let seed: UInt64

    /// The number of nodes, including the root.
    private(set) var count = 1
    /// The number of watched directories.
    var watchedCount: Int { watches.count }

    /// Makes an index with only a root, which is a directory with an empty name.
    /// - Parameter seed: Changes the hash, so that an attacker cannot choose names that collide.
    init(seed: UInt64) {
        self.seed = seed
        records = [Record(), Record()]
        records[1].flags = Flags.directory
        records[1].high = UInt32(bitPattern: -1)
    }

    // MARK: Lookups

    /// Returns the child with this name.
    @inline(__always)
    func child(of parent: Node, named name: UnsafeRawBufferPointer) -> Node? {
        let found = entries.find(hash: hash(parent.number, name)) { node in
            let record = records[Int(node)]
            return record.parent == parent.number && Int(record.nameLength) == name.count && nameEquals(record, name)
        }
        return found == 0 ? nil : Node(number: found)
    }

    /// Returns the directory of a watch descriptor.
    @inline(__always)
    func node(watching descriptor: Int32) -> Node? {
        let found = watches.find(hash: Self.hash(descriptor)) { records[Int($0)].high == UInt32(bitPattern: descriptor) }
        return found == 0 ? nil : Node(number: found)
    }

    func parent(of node: Node) -> Node? { node == .root ? nil : Node(number: records[Int(node.number)].parent) }
    func isDirectory(_ node: Node) -> Bool { records[Int(node.number)].flags & Flags.directory != 0 }
    /// Returns whether the number still belongs to a node; the node may have been removed.
    func isAlive(_ node: Node) -> Bool { records[Int(node.number)].flags & Flags.free == 0 }

    /// Returns the directory's watch descriptor; nil if it has none.
    func watch(of node: Node) -> Int32? {
        let descriptor = Int32(bitPattern: records[Int(node.number)].high)
        return descriptor < 0 ? nil : descriptor
    }

    /// Returns whether `node` is `ancestor` or is below it.
    func isNode(_ node: Node, atOrBelow ancestor: Node) -> Bool {
        var number = node.number
        while number != 0 {
            if number == ancestor.number { return true }
            number = records[Int(number)].parent
        }
        return false
    }

    /// Calls a closure with the name's bytes, which are valid only inside it.
    @inline(__always)
    func withName<R>(of node: Node, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        let record = records[Int(node.number)]
        return names.withUnsafeBytes { bytes in
            body(UnsafeRawBufferPointer(rebasing: bytes[Int(record.nameOffset)..<(Int(record.nameOffset) + Int(record.nameLength))]))
        }
    }

    /// Appends the path from the root, without a leading separator; appends nothing for the root.
    func appendPath(of node: Node, to path: inout [UInt8]) {
        var length = 0
        var number = node.number
        while number > 1 {
            let record = records[Int(number)]
            length += Int(record.nameLength) + 1
            number = record.parent
        }
        if length == 0 { return }
        length -= 1
        let start = path.count
        path.append(contentsOf: repeatElement(0x2F, count: length))
        names.withUnsafeBytes { names in
            path.withUnsafeMutableBytes { path in
                var end = start + length
                number = node.number
                while number > 1 {
                    let record = records[Int(number)]
                    let size = Int(record.nameLength)
                    end -= size
                    (path.baseAddress! + end).copyMemory(from: names.baseAddress! + Int(record.nameOffset), byteCount: size)
                    end -= 1
                    number = record.parent
                }
            }
        }
    }

    /// Calls `body` with each child; the index must not change meanwhile.
    func forEachChild(of node: Node, _ body: (Node) -> Void) {
        var child = records[Int(node.number)].low
        while child != 0 {
            body(Node(number: child))
            child = records[Int(child)].next
        }
    }

    func hasChildren(_ node: Node) -> Bool { isDirectory(node) && records[Int(node.number)].low != 0 }

    /// Returns `node` and all nodes below it, children before their parents.
    func postorder(_ node: Node) -> [Node] {
        var order: [Node] = []
        var stack = [node]
        while let next = stack.popLast() {
            order.append(next)
            if isDirectory(next) { forEachChild(of: next) { stack.append($0) } }
        }
        order.reverse()
        return order
    }

    // MARK: Changes

    /// Adds a new entry.
    mutating func insert(_ name: UnsafeRawBufferPointer, in parent: Node, isDirectory: Bool) -> Node {
        let number: UInt32
        if firstFree != 0 {
            number = firstFree
            firstFree = records[Int(number)].next
            records[Int(number)] = Record()
        } else {
            number = UInt32(records.count)
            records.append(Record())
        }
        records[Int(number)].flags = isDirectory ? Flags.directory : Flags.dirty
        if isDirectory { records[Int(number)].high = UInt32(bitPattern: -1) }
        setName(name, of: number)
        link(number, to: parent.number)
        count += 1
        return Node(number: number)
    }

    /// Gives an entry another parent and name; the cost does not depend on the entries below it.
    ///
    /// The new place must be free.
    mutating func move(_ node: Node, to parent: Node, named name: UnsafeRawBufferPointer) {
        unlink(node.number)
        let record = records[Int(node.number)]
        if Int(record.nameLength) != name.count || !nameEquals(record, name) { setName(name, of: node.number) }
        link(node.number, to: parent.number)
    }

    /// Exchanges two entries.
    mutating func exchange(_ a: Node, _ b: Node) {
        unlink(a.number)
        unlink(b.number)
        let (first, second) = (records[Int(a.number)], records[Int(b.number)])
        records[Int(a.number)].nameOffset = second.nameOffset
        records[Int(a.number)].nameLength = second.nameLength
        records[Int(b.number)].nameOffset = first.nameOffset
        records[Int(b.number)].nameLength = first.nameLength
        link(a.number, to: second.parent)
        link(b.number, to: first.parent)
    }

    /// Removes an entry without children.
    mutating func remove(_ node: Node) {
        precondition(node != .root && !hasChildren(node), "node \(node.number) is the root or still has children")
        if isDirectory(node) { setWatch(nil, of: node) }
        unlink(node.number)
        wastedNameBytes += Int(records[Int(node.number)].nameLength)
        records[Int(node.number)] = Record(next: firstFree, flags: Flags.free)
        firstFree = node.number
        count -= 1
        if wastedNameBytes > 65_536, wastedNameBytes * 2 > names.count { compactNames() }
    }

    /// Assigns a watch descriptor to a directory, or removes it.
    mutating func setWatch(_ descriptor: Int32?, of node: Node) {
        if let old = watch(of: node) {
            watches.remove(node.number, hash: Self.hash(old)) { [records] in Self.hash(Int32(bitPattern: records[Int($0)].high)) }
        }
        records[Int(node.number)].high = UInt32(bitPattern: descriptor ?? -1)
        if let descriptor {
            watches.insert(node.number, hash: Self.hash(descriptor)) { [records] in Self.hash(Int32(bitPattern: records[Int($0)].high)) }
        }
    }

    // MARK: Marks

    func stamp(of node: Node) -> FileStamp {
        let record = records[Int(node.number)]
        return FileStamp(content: UInt64(record.high) << 32 | UInt64(record.low), attributes: record.attributes)
    }

    /// Stores a file's stamp at the time when its changes so far had been reported.
    mutating func setStamp(_ stamp: FileStamp, of node: Node) {
        records[Int(node.number)].low = UInt32(truncatingIfNeeded: stamp.content)
        records[Int(node.number)].high = UInt32(truncatingIfNeeded: stamp.content >> 32)
        records[Int(node.number)].attributes = stamp.attributes
        records[Int(node.number)].flags &= ~Flags.dirty
    }

    func attributes(of node: Node) -> UInt32 { records[Int(node.number)].attributes }
    mutating func setAttributes(_ digest: UInt32, of node: Node) { records[Int(node.number)].attributes = digest }

    func isDirty(_ node: Node) -> Bool { records[Int(node.number)].flags & Flags.dirty != 0 }
    mutating func setDirty(_ node: Node) { records[Int(node.number)].flags |= Flags.dirty }
    func isMissing(_ node: Node) -> Bool { records[Int(node.number)].flags & Flags.missing != 0 }
    mutating func setMissing(_ node: Node, _ missing: Bool) { set(Flags.missing, missing, of: node) }
    func isSeen(_ node: Node) -> Bool { records[Int(node.number)].flags & Flags.seen != 0 }
    mutating func setSeen(_ node: Node, _ seen: Bool) { set(Flags.seen, seen, of: node) }

    /// Returns the epoch in which a scan, rather than an event, found the entry.
    func foundEpoch(of node: Node) -> UInt16 { records[Int(node.number)].found }
    mutating func setFoundEpoch(_ epoch: UInt16, of node: Node) { records[Int(node.number)].found = epoch }

    // MARK: Internals

    private mutating func set(_ flag: UInt8, _ on: Bool, of node: Node) {
        if on { records[Int(node.number)].flags |= flag } else { records[Int(node.number)].flags &= ~flag }
    }

    private mutating func setName(_ name: UnsafeRawBufferPointer, of number: UInt32) {
        precondition((1...255).contains(name.count), "a name has 1 to 255 bytes, not \(name.count)")
        wastedNameBytes += Int(records[Int(number)].nameLength)
        records[Int(number)].nameOffset = UInt32(names.count)
        records[Int(number)].nameLength = UInt8(name.count)
        names.append(contentsOf: name)
    }

    private mutating func link(_ number: UInt32, to parent: UInt32) {
        let first = records[Int(parent)].low
        records[Int(number)].parent = parent
        records[Int(number)].next = first
        records[Int(number)].previous = 0
        if first != 0 { records[Int(first)].previous = number }
        records[Int(parent)].low = number
        entries.insert(number, hash: hash(of: number)) { [records, names, seed] in Self.hash(of: $0, records, names, seed) }
    }

    private mutating func unlink(_ number: UInt32) {
        entries.remove(number, hash: hash(of: number)) { [records, names, seed] in Self.hash(of: $0, records, names, seed) }
        let record = records[Int(number)]
        if record.previous != 0 { records[Int(record.previous)].next = record.next } else { records[Int(record.parent)].low = record.next }
        if record.next != 0 { records[Int(record.next)].previous = record.previous }
    }

    private mutating func compactNames() {
        var packed: ContiguousArray<UInt8> = []
        packed.reserveCapacity(names.count - wastedNameBytes)
        for number in 2..<max(2, records.count) where records[number].flags & Flags.free == 0 {
            let start = Int(records[number].nameOffset)
            records[number].nameOffset = UInt32(packed.count)
            packed.append(contentsOf: names[start..<(start + Int(records[number].nameLength))])
        }
        names = packed
        wastedNameBytes = 0
    }

    @inline(__always)
    private func nameEquals(_ record: Record, _ name: UnsafeRawBufferPointer) -> Bool {
        names.withUnsafeBytes { bytes in
            memcmp(bytes.baseAddress! + Int(record.nameOffset), name.baseAddress!, name.count) == 0
        }
    }

    private func hash(of number: UInt32) -> UInt32 { Self.hash(of: number, records, names, seed) }

    @inline(__always)
    private func hash(_ parent: UInt32, _ name: UnsafeRawBufferPointer) -> UInt32 { Self.hash(parent, name, seed) }

    private static func hash(of number: UInt32, _ records: ContiguousArray<Record>, _ names: ContiguousArray<UInt8>, _ seed: UInt64) -> UInt32 {
        let record = records[Int(number)]
        return names.withUnsafeBytes { bytes in
            let start = bytes.baseAddress! + Int(record.nameOffset)
            return hash(record.parent, UnsafeRawBufferPointer(start: start, count: Int(record.nameLength)), seed)
        }
    }

    /// A multiply-and-fold hash that processes eight bytes in a step.
    @inline(__always)
    private static func hash(_ parent: UInt32, _ name: UnsafeRawBufferPointer, _ seed: UInt64) -> UInt32 {
        var state = (seed ^ UInt64(parent)) &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(name.count)
        var offset = 0
        while offset + 8 <= name.count {
            state = fold(state ^ name.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < name.count {
            rest = rest << 8 | UInt64(name[offset])
            offset += 1
        }
        state = fold(state ^ rest)
        return UInt32(truncatingIfNeeded: state ^ state >> 32)
    }

    @inline(__always)
    private static func fold(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
        return product.high ^ product.low
    }

    @inline(__always)
    private static func hash(_ descriptor: Int32) -> UInt32 { UInt32(bitPattern: descriptor) &* 0x9E37_79B1 }
}
