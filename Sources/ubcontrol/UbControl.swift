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
            What a command is about comes first, then its options, in any order. --home names another device home, --json prints documented objects, \
            --dry-run says what would be done, and --yes goes on without asking; what destroys something asks on a terminal, and without one refuses.

            \(ToolExit.table)

            Completion of what is typed, such as for bash:

                ubcontrol --generate-completion-script bash > ubcontrol.bash
                . ./ubcontrol.bash
            """,
        version: ToolVersion.text,
        subcommands: [
            DeviceStatusCommand.self, SignInCommand.self, SignOutCommand.self, AccountCommand.self, ContainerCommand.self, StoreCommand.self,
            PeersCommand.self,
            KeptCommand.self, ClaimsCommand.self, PresentersCommand.self, WhyCommand.self, BrokerCommand.self, LogLevelCommand.self,
            DoctorCommand.self, ReportCommand.self, DevicesCommand.self,
        ]
    )

    /// `-UbiquityLogLevel 3` is the library's to read.
    static func main() async {
        await runTool(UbiquityLog.appArguments()) { error in
            (error as? UbiquitousStoreError)?.code == .notFound ? ToolExit.usage : nil
        }
    }
}
