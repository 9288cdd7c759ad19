/// Combines related changes, for a reader that wants one change where the kernel reports several, and holds back
/// entries that are still changing.
///
/// It is pure: the caller supplies instants in monotonic nanoseconds. With collapsing, a created or written file is
/// reported when its writer closes it, and the removal of a directory replaces the removals below it. With settling, a
/// file is reported when nothing has happened to it for a while. Each path has its own deadline, so a busy neighbour
/// delays nothing; a maximum limits every wait. Before a change of a directory's path, all pending changes below it are
/// reported.
struct ChangeReduction {
    private struct Pending {
        var record: TreeChangeRecord
        var source: [UInt8]?
        var awaitsClose: Bool
        var due: Int64
        var limit: Int64
    }

    /// Removals in one directory, reported together unless the directory itself is removed.
    private struct Removals {
        var entries: [[UInt8]: TreeChangeRecord] = [:]
        var due: Int64
        var limit: Int64
    }

    private let collapses: Bool
    private let quiet: Int64
    private let maximum: Int64
    private var pending: [[UInt8]: Pending] = [:]
    private var removals: [[UInt8]: Removals] = [:]
    private var output: TreeChangeBuffer
    private var nextDue: Int64 = .max
    /// The tick of the last delivered change.
    private(set) var lastTick: UInt64 = 0

    /// How long a deletion waits for the removal of its top directory: after the last removal, and at most.
    private static let removalQuiet: Int64 = 50_000_000
    private static let removalMaximum: Int64 = 5_000_000_000

    init?(root: [UInt8], options: TreeWatcher.Options) {
        guard options.collapses || options.settling != nil else { return nil }
        collapses = options.collapses
        quiet = options.settling?.quiet.nanoseconds ?? 0
        maximum = options.settling?.maximum.nanoseconds ?? 1_000_000_000
        output = TreeChangeBuffer(root: root)
    }

    /// The time at which a change is due, in monotonic nanoseconds; nil if nothing is pending.
    var deadline: Int64? { nextDue == .max ? nil : nextDue }

    /// Adds changes.
    /// - Parameters:
    ///   - batch: The changes.
    ///   - now: The current instant in monotonic nanoseconds.
    ///   - lookAt: Returns whether a close is expected for a file that was just created.
    mutating func take(_ batch: TreeChangeBatch, at now: Int64, lookAt: ([UInt8]) -> Bool) {
        for record in batch.records {
            let path = batch.relativePath(of: record)
            let source = batch.relativeSource(of: record)
            switch record.code {
            case .created, .arrived: takeCreated(record, path, at: now, lookAt: lookAt)
            case .modified: takeModified(record, path, source, at: now)
            case .closed: takeClosed(path, at: now)
            case .attributes:
                if pending[path] == nil { put(record, path) }
            case .removed: takeRemoved(record, path, at: now)
            case .moved: if let source { takeMoved(record, path, source, at: now) }
            case .enters, .leaves: break
            case .ready, .overflow, .rescanned, .rootLost, .rootBack:
                flushAll()
                var record = record
                record.tick = tick(record)
                output.append(record.code, tick: record.tick, time: record.time, loss: record.loss)
            }
        }
    }

    private mutating func takeCreated(_ record: TreeChangeRecord, _ path: [UInt8], at now: Int64, lookAt: ([UInt8]) -> Bool) {
        var record = record
        if let removed = takeRemoval(of: path) {
            if removed.isDirectory || record.isDirectory { put(removed, path) } else { record.code = .modified }
        }
        if record.isDirectory {
            put(record, path)
        } else {
            let awaitsClose = collapses && batchCodeAwaitsClose(record) && lookAt(path)
            hold(record, path, nil, awaitsClose: awaitsClose, at: now)
        }
    }

    /// Returns whether a close is expected; a linked, renamed-in or scanned file has none, as far as is known.
    private func batchCodeAwaitsClose(_ record: TreeChangeRecord) -> Bool { record.code != .arrived }

    private mutating func takeModified(_ record: TreeChangeRecord, _ path: [UInt8], _ source: [UInt8]?, at now: Int64) {
        if let source {
            // The file renamed over this one counts as its content, whatever its origin.
            if let moving = pending.removeValue(forKey: source), moving.record.code == .modified { put(moving.record, source, moving.source) }
            if let replaced = pending[path], replaced.record.code != .modified {
                hold(replaced.record, path, nil, awaitsClose: false, at: now)
            } else {
                hold(record, path, source, awaitsClose: false, at: now)
            }
        } else {
            hold(record, path, nil, awaitsClose: collapses, at: now)
        }
    }

    private mutating func takeClosed(_ path: [UInt8], at now: Int64) {
        guard var entry = pending[path], entry.awaitsClose else { return }
        entry.awaitsClose = false
        entry.due = min(now + quiet, entry.limit)
        finish(entry, path)
    }

    private mutating func takeRemoved(_ record: TreeChangeRecord, _ path: [UInt8], at now: Int64) {
        // An entry that was never reported needs no removal.
        if let unseen = pending.removeValue(forKey: path), unseen.record.code != .modified { return }
        guard collapses else { return put(record, path) }
        if record.isDirectory { removals[path] = nil }
        let (due, limit) = (now + Self.removalQuiet, now + Self.removalMaximum)
        var directory = Self.parent(of: path)
        removals[directory ?? [], default: Removals(due: due, limit: limit)].entries[path] = record
        while let current = directory {
            // A directory is not finished while entries below it are being removed.
            if let known = removals[current] { removals[current]?.due = min(due, known.limit) }
            directory = Self.parent(of: current)
        }
        if let known = removals[[]] { removals[[]]?.due = min(due, known.limit) }
        nextDue = min(nextDue, due)
    }

    private mutating func takeMoved(_ record: TreeChangeRecord, _ path: [UInt8], _ source: [UInt8], at now: Int64) {
        if let removed = takeRemoval(of: path) { put(removed, path) }
        if record.isDirectory {
            flush { $0 == source || $0 == path || Self.isPath($0, below: source) || Self.isPath($0, below: path) }
        } else if var moving = pending.removeValue(forKey: source) {
            if moving.record.code == .modified {
                put(moving.record, source, moving.source)
            } else {
                // The entry was never reported under its first name.
                moving.record.tick = record.tick
                finish(moving, path)
                return
            }
        }
        put(record, path, source)
    }

    // MARK: Held changes

    private mutating func hold(_ record: TreeChangeRecord, _ path: [UInt8], _ source: [UInt8]?, awaitsClose: Bool, at now: Int64) {
        var entry = pending[path] ?? Pending(record: record, source: source, awaitsClose: awaitsClose, due: 0, limit: now + maximum)
        if entry.record.code == .modified { entry.source = source ?? entry.source }
        entry.awaitsClose = awaitsClose
        entry.due = awaitsClose ? entry.limit : min(now + quiet, entry.limit)
        if !awaitsClose, quiet == 0 { entry.due = now }
        finish(entry, path)
    }

    /// Holds an entry until it is due, or reports it if it is due now.
    private mutating func finish(_ entry: Pending, _ path: [UInt8]) {
        if !entry.awaitsClose, quiet == 0 {
            pending[path] = nil
            put(entry.record, path, entry.source)
        } else {
            pending[path] = entry
            nextDue = min(nextDue, entry.due)
        }
    }

    private mutating func takeRemoval(of path: [UInt8]) -> TreeChangeRecord? {
        if removals.isEmpty { return nil }
        return removals[Self.parent(of: path) ?? []]?.entries.removeValue(forKey: path)
    }

    /// Reports the changes that are due.
    mutating func expire(at now: Int64) {
        guard nextDue <= now || now == .max else { return }
        if now == .max { return flushAll() }
        var due: [(path: [UInt8], record: TreeChangeRecord, source: [UInt8]?)] = []
        nextDue = .max
        for (path, entry) in pending {
            if entry.due <= now { due.append((path, entry.record, entry.source)) } else { nextDue = min(nextDue, entry.due) }
        }
        for (directory, group) in removals {
            if group.due > now {
                nextDue = min(nextDue, group.due)
            } else {
                for (path, record) in group.entries { due.append((path, record, nil)) }
                removals[directory] = nil
            }
        }
        for (path, record, source) in due.sorted(by: { $0.record.tick < $1.record.tick }) {
            pending[path] = nil
            put(record, path, source)
        }
    }

    private mutating func flushAll() { flush { _ in true } }

    private mutating func flush(where isMeant: ([UInt8]) -> Bool) {
        var due: [(path: [UInt8], record: TreeChangeRecord, source: [UInt8]?)] = []
        for (path, entry) in pending where isMeant(path) { due.append((path, entry.record, entry.source)) }
        for (directory, group) in removals {
            for (path, record) in group.entries where isMeant(path) {
                due.append((path, record, nil))
                removals[directory]?.entries[path] = nil
            }
            if removals[directory]?.entries.isEmpty == true { removals[directory] = nil }
        }
        for (path, record, source) in due.sorted(by: { $0.record.tick < $1.record.tick }) {
            pending[path] = nil
            put(record, path, source)
        }
        if pending.isEmpty, removals.isEmpty { nextDue = .max }
    }

    // MARK: Output

    private mutating func put(_ record: TreeChangeRecord, _ path: [UInt8], _ source: [UInt8]? = nil) {
        var record = record
        record.tick = tick(record)
        output.append(record, path: path, source: source)
    }

    /// Returns a tick that follows the order of delivery.
    private mutating func tick(_ record: TreeChangeRecord) -> UInt64 {
        lastTick = max(record.tick, lastTick + 1)
        return lastTick
    }

    /// Returns the changes to deliver now; nil if there are none.
    mutating func taken() -> TreeChangeBatch? { output.isEmpty ? nil : output.take() }

    // MARK: Paths

    private static func parent(of path: [UInt8]) -> [UInt8]? { path.lastIndex(of: 0x2F).map { Array(path[..<$0]) } }

    private static func isPath(_ path: [UInt8], below directory: [UInt8]) -> Bool {
        path.count > directory.count && path[directory.count] == 0x2F && path.starts(with: directory)
    }
}
