import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol public publish`.
struct PublicPublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "publish",
        abstract: "Publish a public container to a directory that any web server serves.",
        discussion: """
            This device's account must hold the role ubiquity.publisher; the owner of a container does. The directory gets bundles of new logs, \
            snapshots of the tables, and a signed head. Readers open its address, and list nothing. What is published is what the store's app has \
            taken in, so keep the app running, or run it before. A crash leaves the head before valid. Let a timer run the command, or use --every.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        name: .customLong("to"), help: ArgumentHelp("The directory of the public place, which is created.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(help: ArgumentHelp("Go on, and publish what is new after each such time, such as 5m.", valueName: "time"))
    var every: DurationArgument?

    @Option(help: ArgumentHelp("How long a head is news; readers show an older one as stale.", valueName: "time"))
    var lifetime = DurationArgument(argument: "7d")!

    @Option(help: ArgumentHelp("How long bundles of logs are kept, for readers that were away.", valueName: "time"))
    var retention = DurationArgument(argument: "90d")!

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object a line: number, isNew, made, expires, logs, statements, snapshots.")
    var json = false

    func validate() throws {
        if let every, every.value * 2 > lifetime.value {
            throw ValidationError("With --every \(every.defaultValueDescription), heads must be news for twice as long: give a longer --lifetime.")
        }
    }

    func run() async throws {
        var publishing = PlacePublishing()
        (publishing.lifetime, publishing.retention) = (lifetime.value, retention.value)
        let (path, home) = (try store.path, try home.deviceHome)
        while true {
            do {
                let edition = try InspectedStore(path, readOnly: true).publishPlace(to: FilePath(directory), home: home, publishing)
                try report(edition)
            } catch {
                guard every != nil else { throw error }
                // The next turn may succeed.
                FileHandle.standardError.write(Data("ubcontrol: \(String(describing: error).printable)\n".utf8))
            }
            guard let every else { return }
            try await Task.sleep(for: every.value)
        }
    }

    private func report(_ edition: PublishedEdition) throws {
        if json {
            return try printJSON(
                Report(
                    number: edition.number, isNew: edition.isNew, made: edition.made.ISO8601Format(), expires: edition.expires.ISO8601Format(),
                    logs: edition.logs, statements: edition.statements, snapshots: edition.snapshots.sorted()))
        }
        guard edition.isNew else { return print("head \(edition.number): nothing new") }
        var parts = ["\(edition.logs) logs", "\(edition.statements) statements"]
        if !edition.snapshots.isEmpty { parts.append("snapshots of \(edition.snapshots.sorted().joined(separator: ", "))") }
        print("head \(edition.number): \(parts.joined(separator: ", ").printable)")
    }

    private struct Report: Encodable {
        var number: Int64
        var isNew: Bool
        var made: String
        var expires: String
        var logs: Int
        var statements: Int
        var snapshots: [String]
    }
}

/// Runs `ubcontrol public gather`.
struct PublicGatherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gather",
        abstract: "Bring what contributors have written to directories of their own into a public container.",
        discussion: """
            A store that reads a public place and contributes writes to a directory of its own, which something carries to the publisher: a \
            synchronised folder, for example. Each statement and log is verified before it is copied, nothing is replaced, and nothing is removed. \
            The store's app takes the files in; then publish. Exit status 0 also if a file was refused, which is listed.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("A directory that a contributor's store writes to. May be given more than once.", valueName: "dir"),
        completion: .directory)
    var directories: [String]

    @Option(help: ArgumentHelp("Go on, and gather again after each such time, such as 1m.", valueName: "time"))
    var every: DurationArgument?

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object a line: statements, logs, values, bases, refused (file, reason).")
    var json = false

    func run() async throws {
        let (path, home) = (try store.path, try home.deviceHome)
        while true {
            do {
                try report(try InspectedStore(path, readOnly: true).gatherContributions(from: directories.map { FilePath($0) }, home: home))
            } catch {
                guard every != nil else { throw error }
                // The next turn may succeed.
                FileHandle.standardError.write(Data("ubcontrol: \(String(describing: error).printable)\n".utf8))
            }
            guard let every else { return }
            try await Task.sleep(for: every.value)
        }
    }

    private func report(_ gathered: GatheredContributions) throws {
        if json { return try printJSON(Report(gathered)) }
        print("gathered \(gathered.logs) logs, \(gathered.statements) statements, \(gathered.values) large values, \(gathered.bases) bases")
        for refusal in gathered.refused { print("refused \(refusal.file): \(refusal.reason)".printable) }
    }

    private struct Report: Encodable {
        struct Refusal: Encodable {
            var file: String
            var reason: String
        }

        var statements: Int
        var logs: Int
        var values: Int
        var bases: Int
        var refused: [Refusal]

        init(_ gathered: GatheredContributions) {
            (statements, logs, values, bases) = (gathered.statements, gathered.logs, gathered.values, gathered.bases)
            refused = gathered.refused.map { Refusal(file: $0.file.string, reason: $0.reason) }
        }
    }
}
