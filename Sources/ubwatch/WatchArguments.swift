import ArgumentParser
import StoreInspection
import SystemPackage
import UbiquityContainers

/// The arguments of the commands that inspect a container.
struct WatchArguments: ParsableArguments {
    @Argument(
        help: "The container: its identifier in the signed-in account, or the path <containers root>/<account>/<container identifier>.",
        completion: .directory)
    var container: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A store of this device, in addition to those that the device home knows: the path that the app gave it, or an SQLite file. May be given again.",
            valueName: "file"), completion: .file())
    var store: [String] = []

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    @Flag(help: "Show peers by their identifiers, not by the names of their devices.")
    var verbose = false

    /// Returns the names of a container's peers, as the command line wants them.
    func names(of stores: [ContainerSurvey.Store]) -> PeerNames { verbose ? .identifiers : PeerNames(stores) }

    /// The device home; nil if no variable names one.
    var deviceHome: DeviceHome? { home.map { DeviceHome(FilePath($0)) } ?? (try? DeviceHome.standard()) }

    /// Makes a reader of the container.
    ///
    /// - Parameters:
    ///   - items: the greatest number of listed items; nil ignores the items.
    ///   - troubles: the greatest number of listed problems of each kind.
    /// - Returns: the reader.
    func reader(items: Int? = 100, troubles: Int = 100) -> WatchReader {
        WatchReader(
            KnownContainer.path(named: container, in: deviceHome), home: deviceHome,
            options: .init(
                stores: store.map { FilePath($0) }, items: items ?? 0, troubles: troubles, asksForStatus: items != nil, walksItems: items != nil))
    }
}
