import ArgumentParser
import SystemPackage
import UbiquityContainers

/// What the commands that look at a container take.
struct WatchArguments: ParsableArguments {
    @Argument(help: "The container: <containers root>/<account>/<container identifier>.", completion: .directory)
    var container: String

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A store of this device, beside those that the device home knows: the path that the app gave it, or an SQLite file. May be given again.",
            valueName: "file"), completion: .file())
    var store: [String] = []

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "Else $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    /// The device home; nil where no variable tells one.
    var deviceHome: DeviceHome? { home.map { DeviceHome(FilePath($0)) } ?? (try? DeviceHome.standard()) }

    /// Reads the container.
    ///
    /// - Parameters:
    ///   - items: how many items are listed at most; nil leaves the items alone.
    ///   - troubles: how many troubles of a kind are listed at most.
    /// - Returns: the reader.
    func reader(items: Int? = 100, troubles: Int = 100) -> WatchReader {
        WatchReader(
            FilePath(container), home: deviceHome,
            options: .init(
                stores: store.map { FilePath($0) }, items: items ?? 0, troubles: troubles, asksForStatus: items != nil, walksItems: items != nil))
    }
}
