import ArgumentParser
import FileCoordination
import Foundation
import Rainbow
internal import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol status`.
struct DeviceStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the state of this device: account, containers, stores, unsent data, and obstacles.",
        discussion: """
            Prints one line for the account, one for each container and store, and below it each obstacle to syncing, with the command that removes \
            it. The command reads what this device stores; `ubcontrol doctor` inspects more, and `ubwatch CONTAINER` shows the activity in a \
            container.

                ubcontrol status
                ubcontrol status --json

            Exit status 0 if nothing is in the way, 1 if something is or no account is signed in, 64 for a wrong command line.
            """
    )

    @OptionGroup var options: HomeOptions

    @Flag(
        help: """
            Print a JSON object: home, account, containersRoot, containers (identifier, path, state, hindrance, remedies), stores (path, summary, hindrance, \
            remedies, delivery, isContentGone), unsent (path, account, content, container: saves of accounts that are not signed in), kept, broker (process; null where none runs), isWell.
            """)
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        var status = try TerminalProgress.showing("looking at this device") { try DeviceStatus(of: home) }
        if !status.stores.isEmpty {
            status.stores = await StoreCondition.withDeliveries(status.stores, home, try KnownContainer.list(in: home))
        }
        if json { try printJSON(status) } else { for line in status.lines { print(line) } }
        if !status.isWell { throw ToolExit.failure }
    }
}

/// The status of a device, according to its home, its containers and its stores.
struct DeviceStatus: Encodable {
    struct Container: Encodable {
        var identifier: String
        var path: String
        var state: String
        /// The reason why its stores do not exchange; nil if they do.
        var hindrance: String?
        var remedies: [String] = []
    }

    var home: String
    /// Nil while signed out.
    var account: String?
    var containersRoot: String?
    var containers: [Container] = []
    var stores: [StoreCondition] = []
    /// The saves that wait for the sign-in of their account.
    var unsent: [UnsentSaves]
    /// The number of entries that were set aside.
    var kept: Int
    /// The process of the broker; nil if none runs.
    var broker: Int32?
    /// Whether an account is signed in and nothing is in the way.
    var isWell: Bool

    init(of home: DeviceHome) throws {
        self.home = home.path.string
        account = try home.account?.description
        containersRoot = try home.containersRoot?.string
        unsent = UnsentSaves.all(of: home)
        kept = ((try? KeptLogs(home: home).list()) ?? []).count
        if case .running(let report) = BrokerControl().condition() { broker = report.process }
        isWell = account != nil
        guard account != nil else { return }
        let known = try KnownContainer.list(in: home)
        containers = known.map(Container.init)
        stores = StoreCondition.all(of: home, in: known)
        isWell = containers.allSatisfy { $0.hindrance == nil } && stores.allSatisfy { $0.hindrance == nil }
    }

    /// The status for people.
    var lines: [String] {
        guard let account, let containersRoot else {
            return ["nobody is signed in at \(home.printable); sign in with: ubcontrol sign-in ACCOUNT".yellow] + closing
        }
        var lines = ["\(account.printable.bold), containers in \(containersRoot.printable)"]
        if containers.isEmpty { lines.append("no containers yet: an app makes one when it first uses it") }
        for container in containers {
            lines.append("container \(container.identifier.printable.bold): \(container.state.printable); \(container.path.printable)")
            lines += Self.told(container.hindrance, container.remedies)
        }
        for store in stores {
            lines.append(Self.line(store))
            lines += Self.told(store.hindrance, store.remedies)
            if store.isContentGone, !store.remedies.isEmpty { lines.append("    (\(StoreCondition.answers))") }
        }
        return lines + closing
    }

    private var closing: [String] {
        var lines = unsent.map { saves in
            """
            store \(saves.path.printable.bold): \(saves.content.printable) in \(saves.container.printable); \
            \("saves of \(saves.account.printable) have not gone out: they stay here, and go once \(saves.account.printable) is signed in".yellow)
            """
        }
        if kept > 0 { lines.append("\(counted(kept, "thing")) set aside; see `ubcontrol kept list`") }
        lines.append(broker.map { "broker: process \($0)" } ?? "broker: none runs; programs start it when they need it")
        guard account != nil else { return lines }
        return lines + [isWell ? "nothing is in the way".green : "something is in the way; `ubcontrol doctor` says more".red]
    }

    private static func line(_ store: StoreCondition) -> String {
        guard let summary = store.summary else { return "store \(store.path.printable.bold)" }
        var parts = [
            counted(summary.records, "record"),
            summary.unpublished > 0 || summary.isNoted ? "not all has gone out".yellow : "all has gone out",
        ]
        if summary.place == "fallback" {
            parts = ["uses local storage until the account's content has been read".yellow]
        }
        if let delivery = store.delivery, let text = delivery.text, delivery.isCertain || delivery.obstacle != nil {
            parts.append("\(text)\(delivery.obstacle.map { ": \($0)" } ?? "")".yellow)
        }
        if let request = summary.request { parts.append("to \(request) with the app's next exchange") }
        parts.append(store.path)
        return
            "store \(summary.content.printable.bold) in \(summary.container): \(parts.map { $0.hasPrefix("\u{1B}") ? $0 : $0.printable }.joined(separator: "; "))"
    }

    private static func told(_ hindrance: String?, _ remedies: [String]) -> [String] {
        (hindrance.map { ["  \($0.printable)".yellow] } ?? []) + remedies.map { "    \($0.printable)" }
    }
}

extension DeviceStatus.Container {
    fileprivate init(_ known: KnownContainer) {
        self.init(identifier: known.identifier.description, path: known.path.string, state: known.state.description)
        if let remains = ContainerWipe.remains(in: known.path).first {
            hindrance = "a wipe is running or was interrupted: the remains of the stores' contents are at \(remains)"
            remedies = ["ubcontrol container wipe \(identifier)"]
        }
        guard case .attachment(.detached(let reason)) = known.state else { return }
        hindrance = hindrance ?? ContainerAttachment.detached(reason).description
        if reason == .massDeletion { remedies.append("ubcontrol container resume \(identifier)") }
    }
}
