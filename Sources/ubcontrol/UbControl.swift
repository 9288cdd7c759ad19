import ArgumentParser
import ToolSupport
import TreeWatching
import UbiquityStores

/// Controls accounts, containers and file coordination on this device.
@main
struct UbControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubcontrol",
        abstract: "Control accounts, containers, stores and file coordination on this device.",
        discussion: """
            The subject of a command comes first, then its options, in any order. --home names another device home, --json prints documented \
            objects, --dry-run prints the effect without doing anything, and --yes continues without asking. A command that destroys data asks on a \
            terminal, and refuses without one.

            \(ToolExit.table)

            Completion for a shell, such as bash:

                ubcontrol --generate-completion-script bash > ubcontrol.bash
                . ./ubcontrol.bash
            """,
        version: ToolVersion.text,
        subcommands: [
            DeviceStatusCommand.self, SetupCommand.self, SignInCommand.self, SignOutCommand.self, AccountCommand.self, ContainerCommand.self,
            StoreCommand.self, PublicCommand.self, TransferCommand.self, ItemCommand.self, ConflictCommand.self, PeersCommand.self,
            KeptCommand.self, ClaimsCommand.self, PresentersCommand.self, WhyCommand.self, BrokerCommand.self, LogLevelCommand.self,
            DoctorCommand.self, ReportCommand.self, DevicesCommand.self, NewCommand.self,
        ]
    )

    /// The library reads `-UbiquityLogLevel 3`.
    static func main() async {
        await runTool(UbiquityLog.appArguments()) { error in
            (error as? UbiquitousStoreError)?.code == .notFound ? ToolExit.usage : nil
        }
    }
}
