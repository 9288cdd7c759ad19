import ArgumentParser
import CLinux
import Foundation
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubwatch CONTAINER`.
struct LiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "live",
        abstract: "Show a container live, full-screen; this is what ubwatch CONTAINER does.",
        discussion: """
            Shows the account and its activity, stores with epoch, knowledge and “local storage 0” or “1”, peers against peers, items with their \
            status, held, quarantined and conflicting entries with reasons, storage by kind, and the changes as they arrive. The command writes, \
            coordinates and downloads nothing. It waits for a wiped container to return.

            KEYS
            \(ViewHelp.text)

            WITHOUT A TERMINAL
            If standard output or input is not a terminal, TERM is “dumb”, or --plain is given: one line for each change, with the time (UTC) and \
            words. With --json one object a line: time; kind (state, gone, back, attached, detached, store, epoch, log, baseline, receipt, value, \
            draft, item, other, trouble, overflow); level; text; container; and where they apply path (from the container), isRemoved, store, peer, \
            epoch, sequence, isOwn, bytes. The first line tells the account's state.

            ENVIRONMENT AND STATUS
            NO_COLOR, if set, has the effect of --no-color. SIGINT, SIGTERM and SIGHUP end the command as q does, with status 0, and restore the \
            terminal. Exit status 64 for wrong usage, if there is no such container, or with --all if none is known.

            EXAMPLES
            ubwatch ~/.local/share/ubiquity/containers/ann/org.example.notes
            ubwatch --all
            ubwatch --json CONTAINER | jq -r 'select(.kind == "log").text'
            """)

    @Argument(help: "The container: its identifier in the signed-in account, or its path.", completion: .directory)
    var container: String?

    @Flag(help: "All containers of the signed-in account, with this device's stores.")
    var all = false

    @Flag(help: "One line a change, also on a terminal.")
    var plain = false

    @Flag(help: "One JSON object a change.")
    var json = false

    @Flag(help: "No colours.")
    var noColor = false

    @Option(
        help: ArgumentHelp(
            "The level of the printed changes: 1 the container, its stores and the account; 2 also logs, baselines and items; 3 every file.",
            valueName: "1-3"))
    var level = 2

    @Option(
        help: ArgumentHelp(
            "A store file, or the path that an app gave its store, in addition to the known ones. May be given again.", valueName: "file"),
        completion: .file())
    var store: [String] = []

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    /// The greatest number of items in the view.
    private static let items = 100_000
    private static let troubles = 1_000

    func validate() throws {
        if all == (container != nil) { throw ValidationError("Name a container, <containers root>/<account>/<container identifier>, or give --all.") }
        if ContainerChange.Level(rawValue: level) == nil { throw ValidationError("There are the levels 1, 2 and 3.") }
    }

    func run() async throws {
        clinux_return_large_blocks()
        let home = home.map { DeviceHome(FilePath($0)) } ?? (try? DeviceHome.standard())
        let containers = try containers(home)
        var options = WatchReader.Options()
        (options.items, options.troubles) = (Self.items, Self.troubles)
        options.stores = store.map { PathFacts.absolute(FilePath($0)) }
        let environment = ProcessInfo.processInfo.environment
        guard !plain, !json, Terminal.canDraw(environment: environment) else {
            return await LiveLines(
                containers: containers, home: home, options: options, level: ContainerChange.Level(rawValue: level) ?? .file, json: json
            ).run()
        }
        let hasColours = !noColor && (environment["NO_COLOR"] ?? "").isEmpty
        await LiveView(containers: containers, home: home, options: options, hasColours: hasColours).run()
    }

    private func containers(_ home: DeviceHome?) throws -> [FilePath] {
        guard let container else {
            guard let home else { throw Refusal("There is no device home; name one with --home, or a container.") }
            let known: [KnownContainer]
            do { known = try KnownContainer.list(in: home) } catch {
                throw Refusal("\(error)", status: error.code == .signedOut ? ToolExit.usage : ToolExit.failure)
            }
            guard !known.isEmpty else {
                throw Refusal("\(home.path) knows no containers yet; an app makes one, or: ubcontrol container create IDENTIFIER")
            }
            return known.map(\.path)
        }
        let path = PathFacts.absolute(KnownContainer.path(named: container, in: home))
        guard PathFacts(at: path.appending(UbiquityContainer.markDirectoryName)).kind == .directory else {
            throw Refusal("\(path) is not a container; name <containers root>/<account>/<container identifier>.")
        }
        return [path]
    }
}
