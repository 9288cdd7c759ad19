import ArgumentParser

/// Shows what happens in a container, and never writes to it.
@main
struct UbWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubwatch",
        abstract: "See what happens in a container: changes, items, peers, logs.",
        subcommands: [LiveCommand.self, EventsCommand.self, ItemsCommand.self, StatusCommand.self, LogCommand.self, VerifyCommand.self],
        defaultSubcommand: LiveCommand.self
    )
}
