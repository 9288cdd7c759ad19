import FileCoordination
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The file operations for details.
struct ViewFiles: Sendable {
    /// Returns the names in a directory; none if it does not exist.
    var names: @Sendable (_ directory: String) -> [String]
    /// Returns a file's size and time; nil if it does not exist.
    var file: @Sendable (_ path: String) -> (bytes: Int64, modified: Date)?

    /// Returns the values that lost in a store, newest first; none if it cannot be read.
    var conflicts: @Sendable (_ store: String) -> [Conflict] = { _ in [] }

    /// The operations on real files.
    static let real = ViewFiles(
        names: { (try? FileManager.default.contentsOfDirectory(atPath: $0)) ?? [] },
        file: { path in
            guard let attributes = try? FileManager.default.attributesOfItem(atPath: path), let modified = attributes[.modificationDate] as? Date,
                let size = attributes[.size] as? NSNumber
            else { return nil }
            return (size.int64Value, modified)
        },
        conflicts: { (try? InspectedStore.look(at: FilePath($0)) { try $0.conflicts(limit: 1000) }) ?? [] })
}

/// Makes the details of an entry from facts and recent changes.
struct DetailMaker {
    let view: ContainerView
    let now: Date
    let files: ViewFiles

    private var facts: WatchFacts? { view.facts }

    /// Returns the details.
    ///
    /// - Returns: nil if the entry does not exist any more, or its details must be read from its file.
    func detail(of target: Target) -> Detail? {
        switch target {
        case .peer(let peer, let store): detail(ofPeer: peer, store: store).map { Detail(target: target, title: "peer \(peer)", lines: $0) }
        case .store(let content): detail(ofStore: content).map { Detail(target: target, title: "store \(content)", lines: $0) }
        case .item(let path): detail(ofItem: path).map { Detail(target: target, title: "item", lines: $0) }
        case .trouble(let index): detail(ofTrouble: index).map { Detail(title: "what needs attention", lines: $0) }
        case .change(let number): detail(ofChange: number).map { Detail(title: "change", lines: $0) }
        case .log: nil
        }
    }

    private func detail(ofPeer name: String, store content: String) -> [Detail.Line]? {
        guard let store = facts?.stores.first(where: { $0.name == content }), let peer = store.peers.first(where: { $0.peer == name }) else {
            return nil
        }
        var lines = [
            field("peer", peer.peer), field("store", "\(store.name), epoch \(store.epoch)"), field("device", peer.device ?? "not known"),
            field("app", peer.app ?? "not known"),
            field("receipt", peer.seen.map { "\(date($0)), \(Age.text(of: $0, at: now))" } ?? "none"),
            field("wrote", "\(WatchFacts.amount(peer.logs, "log")), \(WatchFacts.size(peer.bytes)), the last \(peer.last)"),
        ]
        if !(facts?.attached.contains(name) ?? true) { lines.append(.init("has no attachment mark here", .yellow)) }
        if peer.isForked { lines.append(.init("has two logs of one sequence: its identifier was in use in two places at once", .yellow)) }
        if peer.late > 0 { lines.append(.init("\(peer.late) of its logs are named by a receipt and have not arrived", .yellow)) }
        lines += ["", "Has read of the others:"].map { .init($0, .bold) }
        for lag in peer.knowledge {
            var text = "  \(lag.read) of \(view.names[lag.peer])"
            if lag.behind > 0 { text += ": lacks \(lag.behind)" + (lag.oldest.map { ", the oldest of \(Age.text(of: $0, at: now))" } ?? "") }
            lines.append(.init(text, lag.behind == 0 ? .green : .yellow, target: .peer(lag.peer, store: content)))
        }
        lines += ["", "Its logs, the newest first:"].map { .init($0, .bold) }
        // The directory is read only when the details are shown.
        return lines + logs(of: name, store: store)
    }

    /// The greatest number of listed logs.
    private static let logs = 200

    private func logs(of peer: String, store: ContainerSurvey.Store) -> [Detail.Line] {
        let directory = "\(view.path)/CoreData/\(store.name)/\(peer)/\(store.epoch)"
        let names = files.names(directory).filter { $0.hasSuffix(".ublog") }.sorted(by: >)
        if names.isEmpty { return [.init("  none here", .dim)] }
        var lines = names.prefix(Self.logs).map { Detail.Line("  \($0)", target: .log("\(directory)/\($0)")) }
        if names.count > Self.logs { lines.append(.init("  and \(names.count - Self.logs) older ones", .dim)) }
        return lines
    }

    private func detail(ofStore content: String) -> [Detail.Line]? {
        let stores = facts?.localStores.filter { $0.content == content } ?? []
        let survey = facts?.stores.first { $0.name == content }
        guard survey != nil || !stores.isEmpty else { return nil }
        var lines: [Detail.Line] = []
        if let survey {
            lines = [
                field("store", survey.name), field("epoch", "\(survey.epoch)"),
                field("logs", "\(survey.logs), \(WatchFacts.size(survey.bytes)), of \(survey.peers.count) peers"),
            ]
        } else {
            lines = [field("store", content), .init("has no directory in the container", .yellow)]
        }
        if stores.isEmpty { lines.append(.init("No store of this device is known for it.", .dim)) }
        for store in stores {
            let (state, style) = TableMaker.state(of: store)
            lines += [
                .init(""), field("on this device", store.path), field("local storage", store.usesLocalStorage ? "1" : "0"), .init(state, style),
            ]
            for file in store.files { lines += self.lines(of: file) }
        }
        return lines
    }

    private func lines(of file: LocalStore.File) -> [Detail.Line] {
        let summary = file.summary
        var lines = [
            Detail.Line(""), field(file.isInUse ? "file in use" : "file", summary.file), field("for", summary.place),
            field("peer", summary.peer), field("epoch", "\(summary.epoch)"),
            field("records", "\(summary.records), \(WatchFacts.size(summary.bytes))"),
            field("unsent", "\(summary.unpublished) logs\(summary.isNoted ? ", and changes in none yet" : "")"),
            field("set aside", "\(summary.held) held, \(summary.quarantined) quarantined, \(summary.conflicts) in conflict"),
        ]
        if let suspended = file.suspended { lines.append(field("suspended", suspended, .yellow)) }
        if let request = summary.request { lines.append(field("asked for", request)) }
        guard let exchange = file.exchange else { return lines }
        lines.append(field("unread", "\(exchange.unread)", exchange.unread == 0 ? .plain : .yellow))
        lines.append(.init("knowledge", .bold))
        for entry in exchange.knowledge {
            lines.append(.init("  \(entry.sequence) of \(view.names[entry.peer])", target: .peer(entry.peer, store: summary.content)))
        }
        for waiting in exchange.waiting {
            let since = waiting.since.map { ", since \(Age.text(of: $0, at: now))" } ?? ""
            let logs = waiting.logs > 0 ? " from log \(waiting.sequence) on, \(waiting.logs) logs\(since)" : ""
            lines.append(.init("waiting: \(view.names[waiting.peer])\(logs)", .yellow))
            lines.append(.init("  \(waiting.reason)"))
        }
        for file in exchange.awaited {
            lines.append(.init("awaited: \(file)\(file.isDamaged ? " (there, and cannot be used)" : "")", .yellow))
        }
        return lines
    }

    private func detail(ofItem path: String) -> [Detail.Line]? {
        guard let line = facts?.items.listed.first(where: { $0.path == path }) else { return nil }
        var lines = [field("item", String(path.dropFirst(view.path.count + 1))), field("status", line.status.rawValue), field("path", path)]
        if let file = files.file(path) {
            lines.append(field("size", WatchFacts.size(file.bytes)))
            lines.append(field("modified", "\(date(file.modified)), \(Age.text(of: file.modified, at: now))"))
        } else {
            lines.append(.init("is not here", .yellow))
        }
        let troubles = (facts?.troubles.listed ?? []).filter { path.hasSuffix($0.subject) }
        return lines + troubles.map { field($0.kind.rawValue, $0.reason, .red) }
    }

    private func detail(ofTrouble index: Int) -> [Detail.Line]? {
        guard let troubles = facts?.troubles.listed, troubles.indices.contains(index) else { return nil }
        let trouble = troubles[index]
        var lines = [
            field("kind", trouble.kind.rawValue), field("what", trouble.subject), field("why", trouble.reason), field("see", trouble.remedy),
        ]
        if let since = trouble.since { lines.append(field("since", "\(date(since)), \(Age.text(of: since, at: now))")) }
        if let store = trouble.store { lines.append(field("store", store, target: .store(store))) }
        if let peer = trouble.peer {
            lines.append(field("peer", view.names[peer], target: trouble.store.map { .peer(peer, store: $0) }))
        }
        return lines + values(of: trouble)
    }

    /// Returns both sides of a conflict.
    private func values(of trouble: WatchFacts.Trouble) -> [Detail.Line] {
        switch trouble.kind {
        case .conflict:
            let store = facts?.localStores.first { $0.content == trouble.store }?.files.first(where: \.isInUse)?.summary.file
            let conflict = files.conflicts(store ?? "").first { trouble.subject.hasPrefix("\($0.record)") && $0.noticed == trouble.since }
            guard let conflict else { return [] }
            func lines(_ title: String, _ fields: [Conflict.Field]) -> [Detail.Line] {
                fields.isEmpty ? [] : ["", title].map { .init($0, .bold) } + fields.map { .init("  \($0.column) = \($0.value)".printable) }
            }
            return lines("Lost:", conflict.lost) + lines(conflict.reason == .deletion ? "Its other values:" : "Shown instead:", conflict.others)
        case .copy:
            let copy = FilePath(view.path).pushing(FilePath(trouble.subject))
            guard let original = ConflictName(copy.lastComponent?.string ?? "")?.original else { return [] }
            return [("Lost:", copy), ("Shown instead:", copy.removingLastComponent().appending(original))].flatMap { title, path -> [Detail.Line] in
                guard let file = files.file(path.string) else { return [] }
                return [
                    .init(""), .init(title, .bold), .init("  \(path.lastComponent?.string ?? "")"),
                    .init("  \(WatchFacts.size(file.bytes)), modified \(date(file.modified))"),
                ]
            }
        case .held, .quarantined, .kept: return []
        }
    }

    private func detail(ofChange number: Int) -> [Detail.Line]? {
        guard let change = view.changes.first(where: { $0.number == number })?.change else { return nil }
        var lines = [field("time", date(change.time)), field("change", change.text)]
        if let path = change.path { lines.append(field("file", path)) }
        // A list of changes of several containers leads nowhere.
        guard !view.path.isEmpty else { return lines }
        if let store = change.store { lines.append(field("store", store, target: .store(store))) }
        if let store = change.store, let peer = change.peer { lines.append(field("peer", view.names[peer], target: .peer(peer, store: store))) }
        if change.kind == .log, let path = change.path { lines.append(.init("Enter shows the log", .bold, target: .log("\(view.path)/\(path)"))) }
        return lines
    }

    private func field(_ name: String, _ value: String, _ style: CellStyle = .plain, target: Target? = nil) -> Detail.Line {
        .init([StyledText(name.padding(toLength: 16, withPad: " ", startingAt: 0), .dim), StyledText(value, style)], target: target)
    }

    private func date(_ date: Date) -> String { date.formatted(.iso8601) }
}
