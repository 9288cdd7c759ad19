import ArgumentParser
import SystemPackage
import UbiquityContainers

/// Controls accounts, containers and file coordination on this device.
@main
struct UbControl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubcontrol",
        abstract: "Control accounts, containers, stores and file coordination on this device.",
        subcommands: [
            SignInCommand.self, SignOutCommand.self, AccountCommand.self, ContainerCommand.self, StoreCommand.self, PeersCommand.self,
            KeptCommand.self, ClaimsCommand.self,
            PresentersCommand.self,
            WhyCommand.self, BrokerCommand.self, DoctorCommand.self, ReportCommand.self, DevicesCommand.self,
        ]
    )
}

/// The options that every subcommand takes.
struct HomeOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "The device home.", discussion: "Else $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    var deviceHome: DeviceHome {
        get throws { try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard() }
    }
}
