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
