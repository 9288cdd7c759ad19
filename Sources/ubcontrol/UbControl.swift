import ArgumentParser
import TreeWatching

/// Controls accounts, containers and file coordination on this device.
@main
struct UbControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubcontrol",
        abstract: "Control accounts, containers, stores and file coordination on this device.",
        discussion: """
            What a command is about comes first, then its options, in any order. --home names another device home, --json prints documented objects, \
            --dry-run says what would be done, and --yes goes on without asking; what destroys something asks on a terminal, and without one refuses.

            Exit status, of every command:
              0   it is done, or all is well
              1   it could not be done, or not all is well; what is the matter is said
              64  the command line is wrong or names what is not here, or --yes is missing where nobody can be asked
              69  the broker of file coordination does not answer

            Completion of what is typed, such as for bash:

                ubcontrol --generate-completion-script bash > ubcontrol.bash
                . ./ubcontrol.bash
            """,
        version: "0.1.0",
        subcommands: [
            SignInCommand.self, SignOutCommand.self, AccountCommand.self, ContainerCommand.self, StoreCommand.self, PeersCommand.self,
            KeptCommand.self, ClaimsCommand.self, PresentersCommand.self, WhyCommand.self, BrokerCommand.self, LogLevelCommand.self,
            DoctorCommand.self, ReportCommand.self, DevicesCommand.self,
        ]
    )

    /// `-UbiquityLogLevel 3` is the library's to read.
    static func main() async { await main(UbiquityLog.appArguments()) }
}
