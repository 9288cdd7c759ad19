import ArgumentParser
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

/// Runs `ubwatch peers`.
struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "Show how many logs each peer lacks of each other peer, and their age.",
        discussion: """
            Each peer's receipt says how far it has read the others. The output has a table for each store, with a row for each reading peer and a \
            column for each writing peer. A number is how many logs of the column's peer the row's peer has not read, according to its last receipt \
            that is here. Below the table is a line for each such pair, with the time of the oldest of these logs. For more than 12 peers only the \
            lines are shown. The command also reports a peer whose logs are named but not here, and a directory that cannot be listed. It only \
            reads files.

            Exit status 0; 1 if the container, or a directory of a store, cannot be read; 3 if the container is gone; 64 for wrong usage, or if it \
            is not a container.

            EXAMPLES
            ubwatch peers ~/Sync/alice/org.example.notes
            ubwatch peers --json ~/Sync/alice/org.example.notes | jq '.stores[].peers[] | select(.knowledge[].behind > 0).peer'
            """
    )

    @OptionGroup var arguments: WatchArguments

    @Option(help: ArgumentHelp("Show only one store.", valueName: "name"))
    var content: String?

    @Flag(
        help: """
            Print a JSON object: path, account, container, presence, and of each store name, epoch peers and fault, peers each with peer, device, app, seen, \
            logs, last, late, fault, and of each other peer in knowledge: peer, read, behind, oldest.
            """)
    var json = false

    /// The output of `--json`.
    private struct Output: Encodable {
        var path: String
        var account: String
        var container: String
        var presence: WatchFacts.Presence
        var stores: [ContainerSurvey.Store]
    }

    func run() async throws {
        let facts = try await TerminalProgress.awaiting(
            "looking at the container", { try await arguments.reader(items: nil, troubles: 0).facts() })
        let stores = facts.stores.filter { content == nil || $0.name == content }
        if let content, stores.isEmpty, facts.presence != .gone {
            let names = facts.stores.map(\.name).joined(separator: ", ")
            throw Refusal("\(facts.path) has no store \(content); it has: \(names)".printable)
        }
        let names = arguments.names(of: stores)
        if json {
            print(
                try jsonLine(
                    Output(path: facts.path, account: facts.account, container: facts.container, presence: facts.presence, stores: stores)))
        } else if facts.presence == .gone {
            print("the container is gone: \(facts.path.printable)")
        } else if stores.isEmpty {
            print("no stores in \(facts.path.printable)")
        } else {
            print(stores.map { PeersTable(store: $0, now: facts.time, names: names).lines.joined(separator: "\n") }.joined(separator: "\n\n"))
        }
        if facts.presence == .gone { throw ToolExit.gone }
        if stores.contains(where: { $0.fault != nil || $0.peers.contains { $0.fault != nil } }) { throw ToolExit.failure }
    }
}

/// A table of a store's peers against its peers, for people.
struct PeersTable {
    let store: ContainerSurvey.Store
    let now: Date
    let names: PeerNames

    /// The greatest number of peers in a table.
    static let widest = 12

    var lines: [String] {
        let peers = store.peers
        var lines = ["store \(store.name.printable.bold), epoch \(store.epoch): \(WatchFacts.amount(peers.count, "peer"))"]
        if let fault = store.fault { lines.append("  \(fault.printable.red)") }
        for (index, peer) in peers.enumerated() {
            let seen = peer.seen.map { "receipt of \($0.formatted(.iso8601))" } ?? "no receipt"
            let late = peer.late > 0 ? "; \(peer.late) not arrived".yellow : ""
            lines.append("  \(column(index)) \(names.title(of: peer).printable), last log \(peer.last), \(seen)\(late)")
            if let fault = peer.fault { lines.append("     \(fault.printable.red)") }
        }
        if peers.count > 1, peers.count <= Self.widest { lines += table }
        let lags = peers.enumerated().flatMap { index, peer in peer.knowledge.filter { $0.behind > 0 }.map { (index, peer, $0) } }
        for (_, peer, lag) in lags {
            let age = lag.oldest.map { ", the oldest of \($0.formatted(.iso8601)) (\(Self.age(of: $0, now)) ago)" } ?? ""
            lines.append("  \(names[peer.peer].printable) lacks \(WatchFacts.amount(Int(lag.behind), "log")) of \(names[lag.peer].printable)\(age)")
        }
        if lags.isEmpty, peers.count > 1, peers.allSatisfy({ $0.fault == nil }) { lines.append("  " + "each has read all that is here".green) }
        return lines
    }

    private var table: [String] {
        let peers = store.peers
        let width = max(6, peers.flatMap(\.knowledge).map { "\($0.behind)".count + 2 }.max() ?? 0)
        func cell(_ text: String) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
        let head = "     " + peers.indices.map { cell("of \($0 + 1)") }.joined()
        return [head]
            + peers.enumerated().map { index, peer in
                let lags = Dictionary(peer.knowledge.map { ($0.peer, $0.behind) }) { $1 }
                let cells = peers.map { other in
                    let text = other.peer == peer.peer ? "–" : lags[other.peer].map { "\($0)" } ?? "?"
                    return (lags[other.peer] ?? 0) > 0 ? cell(text).yellow : cell(text)
                }
                return "  \(column(index)) \(cells.joined())"
            }
    }

    private func column(_ index: Int) -> String { "\(index + 1)".padding(toLength: 2, withPad: " ", startingAt: 0) }

    /// Returns the time since an event, in its largest unit.
    static func age(of time: Date, _ now: Date) -> String {
        let seconds = max(0, Int(now.timeIntervalSince(time)))
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
