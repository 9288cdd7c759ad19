import ArgumentParser
import Foundation
import Glibc
import Logging
import ObjectTransfer
import ServiceLifecycle
import SystemPackage
import ToolSupport
import TreeWatching
import UbiquityContainers
import UnixSignals

/// The resident transfer agent.
@main
struct Ubtransfer: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubtransfer",
        abstract: "Carry the containers of this device to the user's cloud, and back: the transfer agent.",
        discussion: """
            It serves the device home of one user, and carries the containers of the account that is signed in there. `ubcontrol setup cloud` \
            configures it and `ubcontrol transfer` controls it; `systemctl --user enable --now ubtransfer` starts it at each login. systemd then \
            learns when it is ready, what it does, and that it lives (sd_notify(3)): `systemctl --user status ubtransfer`.

            It logs to standard error; if that is systemd's journal, to the journal with fields: `journalctl --user -u ubtransfer -o json`.

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
        let manager = ServiceManager.ofThisProcess()
        JournalLog.begin("ubtransfer")
        let home = try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard()
        let agent = try AgentService(home)
        var services = [Self.part(agent)]
        if manager.isThere {
            // It ends first, while the agent still answers.
            services.append(Self.part(NoticeService(manager: manager, agent: agent.agent, client: TransferClient(home))))
        }
        try await ServiceGroup(
            configuration: .init(services: services, gracefulShutdownSignals: [.sigterm, .sigint, .sighup], logger: .ubiquity)
        ).run()
    }

    /// A part of the program, with whose end the others end too.
    private static func part(_ service: any Service) -> ServiceGroupConfiguration.ServiceConfiguration {
        .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "\(type(of: service))")
    }
}
