import Foundation
import Rainbow
import StoreInspection
import ToolSupport
import UbiquityContainers
import UbiquityStores

extension WatchFacts {
    /// Returns the facts for people, one on each line.
    ///
    /// - Parameter names: the names of the peers.
    /// - Returns: the lines, without their ends.
    func lines(_ names: PeerNames) -> [String] {
        var lines = [
            "\(container.printable.bold) of \(account.printable.bold)", "  \(path.printable)", "  \(presenceText)",
            "  attached: \(attached.isEmpty ? "nobody" : attached.map { names[$0] }.joined(separator: ", ").printable)",
            "  this device: \(state.text)",
        ]
        lines += reasons.map { "    \($0.printable)" }
        lines += remedies.map { "    see: \($0.printable.bold)" }
        if let transport { lines += text(of: transport) }
        for store in localStores { lines += text(of: store) }
        if stores.isEmpty, presence != .gone { lines.append("  no stores") }
        for store in stores { lines += [""] + text(of: store, names) }
        if presence != .gone { lines += [""] + closing }
        return lines
    }

    private var presenceText: String {
        switch presence {
        case .there: "the container is there"
        case .unmarked: "the container is there, without this device's mark".yellow
        case .replaced: "the container is another directory than before".yellow
        case .gone: "the container is gone".red
        }
    }

    private func text(of transport: TransportCondition) -> [String] {
        // The doctor says how to name one.
        guard transport.kind != .none else { return [] }
        var lines = ["  carried by: \(transport.kind)\(transport.isReachable ? "" : ", which does not work now".red)"]
        for device in transport.devices {
            var parts = [device.isPaused ? "paused".yellow : device.isConnected ? "connected".green : "not connected".yellow]
            if let seen = device.lastSeen, !device.isConnected { parts.append("last seen \(seen.formatted(.iso8601))") }
            if let bytes = device.missingBytes, let items = device.missingItems {
                parts.append(items == 0 ? "has everything" : "lacks \(Self.amount(items, "file")), \(Self.size(bytes))")
            }
            lines.append("    \(device.name.printable): \(parts.joined(separator: ", "))")
        }
        return lines
    }

    private func text(of store: LocalStore) -> [String] {
        guard !store.isGone else { return ["  store \(store.content.printable) here: \(store.path.printable), which is gone"] }
        var lines = [
            "  store \(store.content.printable.bold) here: \(store.path.printable), local storage \(store.usesLocalStorage ? 1 : 0)"
        ]
        for file in store.files where file.isInUse {
            let summary = file.summary
            var parts = ["epoch \(summary.epoch)", Self.amount(summary.records, "record")]
            if summary.unpublished > 0 || summary.isNoted { parts.append("not all has gone out".yellow) }
            if let exchange = file.exchange {
                parts.append(exchange.isCurrent ? "current".green : exchange.isImported ? "all that is here is read" : "not all is read".yellow)
            }
            if file.suspended != nil { parts.append("suspended".yellow) }
            lines.append("    \(parts.joined(separator: ", "))")
            if let text = file.delivery?.text { lines.append("    \(text.yellow)") }
        }
        return lines
    }

    private func text(of store: ContainerSurvey.Store, _ names: PeerNames) -> [String] {
        var lines = ["store \(store.name.printable.bold), epoch \(store.epoch): \(Self.amount(store.logs, store.bytes))"]
        if let fault = store.fault { lines.append("  \(fault.printable.red)") }
        for peer in store.peers {
            let seen = peer.seen.map { "receipt of \($0.formatted(.iso8601))" } ?? "no receipt"
            lines.append("  \(names.title(of: peer).printable)")
            let late = peer.late > 0 ? "; \(peer.late) more not arrived".yellow : ""
            lines.append("    wrote \(Self.amount(peer.logs, peer.bytes)), the last \(peer.last); \(seen)\(late)")
            if let fault = peer.fault { lines.append("    \(fault.printable.red)") }
            let behind = peer.knowledge.filter { $0.behind > 0 }
            for lag in behind { lines.append("    has read \(lag.read) of \(names[lag.peer].printable): \("\(lag.behind) behind".yellow)") }
            let current = peer.knowledge.count - behind.count
            if current == 1, let only = peer.knowledge.first(where: { $0.behind == 0 }) {
                lines.append("    has read \(only.read) of \(names[only.peer].printable): \("current".green)")
            } else if current > 1 {
                lines.append("    has read all of \(current) peers: \("current".green)")
            }
        }
        return lines
    }

    private var closing: [String] {
        let kinds = [
            ("documents", storage.documents), ("logs", storage.logs), ("large values", storage.values), ("baselines", storage.baselines),
            ("receipts", storage.receipts), ("being written", storage.temporary), ("other", storage.other), ("stores of this device", storage.local),
        ]
        let taken = kinds.filter { $0.1.files > 0 }.map { "\($0.0) \(Self.size($0.1.bytes))" }
        let free = space.free.map { free in "; \(Self.size(free)) free\(self.space.capacity.map { " of \(Self.size($0))" } ?? "")" } ?? ""
        let line = "space: \(taken.isEmpty ? "none" : taken.joined(separator: ", "))\(free)"
        var lines = [isOverMark ? line.red : line]
        if let failure = items.failure {
            lines.append("items: \(failure.printable)")
        } else {
            let statuses = items.byStatus.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            let elsewhere = items.elsewhere > 0 ? ", \(items.elsewhere) of them only on other devices" : ""
            lines.append("items: \(items.count)\(elsewhere)\(statuses.isEmpty ? "" : " (\(statuses.joined(separator: ", ")))")")
        }
        let troubles = Trouble.Kind.allCases.compactMap { kind in self.troubles.counts[kind.rawValue].map(kind.text) }
        if !troubles.isEmpty {
            lines.append("to look at: \(troubles.joined(separator: ", ")); see `ubwatch conflicts \(path.shellWord)`".printable.yellow)
        }
        return lines
    }

    private static func amount(_ logs: Int, _ bytes: Int64) -> String { "\(amount(logs, "log")), \(size(bytes))" }

    /// Returns a size in bytes, for people.
    static func size(_ bytes: Int64) -> String { bytes.formatted(.byteCount(style: .file, spellsOutZero: false)) }
}

extension AccountState {
    /// The state in words, with a colour.
    var text: String {
        switch self {
        case .idle: words.green
        case .suspended, .stuck: words.red
        case .signedOut, .settingUp, .waitingForNetwork, .uploading, .downloading: words.yellow
        }
    }

    /// The state in words.
    var words: String {
        switch self {
        case .signedOut: "signed out"
        case .settingUp: "setting up"
        case .suspended: "suspended"
        case .stuck: "stuck"
        case .waitingForNetwork: "waiting for the network"
        case .uploading: "uploading"
        case .downloading: "downloading"
        case .idle: "idle"
        }
    }
}

extension WatchFacts.Trouble.Kind {
    /// Returns a number of problems in words.
    func text(_ count: Int) -> String {
        let words =
            switch self {
            case .copy: ("conflict copy", "conflict copies")
            case .conflict: ("value that lost", "values that lost")
            case .held: ("held record", "held records")
            case .quarantined: ("quarantined file", "quarantined files")
            case .kept: ("thing set aside", "things set aside")
            }
        return "\(count) \(count == 1 ? words.0 : words.1)"
    }
}
