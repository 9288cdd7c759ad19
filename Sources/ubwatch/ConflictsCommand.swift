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
        abstract: "Show what is in conflict, held, quarantined or set aside, with reasons.",
        discussion: """
            Of a container: copies of items that lost a conflict, and of each store of this device, or of a store alone: values of records that lost \
            against another device's, records that are not shown since what they refer to is not, and files that cannot be used; and what was set \
            aside when content was removed. Records are named by table and key; their values are shown by `ubcontrol store conflicts`. It reads files only.

            Exit status 0 where there is nothing, 5 where there is something, 1 where it, or a store of it, cannot be read, with the reason on standard \
            error and what was found all the same; 3 where the container is gone, 64 for wrong usage, or where there is no such container or store.

            EXAMPLES
            ubwatch conflicts ~/Sync/alice/org.example.notes
            ubwatch conflicts ~/Notes.sqlite
            ubwatch conflicts --json ~/Sync/alice/org.example.notes | jq -r '.listed[] | [.kind, .subject, .reason] | @tsv'
            """
    )

    @Argument(
        help: ArgumentHelp("The container, or a store: the path that the app gave it, or an SQLite file.", valueName: "container-or-store"),
        completion: .file())
    var path: String

    @Option(
        name: .long, help: ArgumentHelp("A store of this device beside those that the device home knows. May be given again.", valueName: "file"),
        completion: .file())
    var store: [String] = []

    @Option(help: ArgumentHelp("List so many of a kind at most, the newest; all are counted.", valueName: "count"))
    var limit = 1000

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "Else $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    @Flag(help: "Print a JSON object: counts by kind, isWhole, listed (kind, subject, reason, since, store, peer), failures (path, reason).")
    var json = false

    func validate() throws {
        if limit < 0 { throw ValidationError("--limit takes a number from 0.") }
    }

    func run() async throws {
        let home = home.map { DeviceHome(FilePath($0)) } ?? (try? DeviceHome.standard())
        var troubles = WatchFacts.Troubles()
        var isGone = false
        if let summary = try storeSummary() {
            // Its container's place in this device's home is not asked for: a store alone says what befell it.
            let reading = ContainerReading(path: FilePath(path), home: nil, options: .init(troubles: limit), first: nil)
            reading.addTroubles(of: summary, to: &troubles)
        } else {
            let options = WatchReader.Options(stores: store.map { FilePath($0) }, troubles: limit, asksForStatus: false)
            let facts = try await TerminalProgress.awaiting(
                "looking at the container", { try await WatchReader(FilePath(path), home: home, options: options).facts() })
            (troubles, isGone) = (facts.troubles, facts.presence == .gone)
        }
        print(json ? try jsonLine(troubles) : troubles.lines.joined(separator: "\n"))
        for failure in troubles.failures { printError("Error: \(failure.text)".printable) }
        if isGone { throw ToolExit.gone }
        if !troubles.failures.isEmpty { throw ToolExit.failure }
        if !troubles.counts.isEmpty { throw ToolExit.troubles }
    }

    /// The files of the store at the path; nil where the path is a directory.
    private func storeSummary() throws -> StoreSummary? {
        let path = FilePath(path)
        if PathFacts(at: path).kind == .directory { return nil }
        let files = StoreInspection.files(at: path)
        // A container that is gone looks like a store that is.
        if files.isEmpty { return nil }
        return try StoreInspection.look(at: path) { try $0.summary() }
    }
}

extension WatchFacts.Troubles {
    /// The troubles for people, a line each.
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
            }
        }
        return lines
    }
}
