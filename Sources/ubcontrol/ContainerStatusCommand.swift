import ArgumentParser
import ConfiguredTransports
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol container status`.
struct ContainerStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the status of items with respect to the user's other devices.",
        discussion: """
            Prints one line for each item: its status and its path. current: another device has or made this version. waitingToUpload, uploading: \
            only this device has it. downloading, downloaded, notDownloaded: a newer version is on its way, or known elsewhere. excluded: it never \
            leaves this device. conflicted: unresolved conflict copies exist beside it. failed: it could not be fetched. unknown: the status cannot be determined.

            The transfer agent or Syncthing is asked, as config.json of the device home says; without them only excluded, conflicted, and what has a \
            placeholder are known: see `ubcontrol doctor`. Exit status 0, 1 if Syncthing rejects the key or has no such folder, 64 if a path is in no container.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Items of containers; the identifier of a container stands for all of it.",
            discussion: "By default each container of the signed-in account.",
            valueName: "path"),
        completion: .file())
    var paths: [String] = []

    @Flag(
        name: .shortAndLong,
        help: "Also list the contents of directories, and what only other devices have there, except .ubiquity and CoreData.")
    var recursive = false

    @Flag(help: "With --recursive, also list the files of stores and of this package: CoreData and .ubiquity.")
    var all = false

    @Flag(name: .shortAndLong, help: "Continue until the output is closed, and print each item again when its status changes.")
    var follow = false

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object a line: path, status, isHere, size, progress (done, total, rate), failure.")
    var json = false

    func run() async throws {
        let deviceHome = try home.deviceHome
        let listings = try listings(KnownContainer.list(in: deviceHome), deviceHome)
        if listings.contains(where: { $0.transport.kind == .none }) {
            note("Syncthing is not asked, because \(deviceHome.configurationFile) does not name it; see `ubcontrol setup`.")
        } else if let first = listings.first?.transport as? SyncthingTransport {
            do {
                try await first.check()
            } catch let error as SyncthingError where error.isPassing {
                note("\(error)")
            }
        }
        guard follow else {
            for listing in listings { for line in try await listing.items.lines() { try show(line) } }
            return
        }
        try await withThrowingTaskGroup { group in
            for listing in listings {
                group.addTask { try await listing.items.follow { lines in for line in lines { try show(line) } } }
            }
            try await group.waitForAll()
        }
    }

    private func show(_ line: ItemListing.Line) throws {
        if json {
            try printJSON(line)
        } else {
            print("\(line.status.rawValue.padding(toLength: 15, withPad: " ", startingAt: 0))  \(line.path.printable)\(line.details.printable)")
        }
        try flushOutput()
    }

    private func note(_ text: String) { writeError("note: \(text)\n") }

    /// Returns the requested items, by container.
    private func listings(
        _ containers: [KnownContainer], _ home: DeviceHome
    ) throws -> [(items: ItemListing, transport: any Transport)] {
        var roots: [(container: FilePath, items: [FilePath])] = []
        func add(_ item: FilePath, in container: FilePath) {
            if let index = roots.firstIndex(where: { $0.container == container }) {
                roots[index].items.append(item)
            } else {
                roots.append((container, [item]))
            }
        }
        if paths.isEmpty {
            for container in containers where PathFacts(at: container.path).kind == .directory { add(container.path, in: container.path) }
        }
        for path in paths {
            if !path.contains("/"), let container = containers.first(where: { $0.identifier.description == path }) {
                add(container.path, in: container.path)
                continue
            }
            let (item, container) = try find(path, in: containers, home)
            add(item, in: container)
        }
        return try roots.map { container, items in
            let transport = try configuredTransport(for: container, home: home)
            return (ItemListing(of: items, in: container, isRecursive: recursive, includesStores: all, transport: transport), transport)
        }
    }

    /// Finds an item in the spelling of its container's path; the item itself may be a link, so only its directory is
    /// resolved.
    private func find(_ text: String, in containers: [KnownContainer], _ home: DeviceHome) throws -> (item: FilePath, container: FilePath) {
        let path = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(text)).lexicallyNormalized()
        let real = path.lastComponent.map { PathFacts.resolved(path.removingLastComponent()).appending($0) } ?? path
        for container in containers {
            var relative = real
            if relative.removePrefix(PathFacts.resolved(container.path)) { return (container.path.pushing(relative), container.path) }
        }
        throw Refusal("\(path) lies in no container of the account that is signed in at \(home.path); see `ubcontrol container list`.")
    }
}
