import ArgumentParser
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubwatch conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "Show conflicting, held, quarantined and set-aside entries, with reasons.",
        discussion: """
            For a container: copies of items that lost a conflict, and for each store of this device, or for a store alone: values of records that \
            lost against another device's, records that are hidden because a record they refer to is hidden, and unusable files; also data that was \
            set aside when content was removed. Records are named by table and key; `ubcontrol store conflicts` shows their values. The command \
            only reads files.

            Exit status 0 if there is nothing, 5 if there is something, 1 if the container or a store of it cannot be read, with the reason on \
            standard error and the findings so far; 3 if the container is gone, 64 for wrong usage, or if there is no such container or store.

            EXAMPLES
            ubwatch conflicts ~/Sync/alice/org.example.notes
            ubwatch conflicts ~/Notes.sqlite
            ubwatch conflicts --json ~/Sync/alice/org.example.notes | jq -r '.listed[] | [.kind, .subject, .reason] | @tsv'
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The container, by its identifier or path, or a store: its content name, its path, or an SQLite file.", valueName: "container-or-store"),
        completion: .file())
    var path: String

    @Option(
        name: .long,
        help: ArgumentHelp("A store of this device in addition to those that the device home knows. May be given again.", valueName: "file"),
        completion: .file())
    var store: [String] = []

    @Option(help: ArgumentHelp("The greatest number of listed entries of each kind, newest first; all are counted.", valueName: "count"))
    var limit = 1000

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    @Flag(help: "Print a JSON object: counts by kind, isWhole, listed (kind, subject, reason, since, store, peer, remedy), failures (path, reason).")
    var json = false

    @Flag(help: "Show peers by their identifiers, not by the names of their devices.")
    var verbose = false

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit takes a number from 0.") }
    }

    func run() async throws {
        let home = home.map { DeviceHome(FilePath($0)) } ?? (try? DeviceHome.standard())
        var troubles = WatchFacts.Troubles()
        var isGone = false
        var names = PeerNames.identifiers
        let named = place(in: home)
        if let summary = try storeSummary(at: named) {
            // A store alone reports its own problems, so its container's place in this device's home is not needed.
            let reading = ContainerReading(path: named, home: nil, options: .init(troubles: limit), first: nil)
            reading.addTroubles(of: summary, to: &troubles)
        } else {
            let options = WatchReader.Options(stores: store.map { FilePath($0) }, troubles: limit, asksForStatus: false)
            let facts = try await TerminalProgress.awaiting(
                "looking at the container", { try await WatchReader(named, home: home, options: options).facts() })
            (troubles, isGone) = (facts.troubles, facts.presence == .gone)
            if !verbose { names = facts.names }
        }
        print(json ? try jsonLine(troubles) : troubles.named(names).lines.joined(separator: "\n"))
        for failure in troubles.failures { printError("Error: \(failure.text)".printable) }
        if isGone { throw ToolExit.gone }
        if !troubles.failures.isEmpty { throw ToolExit.failure }
        if !troubles.counts.isEmpty { throw ToolExit.troubles }
    }

    /// Returns the container or the store that the argument names.
    private func place(in home: DeviceHome?) -> FilePath {
        let container = KnownContainer.path(named: path, in: home)
        return container == FilePath(path) ? KnownStore.paths(named: path, in: home)[0] : container
    }

    /// Returns the files of the store at the path; nil if the path is a directory.
    private func storeSummary(at path: FilePath) throws -> StoreSummary? {
        if PathFacts(at: path).kind == .directory { return nil }
        let files = InspectedStore.files(at: path)
        // A missing container looks like a missing store.
        if files.isEmpty { return nil }
        return try InspectedStore.look(at: path) { try $0.summary() }
    }
}

extension WatchFacts.Troubles {
    /// The problems for people, one on each line.
    var lines: [String] {
        guard !counts.isEmpty else {
            let words = "nothing is in conflict, held, quarantined or set aside"
            return [failures.isEmpty ? words.green : "\(words) in what can be read".yellow]
        }
        var lines: [String] = []
        for kind in WatchFacts.Trouble.Kind.allCases {
            guard let count = counts[kind.rawValue] else { continue }
            let found = listed.filter { $0.kind == kind }
            lines.append("\(kind.text(count))\(found.count < count ? ", \(found.count) of them here" : "")".bold)
            for trouble in found {
                let store = trouble.store.map { " in \($0)" } ?? ""
                let since = trouble.since.map { ", since \($0.formatted(.iso8601))" } ?? ""
                lines.append("  \(trouble.subject.printable)\(store.printable): \(trouble.reason.printable)\(since)")
                lines.append("    see: \(trouble.remedy.printable)")
            }
        }
        return lines
    }
}
