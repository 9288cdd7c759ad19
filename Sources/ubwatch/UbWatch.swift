import ArgumentParser

/// Shows what happens in a container, and never writes to it.
@main
struct UbWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubwatch",
        abstract: "See what happens in a container: changes, items, peers, logs.",
        discussion: WatchExit.table,
        subcommands: [
            LiveCommand.self, EventsCommand.self, StatusCommand.self, PeersCommand.self, ItemsCommand.self, ConflictsCommand.self, LogCommand.self,
            VerifyCommand.self, WaitCommand.self,
        ],
        defaultSubcommand: LiveCommand.self
    )
}
