/// Many changes reduced to their net effect, for a reader that fell behind.
///
/// It keeps two trees over one set of entries: the tree that the reader knows, and the current one. Only touched
/// entries are kept, so known and current entries limit the size, however many changes there were.
struct NetChanges {
    /// An entry's position in ``entries``; the root's is 0.
    typealias Number = Int

    struct Entry {
        /// The current parent; nil if the entry is gone.
        var parent: Number?
        var name: [UInt8]
        var children: [[UInt8]: Number] = [:]
        /// The parent that the reader knows; nil if the reader does not know the entry.
        var knownParent: Number?
        var knownName: [UInt8] = []
        var knownChildren: [[UInt8]: Number] = [:]
        var isDirectory = true
        var isModified = false
        var hasAttributes = false
        /// The order of its last touch.
        var order = 0
        /// Whether the entry is already at its current place; used during the report.
        var isPlaced = false
    }

    static let top: Number = 0
    let root: [UInt8]
    var entries: [Entry] = [Entry(parent: nil, name: [])]
    private var free: [Number] = []
    private var order = 0
    private(set) var tick: UInt64 = 0
    private(set) var time: Int64 = 0
    /// The last change of the whole tree that the reader must receive.
    private(set) var rootState: TreeChangeRecord?

    init(root: [UInt8]) { self.root = root }

    mutating func take(_ batch: TreeChangeBatch) {
        var position = 0
        while position < batch.records.count {
            let record = batch.records[position]
            position += 1
            tick = max(tick, record.tick)
            time = record.time
            order += 1
            let path = batch.relativePath(of: record)
            switch record.code {
            case .created, .arrived: create(path, isDirectory: record.isDirectory)
            case .modified:
                if let source = batch.relativeSource(of: record) {
                    remove(find(path, isDirectory: false))
                    move(source, to: path, isDirectory: false)
                } else {
                    entries[find(path, isDirectory: false)].isModified = true
                }
            case .attributes: entries[find(path, isDirectory: record.isDirectory)].hasAttributes = true
            case .removed: remove(find(path, isDirectory: record.isDirectory))
            case .moved:
                guard let source = batch.relativeSource(of: record) else { break }
                if record.isExchange, position < batch.records.count, isWayBack(batch.records[position], in: batch, from: source, to: path) {
                    let back = batch.records[position]
                    tick = back.tick
                    position += 1
                    exchange(find(source, isDirectory: record.isDirectory), find(path, isDirectory: back.isDirectory))
                } else {
                    move(source, to: path, isDirectory: record.isDirectory)
                }
            case .rootLost, .rootBack, .ready: rootState = record
            case .overflow, .rescanned, .closed, .enters, .leaves: break
            }
        }
    }

    private func isWayBack(_ record: TreeChangeRecord, in batch: TreeChangeBatch, from source: [UInt8], to target: [UInt8]) -> Bool {
        record.code == .moved && record.isExchange && batch.relativePath(of: record) == source && batch.relativeSource(of: record) == target
    }

    // MARK: The current tree

    func isKnown(_ number: Number) -> Bool { number == Self.top || entries[number].knownParent != nil }

    /// Returns the entry at a path now; an untouched entry is as the reader knows it.
    private mutating func find(_ path: [UInt8], isDirectory: Bool) -> Number {
        let names = path.split(separator: 0x2F).map { Array($0) }
        var number = Self.top
        for (position, name) in names.enumerated() {
            if let child = entries[number].children[name] {
                number = child
                continue
            }
            let child = add(name, in: number, isDirectory: position < names.count - 1 || isDirectory)
            if isKnown(number), entries[number].knownChildren[name] == nil {
                entries[child].knownParent = number
                entries[child].knownName = name
                entries[number].knownChildren[name] = child
            }
            number = child
        }
        entries[number].order = order
        return number
    }

    private mutating func add(_ name: [UInt8], in parent: Number, isDirectory: Bool) -> Number {
        var entry = Entry(parent: parent, name: name)
        entry.isDirectory = isDirectory
        entry.order = order
        let number = free.popLast() ?? entries.count
        if number == entries.count { entries.append(entry) } else { entries[number] = entry }
        entries[parent].children[name] = number
        return number
    }

    private mutating func split(_ path: [UInt8]) -> (parent: Number, name: [UInt8]) {
        let slash = path.lastIndex(of: 0x2F)
        return (slash.map { find(Array(path[..<$0]), isDirectory: true) } ?? Self.top, Array(path[(slash.map { $0 + 1 } ?? 0)...]))
    }

    private mutating func create(_ path: [UInt8], isDirectory: Bool) {
        let (parent, name) = split(path)
        if let present = entries[parent].children[name] { remove(present) }
        _ = add(name, in: parent, isDirectory: isDirectory)
    }

    private mutating func move(_ source: [UInt8], to target: [UInt8], isDirectory: Bool) {
        let moving = find(source, isDirectory: isDirectory)
        let (parent, name) = split(target)
        if let replaced = entries[parent].children[name], replaced != moving { remove(replaced) }
        detach(moving)
        attach(moving, to: parent, name)
    }

    private mutating func exchange(_ a: Number, _ b: Number) {
        guard let first = entries[a].parent, let second = entries[b].parent else { return }
        let (name, other) = (entries[a].name, entries[b].name)
        detach(a)
        detach(b)
        attach(a, to: second, other)
        attach(b, to: first, name)
    }

    private mutating func detach(_ number: Number) {
        if let parent = entries[number].parent { entries[parent].children[entries[number].name] = nil }
        entries[number].parent = nil
    }

    private mutating func attach(_ number: Number, to parent: Number, _ name: [UInt8]) {
        entries[number].parent = parent
        entries[number].name = name
        entries[number].order = order
        entries[parent].children[name] = number
    }

    /// Removes an entry and everything below it; entries that the reader does not know leave no trace.
    private mutating func remove(_ number: Number) {
        if number == Self.top { return }
        detach(number)
        var stack = [number]
        while let next = stack.popLast() {
            stack += entries[next].children.values
            entries[next].children = [:]
            entries[next].parent = nil
            if !isKnown(next) { free.append(next) }
        }
    }
}
