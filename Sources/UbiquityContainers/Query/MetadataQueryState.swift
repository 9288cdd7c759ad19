package import SystemPackage

/// The found and the reported items of a query, and the decisions when to report; it reads no file and uses no clock.
package struct MetadataQueryState: Sendable {
    /// Returns whether an item matches.
    package typealias Predicate = @Sendable (MetadataItem) -> Bool
    /// Returns whether the first of two items comes first.
    package typealias Order = @Sendable (MetadataItem, MetadataItem) -> Bool

    package enum Phase: Sendable, Hashable {
        /// Before the start or after the end; reported results stay.
        case stopped
        /// Until the query has found all items that existed at the start.
        case gathering
        /// All items are found, and changes are followed.
        case live
    }

    /// The actions for the caller.
    package enum Action: Sendable, Hashable {
        case tell(MetadataQueryUpdate)
        /// Call back after the batching interval.
        case wait
    }

    /// The result of inspecting files.
    package enum Finding: Sendable, Hashable {
        /// An item exists; its state is nil if it is here, because files do not tell it.
        case item(MetadataItem)
        /// No item is at the path; if one was, everything below it is gone too.
        case absent(FilePath)
        /// No item is at the path or below it, whether or not one was there.
        case nothingBelow(FilePath)
    }

    package private(set) var phase = Phase.stopped
    /// The kind of the last update; nil before the first.
    private var told: MetadataQueryUpdate.Kind?
    private var predicate: Predicate
    private var order: Order
    /// All existing items, whether they match or not.
    private var items: [FilePath: MetadataItem] = [:]
    /// The directories with items at any depth, each with the number of items and of such directories directly in it.
    private var counts: [FilePath: Int] = [:]
    private var shown: [FilePath: MetadataItem] = [:]
    /// All matching items in order, as last reported.
    package private(set) var results: [MetadataItem] = []
    /// The paths that may differ from the reported results.
    private var touched: Set<FilePath> = []
    private var isWaiting = false
    /// The number of disable calls without a matching enable call.
    private var holds = 0
    /// Whether the held updates contained a change of the phase.
    private var isPhaseUntold = false

    package init(predicate: @escaping Predicate, order: @escaping Order) {
        self.predicate = predicate
        self.order = order
    }

    /// Starts or restarts.
    package mutating func start(predicate: @escaping Predicate, order: @escaping Order) -> [Action] {
        (self.predicate, self.order) = (predicate, order)
        phase = .gathering
        isWaiting = false
        touched = []
        (items, counts) = ([:], [:])
        let removed = results
        (shown, results) = ([:], [])
        isPhaseUntold = false
        return [tell(MetadataQueryUpdate(kind: .gatheringBegan, added: [], changed: [], removed: removed, results: []))]
    }

    /// Stops; the results stay.
    package mutating func stop() {
        phase = .stopped
        (items, counts, touched, isWaiting) = ([:], [:], [], false)
    }

    /// Adds items found while gathering, and reports them.
    package mutating func gathered(_ found: [Finding]) -> [Action] {
        take(found)
        return phase == .gathering ? flush(.gatheringProgressed) : schedule()
    }

    /// Ends the gathering: all items that existed at the start are found.
    package mutating func finish() -> [Action] {
        guard phase == .gathering else { return [] }
        phase = .live
        guard holds == 0 else {
            isPhaseUntold = true
            return []
        }
        return flush(.gatheringFinished, evenIfSame: true)
    }

    /// Adds later findings.
    ///
    /// - Parameters:
    ///   - found: the findings, in this order.
    ///   - isUrgent: whether to report them at once instead of after the batching interval.
    /// - Returns: the actions for the caller.
    package mutating func found(_ found: [Finding], isUrgent: Bool = false) -> [Action] {
        take(found)
        guard isUrgent else { return schedule() }
        return flush(phase == .gathering ? .gatheringProgressed : .updated)
    }

    /// Adds states.
    package mutating func stand(_ states: [FilePath: ItemState]) -> [Action] {
        for (path, state) in states where items[path] != nil && items[path]?.state != state {
            items[path]?.state = state
            touched.insert(path)
        }
        return schedule()
    }

    /// Removes everything below a directory from the results at once, even while updates are disabled: no other account
    /// may see it.
    package mutating func empty(_ directory: FilePath) -> [Action] {
        remove(below: directory)
        let (held, others) = (holds, holds > 0 ? touched.filter { !$0.starts(with: directory) } : [])
        holds = 0
        touched.subtract(others)
        defer {
            holds = held
            touched.formUnion(others)
        }
        return flush(phase == .gathering || isPhaseUntold ? .gatheringProgressed : .updated)
    }

    /// Handles the end of a batching interval.
    package mutating func intervalPassed() -> [Action] {
        guard isWaiting else { return [] }
        isWaiting = false
        // Reports during gathering are part of the gathering.
        return flush(phase == .gathering ? .gatheringProgressed : .updated)
    }

    /// Freezes the results until as many calls have enabled updates as have disabled them.
    package mutating func disableUpdates() { holds += 1 }

    package mutating func enableUpdates() -> [Action] {
        precondition(holds > 0, "Updates of a query were enabled more often than they were disabled")
        holds -= 1
        guard holds == 0 else { return [] }
        if isPhaseUntold {
            isPhaseUntold = false
            return flush(.gatheringFinished, evenIfSame: true)
        }
        return flush(phase == .gathering ? .gatheringProgressed : .updated)
    }

    /// Returns the known items at or below a path; takes no time where there is none.
    package func known(below path: FilePath) -> [FilePath] {
        counts[path] == nil ? [path].filter { items[$0] != nil } : items.keys.filter { $0.starts(with: path) }
    }

    // MARK: Taking in

    private mutating func take(_ found: [Finding]) {
        guard phase != .stopped else { return }
        for finding in found {
            switch finding {
            case .item(var item):
                let before = items[item.path]
                // The items in a directory disappear with it.
                if let before, before.isDirectory, !item.isDirectory || item.isPackage != before.isPackage { remove(below: item.path) }
                item.state = item.state ?? before?.state
                guard item != before else { continue }
                if items.updateValue(item, forKey: item.path) == nil { count(item.path) }
                touched.insert(item.path)
            case .absent(let path):
                if items[path]?.isDirectory == true { remove(below: path) } else { remove(path) }
            case .nothingBelow(let path): remove(below: path)
            }
        }
    }

    private mutating func remove(_ path: FilePath) {
        guard items.removeValue(forKey: path) != nil else { return }
        touched.insert(path)
        uncount(path)
    }

    private mutating func count(_ path: FilePath) {
        var place = path
        while place.lastComponent != nil {
            place.removeLastComponent()
            counts[place, default: 0] += 1
            if counts[place] != 1 { return }
        }
    }

    private mutating func uncount(_ path: FilePath) {
        var place = path
        while place.lastComponent != nil {
            place.removeLastComponent()
            counts[place] = counts[place].flatMap { $0 > 1 ? $0 - 1 : nil }
            if counts[place] != nil { return }
        }
    }

    private mutating func remove(below path: FilePath) {
        for path in known(below: path) { remove(path) }
    }

    // MARK: Showing

    private mutating func schedule() -> [Action] {
        guard phase != .stopped, !touched.isEmpty, !isWaiting, holds == 0 else { return [] }
        isWaiting = true
        return [.wait]
    }

    /// Reports the differences.
    private mutating func flush(_ kind: MetadataQueryUpdate.Kind, evenIfSame: Bool = false) -> [Action] {
        guard phase != .stopped, holds == 0 else { return [] }
        var update = MetadataQueryUpdate(kind: kind, added: [], changed: [], removed: [], results: [])
        for path in touched {
            let new = items[path].flatMap { predicate($0) ? $0 : nil }
            switch (shown[path], new) {
            case (nil, nil): continue
            case (nil, let new?): update.added.append(new)
            case (let old?, nil): update.removed.append(old)
            case (let old?, let new?):
                if old == new { continue }
                update.changed.append(new)
            }
            shown[path] = new
        }
        touched = []
        let isSame = update.added.isEmpty && update.changed.isEmpty && update.removed.isEmpty
        guard !isSame || evenIfSame else { return [] }
        update.added.sort(by: isBefore)
        update.changed.sort(by: isBefore)
        update.removed.sort(by: isBefore)
        if !isSame { arrange(update) }
        update.results = results
        return [tell(update)]
    }

    /// Updates the results at less cost than sorting them again.
    private mutating func arrange(_ update: MetadataQueryUpdate) {
        let gone = Set((update.changed + update.removed).map(\.path))
        let stay = gone.isEmpty ? results : results.filter { !gone.contains($0.path) }
        let new = (update.added + update.changed).sorted(by: isBefore)
        var merged: [MetadataItem] = []
        merged.reserveCapacity(stay.count + new.count)
        var next = new.makeIterator()
        var candidate = next.next()
        for item in stay {
            while let new = candidate, isBefore(new, item) {
                merged.append(new)
                candidate = next.next()
            }
            merged.append(item)
        }
        while let new = candidate {
            merged.append(new)
            candidate = next.next()
        }
        results = merged
    }

    /// Compares by the order, made total: equal results always have the same order.
    private func isBefore(_ first: MetadataItem, _ second: MetadataItem) -> Bool {
        if order(first, second) { return true }
        if order(second, first) { return false }
        return first.path.string < second.path.string
    }

    private mutating func tell(_ update: MetadataQueryUpdate) -> Action {
        told = update.kind
        return .tell(update)
    }

    /// The current state for a late reader; nil before the first update.
    package var present: MetadataQueryUpdate? {
        told.map { told in
            let kind: MetadataQueryUpdate.Kind = told == .updated ? .gatheringFinished : told
            return MetadataQueryUpdate(kind: kind, added: results, changed: [], removed: [], results: results)
        }
    }
}
