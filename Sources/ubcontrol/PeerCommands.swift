import ArgumentParser
import Foundation
internal import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups the commands about a store's other peers.
struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "Show the other peers of a store, and retire those that will not return.",
        discussion: """
            Logs stay in a container until every peer has read them. A device that is gone permanently, or away for months, delays their removal \
            until it is retired. If it returns, it is active again automatically, and has lost nothing.

                ubcontrol peers list STORE
                ubcontrol peers retire STORE PEER --dry-run
            """,
        subcommands: [PeersListCommand.self, PeersRetireCommand.self],
        defaultSubcommand: PeersListCommand.self
    )
}

/// The option that names a store's container.
struct ContainerOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The container's directory.", discussion: "By default in the signed-in account's containers.", valueName: "dir"),
        completion: .directory)
    var container: String?

    @OptionGroup var home: HomeOptions

    /// Finds the container of a store.
    ///
    /// - Parameter inspection: the store.
    /// - Returns: the container's directory; nil if it is unknown, with the reason.
    /// - Throws: `ContainerError` when the device home cannot be read.
    func find(for inspection: InspectedStore) throws -> (path: FilePath?, reason: String) {
        if let container { return (FilePath(container), "") }
        let deviceHome = try home.deviceHome
        guard let root = try deviceHome.containersRoot else { return (nil, "nobody is signed in at \(deviceHome.path)") }
        let (account, path) = try inspection.container(below: root)
        guard try deviceHome.account?.description == account else { return (nil, "\(account) is not signed in at \(deviceHome.path)") }
        return (path, "")
    }

    /// Finds the container of a store; fails if it is unknown.
    func path(for inspection: InspectedStore) throws -> FilePath {
        let (path, reason) = try find(for: inspection)
        guard let path else { throw Refusal("The store's container is not known, because \(reason); name it with --container.") }
        return path
    }
}

/// Runs `ubcontrol peers list`.
struct PeersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the other peers of a store, with the logs that each has not read, and since when.",
        discussion: "The command writes nothing, and may run beside the app. Exit status 0, also if there are none."
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Show peers by their identifiers, not by the names of their devices.")
    var verbose = false

    @OptionGroup var container: ContainerOption

    @Flag(help: "Print a JSON object a line: peer, device, app, seen, receipt, behind, waitsSince, isRetired, passable.")
    var json = false

    func run() async throws {
        let peers = try store.look { try $0.peers(in: container.path(for: $0)) }
        let names = verbose ? .identifiers : PeerNames(peers)
        for peer in peers { if json { try printJSON(peer) } else { print(words(peer, names[peer.peer]).printable) } }
    }

    private func words(_ peer: StorePeer, _ name: String) -> String {
        var parts = [[peer.device, peer.app].compactMap { $0 }.filter { !name.contains($0) }.joined(separator: ", ")]
        parts.append(peer.seen.map { "last seen \($0.formatted(.iso8601))" } ?? "never seen")
        parts.append(peer.behind == 0 ? "has read everything" : "\(peer.behind) \(peer.behind == 1 ? "log" : "logs") behind")
        if let since = peer.waitsSince { parts.append("the oldest of \(since.formatted(.iso8601))") }
        if peer.isRetired { parts.append("retired") }
        if peer.passable > 0 { parts.append("no device waits for its logs up to \(peer.passable)") }
        return "\(name)  \(parts.filter { !$0.isEmpty }.joined(separator: "; "))"
    }
}

/// Runs `ubcontrol peers retire`.
struct PeersRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Tell all devices that a peer will not return.",
        discussion: """
            No device keeps logs for it any more. The app's next exchange publishes this. With --at, and after confirmation, devices join the logs \
            after the lost logs of that peer without waiting for the lost ones: their data is missing until the lost logs appear, and `ubwatch \
            verify` continues to report them.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(
        help: ArgumentHelp("The name of its device, or its identifier, or the beginning of its UUID; see `ubcontrol peers list`.", valueName: "peer"))
    var peer: String

    @Option(name: .customLong("at"), help: ArgumentHelp("The last of its logs for which no device waits.", valueName: "sequence"))
    var sequence: Int64?

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var container: ContainerOption

    @Flag(help: "Print a JSON object: peer, sequence.")
    var json = false

    func validate() throws {
        if let sequence, sequence < 1 { throw ValidationError("--at takes a number from 1.") }
    }

    func run() async throws {
        let inspection = try store.open(readOnly: false)
        let place = try container.path(for: inspection)
        if sequence != nil, !dryRun.isOn {
            try confirmation.confirm("The data of those logs will be missing on every device that lacks them.")
        }
        let retired = try inspection.retire(peer, at: sequence ?? 0, in: place, isRehearsal: dryRun.isOn)
        if json {
            try printJSON(Retired(peer: retired.description, sequence: sequence ?? 0))
        } else {
            let name = PeerNames(try inspection.peers(in: place))[retired.description].printable
            print("\(dryRun.isOn ? "Would retire" : "Retired") \(name)\(sequence.map { " at log \($0)" } ?? "").")
        }
    }

    private struct Retired: Encodable {
        var peer: String
        var sequence: Int64
    }
}
