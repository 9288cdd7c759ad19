import ArgumentParser
import Foundation
internal import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups what is about the other peers of a store.
struct PeersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "Look at the other peers of a store, and retire those that nobody expects back.",
        discussion: """
            Logs stay in a container until every peer has read them. A device that is gone for good, or away for months, so holds up their removal \
            until it is retired. Where it is back after all it is active again by itself, and has lost nothing.

                ubcontrol peers list STORE
                ubcontrol peers retire STORE PEER --dry-run
            """,
        subcommands: [PeersListCommand.self, PeersRetireCommand.self],
        defaultSubcommand: PeersListCommand.self
    )
}

/// Says where a store's container is.
struct ContainerOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The container's directory.", discussion: "Else where the signed-in account's containers are.", valueName: "dir"),
        completion: .directory)
    var container: String?

    @OptionGroup var home: HomeOptions

    /// The container of a store.
    ///
    /// - Parameter inspection: the store.
    /// - Returns: its container's directory; nil where it is not known, and why.
    /// - Throws: `ContainerError` where the device home cannot be read.
    func find(for inspection: StoreInspection) throws -> (path: FilePath?, reason: String) {
        if let container { return (FilePath(container), "") }
        let deviceHome = try home.deviceHome
        guard let root = try deviceHome.containersRoot else { return (nil, "nobody is signed in at \(deviceHome.path)") }
        let (account, path) = try inspection.container(below: root)
        guard try deviceHome.account?.description == account else { return (nil, "\(account) is not signed in at \(deviceHome.path)") }
        return (path, "")
    }

    /// The same where there has to be one.
    func path(for inspection: StoreInspection) throws -> FilePath {
        let (path, reason) = try find(for: inspection)
        guard let path else { throw Refusal("The store's container is not known, for \(reason); name it with --container.") }
        return path
    }
}

/// Runs `ubcontrol peers list`.
struct PeersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the other peers of a store, what each has not read, and since when.",
        discussion: "It writes nothing, and may run beside the app. Exit status 0, also where there are none."
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var container: ContainerOption

    @Flag(help: "Print a JSON object a line: peer, device, app, seen, receipt, behind, waitsSince, isRetired, passable.")
    var json = false

    func run() async throws {
        for peer in try store.look({ try $0.peers(in: container.path(for: $0)) }) {
            if json { try printJSON(peer) } else { print(words(peer).printable) }
        }
    }

    private func words(_ peer: StorePeer) -> String {
        var parts = [[peer.device, peer.app].compactMap { $0 }.joined(separator: ", ")]
        parts.append(peer.seen.map { "last seen \($0.formatted(.iso8601))" } ?? "never seen")
        parts.append(peer.behind == 0 ? "has read everything" : "\(peer.behind) \(peer.behind == 1 ? "log" : "logs") behind")
        if let since = peer.waitsSince { parts.append("the oldest of \(since.formatted(.iso8601))") }
        if peer.isRetired { parts.append("retired") }
        if peer.passable > 0 { parts.append("nobody waits for its logs up to \(peer.passable)") }
        return "\(peer.peer)  \(parts.filter { !$0.isEmpty }.joined(separator: "; "))"
    }
}

/// Runs `ubcontrol peers retire`.
struct PeersRetireCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Say to all devices that a peer is not expected back.",
        discussion: """
            Nobody keeps logs for it any more. It goes out with the app's next exchange. With --at, logs that follow lost logs of that peer are joined \
            without them, once that is confirmed: what they held is missing until they turn up after all, and `ubwatch verify` goes on to name them.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The peer, or the beginning of its UUID; see `ubcontrol peers list`.", valueName: "peer"))
    var peer: String

    @Option(name: .customLong("at"), help: ArgumentHelp("The last of its logs that nobody is to wait for.", valueName: "sequence"))
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
            try confirmation.confirm("What those logs held will be missing on every device that lacks them.")
        }
        let retired = try inspection.retire(peer, at: sequence ?? 0, in: place, isRehearsal: dryRun.isOn)
        if json {
            try printJSON(Retired(peer: retired.description, sequence: sequence ?? 0))
        } else {
            print("\(dryRun.isOn ? "Would retire" : "Retired") \(retired)\(sequence.map { " at log \($0)" } ?? "").")
        }
    }

    private struct Retired: Encodable {
        var peer: String
        var sequence: Int64
    }
}
