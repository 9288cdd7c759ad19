import ArgumentParser
import ToolSupport

/// Runs `ubwatch status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show a container, what this device does with it and why, its stores and peers, items, and what needs to be looked at.",
        discussion: """
            The first lines answer “why has my change not arrived?”: what the account does on this device, and the reasons.

            signed out   nobody is signed in on this device, or another account than the container's
            setting up   the container or a store has not been attached yet, or an app uses local storage until the account's content has been read
            uploading    a store of this device has saves that have not gone out, or an item waits to go out
            downloading  something names a log that has not arrived, a log that lies there has not been read, or an item is not here in its newest version
            idle         none of these, as far as anything here tells

            JSON has them as signedOut, settingUp, uploading, downloading and idle.

            The stores of this device are those that the device home knows, for apps that have opened one note that there, and those of --store. It \
            reads files only: it writes, coordinates and downloads nothing, and makes nothing beside a store's file. Syncthing is asked how items stand \
            where config.json of the device home names it.

            Exit status 0; 1 where it cannot be read; 3 where the container is gone; 64 for wrong usage, or where it is no container.

            EXAMPLES
            ubwatch status ~/Sync/alice/org.example.notes
            ubwatch status --store ~/Notes.sqlite ~/Sync/alice/org.example.notes
            ubwatch status --json ~/Sync/alice/org.example.notes | jq -r '.state, .reasons[]'
            """
    )

    @OptionGroup var arguments: WatchArguments

    @Option(help: ArgumentHelp("List so many items at most.", valueName: "count"))
    var items = 100

    @Flag(
        help: """
            Print a JSON object: time, path, account, container, presence, attached, device, state, reasons, stores with peers, localStores, storage by \
            kind, items, troubles.
            """)
    var json = false

    func run() async throws {
        let facts = try await TerminalProgress.awaiting("looking at the container", { try await arguments.reader(items: max(0, items)).facts() })
        print(json ? try jsonLine(facts) : facts.lines.joined(separator: "\n"))
        if facts.presence == .gone { throw ToolExit.gone }
    }
}
