import ArgumentParser
import ToolSupport
import UbiquityStores

/// Shows the activity in a container, and never writes to it.
@main
struct UbWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ubwatch",
        abstract: "Show the activity in a container: changes, items, peers, logs.",
        discussion: ToolExit.table,
        version: ToolVersion.text,
        subcommands: [
            LiveCommand.self, EventsCommand.self, StatusCommand.self, PeersCommand.self, ItemsCommand.self, ConflictsCommand.self, LogCommand.self,
            VerifyCommand.self, ServeCommand.self, WaitCommand.self, PolicyCommand.self, RejectedCommand.self,
        ],
        defaultSubcommand: LiveCommand.self
    )

    static func main() async {
        await runTool(Array(CommandLine.arguments.dropFirst())) { error in
            (error as? UbiquitousStoreError)?.code == .notFound ? ToolExit.usage : nil
        }
    }
}
