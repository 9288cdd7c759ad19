import ArgumentParser
import ToolSupport

/// Runs `ubwatch status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show a container, its activity on this device with reasons, its stores and peers, items, and problems.",
        discussion: """
            The first lines answer “why has my change not arrived?”: the activity of the account on this device, and the reasons.

            signed out               nobody is signed in on this device, or another account than the container's
            setting up               the container or a store has not been attached yet, or an app uses local storage until the account's content \
            has been read
            suspended                the container, or a store's content in it, is gone or another than before, or a store is paused
            stuck                    a store waits for something that does not come by itself: a damaged file, or a newer version of the app
            waiting for the network  the transport does not answer, or something is to go out or come in and no other device is connected
            uploading                a store of this device has saves that have not gone out, or an item waits to go out
            downloading              a file names a log that has not arrived, a log in the container has not been read, or an item is not here in \
            its newest version
            idle                     none of these, as far as this device knows

            JSON has them as signedOut, settingUp, suspended, stuck, waitingForNetwork, uploading, downloading and idle. Devices are shown by name; \
            JSON and --verbose have the identifiers of their peers.

            The stores of this device are the stores that the device home knows, because apps record the stores that they open, and the stores of \
            --store. The command only reads files: it writes, coordinates and downloads nothing, and creates no files beside a store's file. \
            Syncthing is asked for the items' statuses if config.json of the device home names it.

            Exit status 0; 1 if the container cannot be read; 3 if it is gone; 64 for wrong usage, or if it is not a container.

            EXAMPLES
            ubwatch status ~/Sync/alice/org.example.notes
            ubwatch status --store ~/Notes.sqlite ~/Sync/alice/org.example.notes
            ubwatch status --json ~/Sync/alice/org.example.notes | jq -r '.state, .reasons[]'
            """
    )

    @OptionGroup var arguments: WatchArguments

    @Option(help: ArgumentHelp("The greatest number of listed items.", valueName: "count"))
    var items = 100

    @Flag(
        help: """
            Print a JSON object: time, path, account, container, presence, attached, device, state, reasons, remedies (commands), stores with \
            peers, localStores, storage by kind, space, transport, items, troubles.
            """)
    var json = false

    func run() async throws {
        let facts = try await TerminalProgress.awaiting("looking at the container", { try await arguments.reader(items: max(0, items)).facts() })
        let names = arguments.names(of: facts.stores)
        print(json ? try jsonLine(facts) : facts.named(names).lines(names).joined(separator: "\n"))
        if facts.presence == .gone { throw ToolExit.gone }
    }
}
