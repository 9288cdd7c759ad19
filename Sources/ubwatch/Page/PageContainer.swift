import Foundation
import UbiquityContainers

/// One container on the page: the view that the terminal has of it, and what readers of the page have been sent.
struct PageContainer: Sendable {
    /// Its identifier; empty for all containers together.
    let id: String
    let account: String
    private(set) var view: ContainerView
    /// The panes that are sent.
    private let panes: [Pane]
    /// What was sent last; empty while nobody reads.
    private var tables: [Pane: PageTable] = [:]
    private var summary: PageSummary?
    private var moved = TransferHistory.Column()

    /// - Parameters:
    ///   - id: its identifier.
    ///   - account: its account.
    ///   - path: its directory.
    init(id: String, account: String, path: String) {
        (self.id, self.account, panes) = (id, account, Pane.allCases)
        view = ContainerView(path: path)
    }

    /// All containers of the account together: only what happens.
    init(overview: Void) {
        (id, account, panes) = ("", "", [.changes])
        view = ContainerView(path: "")
    }

    mutating func take(_ event: ContainerWatch.Event, at now: Date) {
        switch event {
        case .facts(let facts): view.take(facts)
        case .failed(let reason): view.fail(reason)
        case .changes(let changes): view.take(changes, at: now)
        }
    }

    /// Adds transfers that no change tells.
    mutating func add(_ done: TransferHistory.Column, at now: Date) { view.add(done, at: now) }

    /// Forgets what was sent.
    mutating func forget() { (tables, summary, moved) = ([:], nil, TransferHistory.Column()) }

    /// The whole state, for a new reader.
    ///
    /// Other readers must have been sent ``news(at:)`` before.
    mutating func whole(at now: Date) -> [PageMessage] {
        _ = news(at: now)
        var messages = summary.map { [PageMessage("summary", $0)] } ?? []
        for pane in panes {
            guard let table = tables[pane] else { continue }
            messages.append(PageMessage("table", PageMessage.TableState(container: id, pane: pane.name, whole: table)))
        }
        messages.append(PageMessage("traffic", PageMessage.Traffic(container: id, view.transfers, at: now)))
        return messages
    }

    /// The summary alone, for a reader of the overview.
    ///
    /// Other readers must have been sent ``news(at:)`` before.
    mutating func brief(at now: Date) -> [PageMessage] {
        // While nobody reads there is no news, so the last summary may be an old one.
        let new = PageSummary(view, id: id, account: account)
        summary = new
        return [PageMessage("summary", new)]
    }

    /// What is new since the last call.
    ///
    /// - Parameters:
    ///   - now: the time.
    ///   - isWhole: whether somebody reads the tables, not only the summary.
    /// - Returns: the summary if it is another, and the rest.
    mutating func news(at now: Date, isWhole: Bool = true) -> (summary: [PageMessage], rest: [PageMessage]) {
        var news: (summary: [PageMessage], rest: [PageMessage]) = ([], [])
        if !id.isEmpty {
            let new = PageSummary(view, id: id, account: account)
            if new != summary {
                summary = new
                news.summary = [PageMessage("summary", new)]
            }
        }
        let total = view.transfers.total
        if total != moved {
            let (up, down) = (total.up - moved.up, total.down - moved.down)
            moved = total
            news.rest.append(
                PageMessage(
                    "moved",
                    PageMessage.Moved(
                        container: id, time: Int(now.timeIntervalSince1970), up: [up.bytes, Int64(up.files)], down: [down.bytes, Int64(down.files)])))
        }
        guard isWhole else { return news }
        let made = view.prepare(at: now)
        for pane in panes where made.contains(pane) || tables[pane] == nil {
            guard let new = table(of: pane) else { continue }
            let old = tables.updateValue(new, forKey: pane)
            guard new != old else { continue }
            let change = old?.change(to: new)
            news.rest.append(
                PageMessage("table", PageMessage.TableState(container: id, pane: pane.name, whole: change == nil ? new : nil, change: change)))
        }
        return news
    }

    private func table(of pane: Pane) -> PageTable? {
        guard let table = view.tables[pane] else { return nil }
        guard let facts = view.facts, [.items, .stores].contains(pane) else { return PageTable(table) }
        // The rows of the items stand for the listed ones.
        let items = pane == .items && facts.transport?.kind == .cloud ? facts.items.listed : []
        let actions = Dictionary(items.map { ($0.path, facts.actions(of: $0)) }) { first, _ in first }
        return PageTable(table) { row in
            if case .item(let path)? = row.target { actions[path] ?? [] } else { facts.actions(of: row.target) }
        }
    }
}

extension TransferHistory.Amount {
    static func - (amount: Self, other: Self) -> Self { .init(files: amount.files - other.files, bytes: amount.bytes - other.bytes) }
}
