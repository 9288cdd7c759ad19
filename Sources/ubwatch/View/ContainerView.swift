import Foundation
import StoreInspection
import UbiquityContainers

/// The view's state of one container: its facts, recent changes, and the state of each pane.
struct ContainerView: Sendable {
    /// The container's directory.
    let path: String
    private(set) var facts: WatchFacts?
    /// The reason why there are no facts, or no newer ones; nil if there are.
    private(set) var failure: String?
    private(set) var names = PeerNames()
    private(set) var transfers = TransferHistory()
    private var itemTransfers = ItemTransfers()
    /// The recent changes of every level, newest first; dropped changes are not counted.
    private(set) var changes: [NumberedChange] = []
    /// The level of the visible changes.
    var level = ContainerChange.Level.file {
        didSet { if level != oldValue { stale.insert(.changes) } }
    }
    private(set) var tables: [Pane: Table] = [:]
    private(set) var states: [Pane: TableState] = [:]
    /// The panes whose tables are out of date.
    private var stale = Set(Pane.allCases)
    private var count = 0

    /// A change with its number.
    struct NumberedChange: Sendable, Equatable {
        var number: Int
        var change: ContainerChange
    }

    /// The number of changes to keep at the two finer levels together, and at the coarsest level.
    private static let limit = 1_000

    init(path: String) { self.path = path }

    /// The container's name, for people.
    var name: String { facts?.container ?? path.split(separator: "/").last.map(String.init) ?? path }

    mutating func take(_ facts: WatchFacts) {
        if facts.items != self.facts?.items || self.facts == nil { stale.insert(.items) }
        add(itemTransfers.take(facts.items, of: facts.transport?.kind), at: facts.time)
        stale.formUnion([.peers, .stores, .troubles, .storage])
        (names, failure) = (facts.names, nil)
        self.facts = facts.named(names)
    }

    /// Adds what was transferred elsewhere.
    mutating func add(_ done: TransferHistory.Column, at now: Date) {
        if done.up.files > 0 { transfers.add(done.up, \.up, at: now) }
        if done.down.files > 0 { transfers.add(done.down, \.down, at: now) }
    }

    mutating func fail(_ reason: String) {
        failure = reason
        // An empty pane shows the reason.
        if facts == nil { stale = Set(Pane.allCases) }
    }

    mutating func take(_ new: [ContainerChange], at now: Date) {
        guard !new.isEmpty else { return }
        for change in new {
            count += 1
            changes.append(NumberedChange(number: count, change: change))
            guard let direction = change.direction else { continue }
            transfers.add(.init(files: 1, bytes: change.bytes ?? 0), direction, at: now)
        }
        // Dropping in bulk avoids moving the array for each change of a burst.
        if changes.count > 2 * Self.limit {
            let important = changes.filter { $0.change.level == .container }.suffix(Self.limit / 4)
            let rest = changes.filter { $0.change.level != .container }.suffix(Self.limit)
            changes = (important + rest).sorted { $0.number < $1.number }
        }
        stale.insert(.changes)
    }

    /// Updates ages after time has passed.
    mutating func age(to now: Date) {
        transfers.advance(to: now)
        stale.formUnion([.peers, .stores, .troubles])
    }

    /// Makes the tables that are out of date.
    ///
    /// - Returns: their panes.
    @discardableResult
    mutating func prepare(at now: Date) -> Set<Pane> {
        defer { stale = [] }
        for pane in stale {
            let table = TableMaker(view: self, now: now).table(of: pane)
            tables[pane] = table
            states[pane, default: TableState()].take(table)
        }
        return stale
    }

    /// Changes the state of a pane.
    mutating func look(at pane: Pane, _ change: (inout TableState, Table) -> Void) {
        guard let table = tables[pane] else { return }
        change(&states[pane, default: TableState()], table)
    }

    /// Copies the panes' states from another state of the container.
    mutating func adopt(_ other: ContainerView) {
        (states, level) = (other.states, other.level)
        stale = Set(Pane.allCases)
    }

    /// Returns the selected row of a pane.
    func chosen(in pane: Pane) -> Table.Row? { tables[pane].flatMap { states[pane]?.row(of: $0) } }

    /// Returns the number of rows of a pane, without filtering.
    func rows(in pane: Pane) -> Int { tables[pane]?.rows.count ?? 0 }
}
