import ArgumentParser

/// Two devices that write, and a container to which something happens.
@main
struct Wipes: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubiquity-wipes",
        abstract: "Takes a container away from two devices while both write, and looks at what they hold afterwards.",
        subcommands: [MomentsCommand.self, DeviceCommand.self],
        defaultSubcommand: MomentsCommand.self
    )
}
