package import SystemPackage

/// What a query has found, what it has shown, and when it shows the difference; it reads no file and knows no clock.
package struct MetadataQueryState: Sendable {
    /// Tells whether an item is looked for.
    package typealias Predicate = @Sendable (MetadataItem) -> Bool
    /// Tells whether the first of two items comes first.
    package typealias Order = @Sendable (MetadataItem, MetadataItem) -> Bool

    package enum Phase: Sendable, Hashable {
        /// Not begun, or at its end; what was shown stays.
        case stopped
        /// Until everything that was there at the beginning is found.
        case gathering
        /// Everything is found, and what changes is followed.
        case live
    }

    /// What is to be done.
    package enum Action: Sendable, Hashable {
        case tell(MetadataQueryUpdate)
        /// Say so when a batching interval has passed.
        case wait
    }

    /// What a look at the files has found.
    package enum Finding: Sendable, Hashable {
        /// An item is there, as it is now; its status is nil, for files do not tell.
        case item(MetadataItem)
        /// No item is there, nor below it if one was.
        case absent(FilePath)
        /// No item is there, nor below it, whether one was there or not.
        case nothingBelow(FilePath)
    }

    package private(set) var phase = Phase.stopped
    /// Of what kind the last update was; nil before the first.
    private var told: MetadataQueryUpdate.Kind?
    private var predicate: Predicate
    private var order: Order
    /// Everything that is there, whether it is looked for or not.
    private var items: [FilePath: MetadataItem] = [:]
    private var shown: [FilePath: MetadataItem] = [:]
    /// All that match, in order, as they were shown last.
    package private(set) var results: [MetadataItem] = []
    /// What may differ from what is shown.
    private var touched: Set<FilePath> = []
    private var isWaiting = false
    /// How often updates were disabled and not enabled again.
    private var holds = 0
    /// What updates that were held back would have told of the phase.
    private var isPhaseUntold = false

    package init(predicate: @escaping Predicate, order: @escaping Order) {
        self.predicate = predicate
        self.order = order
    }

    /// Begins, or begins again.
    package mutating func start(predicate: @escaping Predicate, order: @escaping Order) -> [Action] {
        (self.predicate, self.order) = (predicate, order)
        phase = .gathering
        isWaiting = false
        touched = []
        items = [:]
        let removed = results
        (shown, results) = ([:], [])
        isPhaseUntold = false
        return [tell(MetadataQueryUpdate(kind: .gatheringBegan, added: [], changed: [], removed: removed, results: []))]
    }

    /// Ends; the results stay as they are.
    package mutating func stop() {
        phase = .stopped
        (items, touched, isWaiting) = ([:], [], false)
    }

    /// Takes in what was found while gathering, and shows it.
    package mutating func gathered(_ found: [Finding]) -> [Action] {
        take(found)
        return phase == .gathering ? flush(.gatheringProgressed) : schedule()
    }

    /// Everything is found that was there at the beginning.
    package mutating func finish() -> [Action] {
        guard phase == .gathering else { return [] }
        phase = .live
        guard holds == 0 else {
            isPhaseUntold = true
            return []
        }
        return flush(.gatheringFinished, evenIfSame: true)
    }

    /// Takes in what was found later.
    ///
    /// - Parameters:
    ///   - found: what was found, in this order.
    ///   - isUrgent: whether it is shown at once rather than with what follows within the batching interval.
    /// - Returns: what is to be done.
    package mutating func found(_ found: [Finding], isUrgent: Bool = false) -> [Action] {
        take(found)
        guard isUrgent else { return schedule() }
        return flush(phase == .gathering ? .gatheringProgressed : .updated)
    }

    /// Takes in how items stand.
    package mutating func stand(_ statuses: [FilePath: ItemStatus]) -> [Action] {
        for (path, status) in statuses where items[path] != nil && items[path]?.status != status {
            items[path]?.status = status
            touched.insert(path)
        }
        return schedule()
    }

    /// Nothing below a directory is to be shown any more, from now on and whatever holds updates back: no other account may see it.
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

    /// A batching interval has passed.
    package mutating func intervalPassed() -> [Action] {
        guard isWaiting else { return [] }
        isWaiting = false
        // What is told while it gathers is part of that.
        return flush(phase == .gathering ? .gatheringProgressed : .updated)
    }

    /// Results stay as they are until updates are enabled as often as they were disabled.
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

    /// The items that are known, at or below a path.
    package func known(below path: FilePath) -> [FilePath] { items.keys.filter { $0.starts(with: path) } }

    // MARK: Taking in

    private mutating func take(_ found: [Finding]) {
        guard phase != .stopped else { return }
        for finding in found {
            switch finding {
            case .item(var item):
                let before = items[item.path]
                // What lay in a directory is gone with it.
                if let before, before.isDirectory, !item.isDirectory || item.isPackage != before.isPackage { remove(below: item.path) }
                item.status = before?.status
                guard item != before else { continue }
                items[item.path] = item
                touched.insert(item.path)
            case .absent(let path):
                if items[path]?.isDirectory == true { remove(below: path) } else { remove(path) }
            case .nothingBelow(let path): remove(below: path)
            }
        }
    }

    private mutating func remove(_ path: FilePath) {
        if items.removeValue(forKey: path) != nil { touched.insert(path) }
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

    /// Shows what is different.
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

    /// Brings the results up to date, for less than sorting them anew.
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

    /// The order, made total: the same items are always in the same order.
    private func isBefore(_ first: MetadataItem, _ second: MetadataItem) -> Bool {
        if order(first, second) { return true }
        if order(second, first) { return false }
        return first.path.string < second.path.string
    }

    private mutating func tell(_ update: MetadataQueryUpdate) -> Action {
        told = update.kind
        return .tell(update)
    }

    /// Where things stand, for a reader that comes late; nil before the first update.
    package var present: MetadataQueryUpdate? {
        told.map { told in
            let kind: MetadataQueryUpdate.Kind = told == .updated ? .gatheringFinished : told
            return MetadataQueryUpdate(kind: kind, added: results, changed: [], removed: [], results: results)
        }
    }
}
