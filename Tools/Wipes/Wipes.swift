import ArgumentParser

/// Runs two devices that write, and a container with an accident.
@main
struct Wipes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubiquity-wipes",
        abstract: "Remove a container from two devices while both write, and check their records afterwards.",
        subcommands: [MomentsCommand.self, DeviceCommand.self],
        defaultSubcommand: MomentsCommand.self
    )
}
