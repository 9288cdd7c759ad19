import Foundation
import StoreInspection
import UbiquityContainers
import UbiquityStores

/// Makes the panes' tables from facts.
struct TableMaker {
    let view: ContainerView
    let now: Date

    private var facts: WatchFacts? { view.facts }

    func table(of pane: Pane) -> Table {
        switch pane {
        case .peers: peers
        case .stores: stores
        case .items: items
        case .troubles: troubles
        case .storage: storage
        case .changes: changes
        }
    }

    /// Returns the text of an empty table; before the first inspection the contents are unknown.
    private func nothing(_ words: String) -> String {
        if facts != nil { return words }
        return view.failure.map { "the container cannot be read: \($0)" } ?? "looking at the container"
    }

    /// The table of a store's peers, each with what it has read of the others.
    private var peers: Table {
        let stores = facts?.stores ?? []
        let all = Set(stores.flatMap(\.peers).map(\.peer)).sorted()
        let numbers = Dictionary(uniqueKeysWithValues: all.enumerated().map { ($1, $0 + 1) })
        var columns = [Table.Column(title: "#", isRight: true, isFixed: true), .init(title: "Peer", isFlexible: true, isFixed: true)]
        if stores.count > 1 { columns.append(.init(title: "Store", isFlexible: true)) }
        columns += [
            .init(title: "Wrote", isRight: true), .init(title: "Bytes", isRight: true), .init(title: "Lacks", isRight: true), .init(title: "Oldest"),
            .init(title: "Receipt"),
        ]
        columns += numbers.values.sorted().map { .init(title: "of \($0)", isRight: true) }
        var rows: [Table.Row] = []
        for store in stores {
            for peer in store.peers {
                let isOwn = peer.peer == facts?.device.peer
                let name = view.names[peer.peer] + (isOwn ? " (here)" : "")
                var cells = [Table.Cell(numbers[peer.peer] ?? 0), .init(name, isOwn ? .bold : .plain)]
                if stores.count > 1 { cells.append(.init(store.name)) }
                let lacks = peer.knowledge.reduce(0) { $0 + Int($1.behind) }
                let oldest = peer.knowledge.compactMap(\.oldest).min()
                cells += [
                    .init(peer.logs, peer.isForked || peer.late > 0 ? .yellow : .plain), bytes(peer.bytes),
                    .init(lacks, lacks == 0 ? .green : .yellow), age(oldest),
                    age(peer.seen),
                ]
                let read = Dictionary(peer.knowledge.map { ($0.peer, $0) }) { first, _ in first }
                for author in all { cells.append(author == peer.peer ? .init("·", .dim) : lag(read[author])) }
                rows.append(.init(id: "\(store.name)/\(peer.peer)", cells: cells, target: .peer(peer.peer, store: store.name)))
            }
        }
        return Table(columns: columns, rows: rows, empty: nothing("no peer has a directory in a store here"))
    }

    /// Returns a cell with how much a peer has read of another, and how much it lacks.
    private func lag(_ lag: ContainerSurvey.Lag?) -> Table.Cell {
        guard let lag else { return .init("-", .dim, number: -1) }
        if lag.behind == 0 { return .init("\(lag.read)", .green, number: 0) }
        return .init("\(lag.read)+\(lag.behind)", .yellow, number: Double(lag.behind))
    }

    private func age(_ date: Date?) -> Table.Cell {
        // The oldest date has the greatest number.
        date.map { .init(Age.text(of: $0, at: now), number: now.timeIntervalSince($0), date: $0) } ?? .init("-", .dim, number: -1)
    }

    /// The table of the contents in the container, with this device's files for them.
    private var stores: Table {
        let columns: [Table.Column] = [
            .init(title: "Store", isFlexible: true, isFixed: true), .init(title: "Epoch", isRight: true), .init(title: "Local storage"),
            .init(title: "Records", isRight: true), .init(title: "Unsent", isRight: true), .init(title: "Bytes", isRight: true),
            .init(title: "Unread", isRight: true),
            .init(title: "Awaited", isRight: true), .init(title: "State", isFlexible: true),
        ]
        var rows: [Table.Row] = []
        let local = Dictionary(grouping: facts?.localStores ?? [], by: \.content)
        let contents = facts?.stores ?? []
        for store in contents where local[store.name] == nil {
            let cells: [Table.Cell] = [
                .init(store.name), .init(Int(store.epoch)), .init("-", .dim), .init("-", .dim), .init("-", .dim), .init("-", .dim), .init("-", .dim),
                .init("-", .dim), .init("not open on this device, as far as is known", .dim),
            ]
            rows.append(.init(id: store.name, cells: cells, target: .store(store.name)))
        }
        for store in (facts?.localStores ?? []).sorted(by: { ($0.content, $0.path) < ($1.content, $1.path) }) {
            let file = store.files.first { $0.isInUse }
            let epoch = file?.summary.epoch ?? contents.first { $0.name == store.content }?.epoch
            let delivery = file?.delivery
            let unsent = (file?.summary.unpublished ?? 0) + (file?.summary.isNoted == true ? 1 : 0) + (delivery?.waitingLogs ?? 0)
            let (state, style) = Self.state(of: store)
            let cells: [Table.Cell] = [
                .init(store.content), .init(epoch.map(String.init) ?? "-", number: epoch.map(Double.init)),
                .init(store.usesLocalStorage ? "1" : "0", store.usesLocalStorage ? .yellow : .plain), amount(file?.summary.records),
                amount(unsent, isGood: unsent == 0), bytes(delivery?.waitingBytes),
                amount(file?.exchange?.unread, isGood: file?.exchange?.unread == 0),
                amount(file?.exchange?.awaitedCount, isGood: file?.exchange?.awaitedCount == 0), .init(state, style),
            ]
            rows.append(.init(id: store.path, cells: cells, target: .store(store.content)))
        }
        rows.sort { $0.cells[0].text < $1.cells[0].text }
        return Table(columns: columns, rows: rows, empty: nothing("no stores in this container"))
    }

    private func bytes(_ count: Int64?) -> Table.Cell {
        count.map { .init(WatchFacts.size($0), number: Double($0)) } ?? .init("-", .dim, number: -1)
    }

    private func amount(_ count: Int?, isGood: Bool = true) -> Table.Cell {
        count.map { .init($0, isGood ? .plain : .yellow) } ?? .init("-", .dim, number: -1)
    }

    /// Returns the state of a local store in words.
    static func state(of store: LocalStore) -> (String, CellStyle) {
        if let failure = store.failure { return (failure, .red) }
        if store.isGone { return ("its files are gone", .red) }
        guard let file = store.files.first(where: \.isInUse) else { return ("no file in use", .dim) }
        if let suspended = file.suspended { return (suspended, .yellow) }
        if let request = file.summary.request { return ("asked for: \(request)", .yellow) }
        if let waiting = file.exchange?.waiting.first { return (waiting.reason, .yellow) }
        if let delivery = file.delivery, delivery.isCertain || delivery.obstacle != nil, let text = delivery.text { return (text, .yellow) }
        if file.exchange?.isCurrent == true { return ("current", .green) }
        return file.exchange == nil ? ("does not exchange", .dim) : ("not current", .yellow)
    }

    private var items: Table {
        let columns: [Table.Column] = [
            .init(title: "Status", isFixed: true), .init(title: "Done", isRight: true, isFixed: true),
            .init(title: "Bytes", isRight: true, isFixed: true), .init(title: "Item", isFlexible: true, isFixed: true), .init(title: "Where"),
        ]
        let prefix = view.path.count + 1
        let rows = (facts?.items.listed ?? []).map { line -> Table.Row in
            let name = String(line.path.dropFirst(prefix))
            let done = line.progress.map { Table.Cell("\(Int($0.fraction * 100))%", number: $0.fraction) } ?? .init("", number: -1)
            return .init(
                id: line.path,
                cells: [
                    .init(line.status.rawValue, Self.style(of: line.status)), done, line.size.map(bytes) ?? .init(""), .init(name + line.details),
                    .init(place(of: line), .dim),
                ],
                target: .item(line.path))
        }
        return Table(columns: columns, rows: rows, empty: facts?.items.failure ?? nothing("no items in this container"))
    }

    /// Returns who has an item, as far as the transport tells.
    private func place(of line: ItemListing.Line) -> String {
        let others: String
        switch facts?.transport?.kind {
        case .cloud: others = "the cloud"
        case .syncthing:
            let devices = facts?.transport?.devices ?? []
            let haveAll = devices.filter { $0.missingItems == 0 }
            guard line.isHere, line.status == .current, haveAll.count < devices.count else {
                others = devices.count == 1 ? devices[0].name : "the other devices"
                break
            }
            return haveAll.isEmpty ? "here, and another device" : "here, and \(haveAll.map(\.name).joined(separator: ", "))"
        case .directory: return "the shared directory"
        case nil, .some(.none): return line.isHere ? "here" : "elsewhere"
        }
        guard line.isHere else { return others }
        return line.status == .current ? "here, and \(others)" : "here"
    }

    private static func style(of status: ItemStatus) -> CellStyle {
        switch status {
        case .current: .green
        case .conflicted, .failed: .red
        case .downloaded, .notDownloaded, .downloading, .uploading, .waitingToUpload: .yellow
        case .excluded, .unknown: .plain
        }
    }

    private var troubles: Table {
        let columns: [Table.Column] = [
            .init(title: "Kind", isFixed: true), .init(title: "What", isFlexible: true, isFixed: true), .init(title: "Since"),
            .init(title: "Why", isFlexible: true), .init(title: "See"),
        ]
        let rows = (facts?.troubles.listed ?? []).enumerated().map { index, trouble -> Table.Row in
            let style: CellStyle = [.quarantined, .copy].contains(trouble.kind) ? .red : .yellow
            return .init(
                id: "\(trouble.kind.rawValue) \(trouble.store ?? "") \(trouble.subject)",
                cells: [
                    .init(trouble.kind.rawValue, style), .init(trouble.subject), age(trouble.since), .init(trouble.reason),
                    .init(trouble.remedy, .dim),
                ],
                target: .trouble(index))
        }
        return Table(columns: columns, rows: rows, empty: nothing("nothing is held, quarantined or in conflict, as far as is known"))
    }

    private var storage: Table {
        let columns: [Table.Column] = [
            .init(title: "Kind", isFixed: true), .init(title: "Files", isRight: true), .init(title: "Bytes", isRight: true), .init(title: "Share"),
        ]
        guard let facts else { return Table(columns: columns, empty: nothing("")) }
        let storage = facts.storage
        let kinds = storage.kinds + [("quarantined, of these", storage.quarantined), ("on this device", storage.local)]
        let isOver = facts.isOverMark
        let most = max(1, kinds.map(\.1.bytes).max() ?? 1)
        var rows = kinds.map { kind, amount -> Table.Row in
            let bar = String(repeating: "█", count: Int((Double(amount.bytes) / Double(most) * 20).rounded(.up)))
            let style: CellStyle = kind.hasPrefix("quarantined") && amount.files > 0 ? .red : .plain
            return .init(
                id: kind,
                cells: [
                    .init(kind, style), .init(amount.files), .init(WatchFacts.size(amount.bytes), number: Double(amount.bytes)),
                    .init(bar, isOver ? .red : .cyan),
                ])
        }
        if let free = facts.space.free {
            // The bar shows which part of the file system is used, because the kinds are compared with each other.
            let part = facts.space.capacity.map { $0 > 0 ? 1 - Double(free) / Double($0) : 1 } ?? 0
            let bar = String(repeating: "█", count: min(20, max(0, Int((part * 20).rounded()))))
            rows.append(
                .init(
                    id: "free",
                    cells: [
                        .init("free", isOver ? .red : .plain), .init(""), .init(WatchFacts.size(free), isOver ? .red : .plain, number: Double(free)),
                        .init("\(bar) \(Int(part * 100))% used", isOver ? .red : .cyan),
                    ]))
        }
        if let mark = facts.space.mark {
            rows.append(
                .init(
                    id: "mark",
                    cells: [
                        .init("mark", isOver ? .red : .plain), .init(""), .init(WatchFacts.size(mark), number: Double(mark)),
                        .init("config.json: storageMark", .dim),
                    ]))
        }
        return Table(columns: columns, rows: rows, empty: "")
    }

    private var changes: Table {
        let columns: [Table.Column] = [.init(title: "Time", isFixed: true), .init(title: "Change", isFlexible: true, isFixed: true)]
        let rows = view.changes.reversed().filter { $0.change.level <= view.level }.map { entry -> Table.Row in
            .init(
                id: String(entry.number),
                cells: [
                    .init(Self.clock(entry.change.time), .dim, number: Double(entry.number)), .init(entry.change.text, Self.style(of: entry.change)),
                ],
                target: .change(entry.number))
        }
        return Table(columns: columns, rows: rows, empty: "nothing has changed since this began to watch")
    }

    private static func style(of change: ContainerChange) -> CellStyle {
        switch change.kind {
        case .gone, .detached, .overflow: .red
        case .trouble: .yellow
        case .state, .back, .attached, .epoch, .store: .bold
        case .log: change.isRemoved == true ? .dim : change.isOwn == true ? .green : .blue
        case .baseline, .item: .plain
        case .receipt, .value, .draft, .other: .dim
        }
    }

    /// Returns the local time of day.
    static func clock(_ time: Date) -> String {
        let parts = Calendar.current.dateComponents([.hour, .minute, .second], from: time)
        let numbers = [parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0]
        return numbers.map { $0 < 10 ? "0\($0)" : String($0) }.joined(separator: ":")
    }
}
