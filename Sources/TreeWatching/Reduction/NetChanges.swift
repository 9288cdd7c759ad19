/// Many changes folded to their net effect, path by path, for a reader that fell behind.
///
/// Its size is bounded by the paths that the reader knows and those that exist now, however many changes there were. For each touched path it
/// holds whether the reader knows an entry there, and where the entry that stands there now comes from.
struct NetChanges {
    private struct Place {
        /// The reader knows an entry here that has not moved away.
        var isKnown: Bool
        /// Something stands here now.
        var isPresent = false
        var isDirectory = false
        /// The path by which the reader knows what stands here; nil for what is new.
        var origin: [UInt8]?
        var isModified = false
        var hasAttributes = false
        var order = 0
    }

    private let root: [UInt8]
    private var places: [[UInt8]: Place] = [:]
    private var order = 0
    private var tick: UInt64 = 0
    private var time: Int64 = 0
    /// What the reader must be told of the tree as a whole, last.
    private var rootState: TreeChangeRecord?

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
            case .created, .arrived:
                places[path] = Place(isKnown: places[path]?.isKnown ?? false, isPresent: true, isDirectory: record.isDirectory, order: order)
            case .modified:
                guard let source = batch.relativeSource(of: record) else {
                    change(path) { $0.isModified = true }
                    break
                }
                remove(path, false)
                move(source, to: path, false)
            case .attributes: change(path) { $0.hasAttributes = true }
            case .removed: remove(path, record.isDirectory)
            case .moved:
                guard let source = batch.relativeSource(of: record) else { break }
                if record.isExchange, position < batch.records.count, isWayBack(batch.records[position], in: batch, from: source, to: path) {
                    tick = batch.records[position].tick
                    position += 1
                    exchange(source, path)
                } else {
                    move(source, to: path, record.isDirectory)
                }
            case .rootLost, .rootBack, .ready: rootState = record
            case .overflow, .rescanned, .closed: break
            }
        }
    }

    private mutating func change(_ path: [UInt8], _ body: (inout Place) -> Void) {
        var place = places[path] ?? Place(isKnown: true, isPresent: true, origin: path)
        body(&place)
        place.order = order
        places[path] = place
    }

    private mutating func remove(_ path: [UInt8], _ isDirectory: Bool) {
        var place = places[path] ?? Place(isKnown: true, isPresent: true, origin: path)
        if place.isPresent, let origin = place.origin, origin != path {
            // What is gone is what the reader knows at its origin.
            var old = places[origin] ?? Place(isKnown: true)
            old.isKnown = true
            if !old.isPresent { old.isDirectory = isDirectory }
            old.order = order
            places[origin] = old
        }
        place = Place(isKnown: place.isKnown, isDirectory: isDirectory, order: order)
        places[path] = place.isKnown ? place : nil
    }

    private mutating func move(_ source: [UInt8], to target: [UInt8], _ isDirectory: Bool) {
        let moving = leave(source, isDirectory)
        arrive(moving, at: target, isDirectory)
        if isDirectory { rekey([(source, target)]) }
    }

    private mutating func exchange(_ a: [UInt8], _ b: [UInt8]) {
        let (first, second) = (leave(a, false), leave(b, false))
        arrive(first, at: b, first.isDirectory)
        order += 1
        arrive(second, at: a, second.isDirectory)
        rekey([(a, b), (b, a)])
    }

    /// Takes away what stands at a path, and leaves what the reader must still be told about it.
    private mutating func leave(_ path: [UInt8], _ isDirectory: Bool) -> Place {
        var place = places[path] ?? Place(isKnown: true, isPresent: true, isDirectory: isDirectory, origin: path)
        let staysKnown = place.isKnown && place.origin != path
        places[path] = staysKnown ? Place(isKnown: true, isDirectory: place.isDirectory, order: order) : nil
        place.isKnown = false
        return place
    }

    private mutating func arrive(_ place: Place, at path: [UInt8], _ isDirectory: Bool) {
        var place = place
        place.isKnown = places[path]?.isKnown ?? false || place.origin == path
        place.isDirectory = isDirectory
        place.order = order
        places[path] = place
    }

    private func isWayBack(_ record: TreeChangeRecord, in batch: TreeChangeBatch, from source: [UInt8], to target: [UInt8]) -> Bool {
        record.code == .moved && record.isExchange && batch.relativePath(of: record) == source && batch.relativeSource(of: record) == target
    }

    /// Below directories that moved, everything has another path, and is told after the move.
    private mutating func rekey(_ moves: [(source: [UInt8], target: [UInt8])]) {
        func renamed(_ path: [UInt8]) -> [UInt8]? {
            for move in moves where path.count > move.source.count && path[move.source.count] == 0x2F && path.starts(with: move.source) {
                return move.target + path.dropFirst(move.source.count)
            }
            return nil
        }
        let touched = places.filter { renamed($0.key) != nil || $0.value.origin.flatMap(renamed) != nil }.sorted { $0.value.order < $1.value.order }
        for (path, _) in touched { places[path] = nil }
        for (path, place) in touched {
            var place = place
            order += 1
            place.order = order
            place.origin = place.origin.map { renamed($0) ?? $0 }
            places[renamed(path) ?? path] = place
        }
    }

    /// The net changes, between markers.
    consuming func batch() -> TreeChangeBatch {
        var buffer = TreeChangeBuffer(root: root)
        buffer.append(.overflow, tick: tick, time: time)
        for (path, place) in places.sorted(by: { $0.value.order < $1.value.order }) {
            func tell(_ code: TreeChangeRecord.Code, source: [UInt8]? = nil) {
                var record = TreeChangeRecord(tick: tick, time: time, code: code)
                record.isDirectory = place.isDirectory
                buffer.append(record, path: path, source: source)
            }
            let isReplaced = place.isKnown && place.isPresent && place.origin != path
            if !place.isPresent {
                if place.isKnown { tell(.removed) }
                continue
            }
            if isReplaced, place.isDirectory { tell(.removed) }
            if let origin = place.origin {
                if origin != path { tell(isReplaced && !place.isDirectory ? .modified : .moved, source: origin) }
                if place.isModified { tell(.modified) } else if place.hasAttributes { tell(.attributes) }
            } else {
                tell(isReplaced && !place.isDirectory ? .modified : .created)
            }
        }
        buffer.append(.rescanned, tick: tick, time: time)
        if let state = rootState, state.code != .ready { buffer.append(state.code, tick: tick, time: time, loss: state.loss) }
        return buffer.take()
    }
}
