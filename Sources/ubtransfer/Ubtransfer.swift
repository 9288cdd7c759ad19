import ArgumentParser
import Foundation
import Glibc
import ObjectTransfer
import RcloneTransfer
import SystemPackage
import ToolSupport
import TreeWatching
import UbiquityContainers

/// The resident transfer agent.
@main
struct Ubtransfer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubtransfer",
        abstract: "Carry the containers of this device to the user's cloud, and back: the transfer agent.",
        discussion: """
            It serves the device home of one user, and carries the containers of the account that is signed in there. `ubcontrol setup cloud` \
            configures it and `ubcontrol transfer` controls it; `systemctl --user enable --now ubtransfer` starts it at each login. It logs to \
            standard error.

            Exit status: 0 when it ended because it was asked to or its device home is gone, 69 when another agent serves this home or the home is unusable, 64 on a usage \
            error.
            """,
        version: ToolVersion.text
    )

    @Option(help: ArgumentHelp("The device home.", discussion: "$UBIQUITY_HOME or ~/.local/share/ubiquity by default.", valueName: "dir"))
    var home: String?

    static func main() async { await runTool(Array(CommandLine.arguments.dropFirst())) }

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        let home = try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard()
        let place = TransferHome(home)
        let lock: FileLock
        do {
            try place.prepare()
            guard let free = try place.lock() else {
                throw Refusal(
                    "Another transfer agent serves \(home.path); see what it does with: ubcontrol transfer status", status: ToolExit.unavailable)
            }
            lock = free
        } catch let error as Errno {
            throw Refusal("\(place.directory) cannot be used (\(error)); check its owner and mode.", status: ToolExit.unavailable)
        }
        let agent = TransferAgent(home) { cloud, account in try await openCloud(cloud, account) }
        let server: TransferServer
        do {
            server = try TransferServer(place.socket, agent)
        } catch {
            throw Refusal("\(place.socket) cannot be made (\(error)).", status: ToolExit.unavailable)
        }
        let serving = Task { await agent.serve(holding: lock) }
        let signals = EndSignals { serving.cancel() }
        await serving.value
        server.stop()
        withExtendedLifetime((lock, signals)) {}
    }
}
