import ArgumentParser
import ConfiguredTransports
import Foundation
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubwatch items`.
struct ItemsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "items",
        abstract: "Show the status of a container's items with respect to the user's other devices.",
        discussion: """
            Prints one line for each item, except .ubiquity and CoreData: current, downloaded, notDownloaded, downloading, uploading, \
            waitingToUpload, excluded, conflicted, failed or unknown, its path in the container, and how much of it has been transferred. Items \
            that only other devices or the cloud have are listed with their size. The transfer agent or Syncthing is asked, as config.json of the \
            device home says; without them only excluded, conflicted, and what has a placeholder are known. `ubcontrol container status` shows single items. The command writes \
            nothing.
            """
    )

    @Argument(help: "The container: <containers root>/<account>/<container identifier>.", completion: .directory)
    var container: String

    @Flag(name: .shortAndLong, help: "Continue until the output is closed, and print each item again when its status changes.")
    var follow = false

    @Flag(help: "Also list the files of stores and of this package: CoreData and .ubiquity.")
    var all = false

    @Flag(help: "Print a JSON object a line: path, status, isHere, size, progress (done, total, rate), failure.")
    var json = false

    @Option(
        help: ArgumentHelp(
            "The device home.", discussion: "By default $UBIQUITY_HOME, $XDG_DATA_HOME/ubiquity, or ~/.local/share/ubiquity.", valueName: "dir"),
        completion: .directory)
    var home: String?

    func run() async throws {
        let home = try home.map { DeviceHome(FilePath($0)) } ?? DeviceHome.standard()
        let named = KnownContainer.path(named: container, in: home)
        let path = FilePath(FileManager.default.currentDirectoryPath).pushing(named).lexicallyNormalized()
        guard PathFacts(at: path.appending(UbiquityContainer.markDirectoryName)).kind == .directory else {
            throw Refusal("\(path) is not a container; name <containers root>/<account>/<container identifier>.")
        }
        let listing = ItemListing(
            of: [path], in: path, isRecursive: true, includesStores: all, transport: try configuredTransport(for: path, home: home))
        if follow {
            try await listing.follow { lines in for line in lines { try show(line, in: path) } }
        } else {
            let lines = try await TerminalProgress.awaiting("looking at the items", { try await listing.lines() })
            for line in lines { try show(line, in: path) }
        }
    }

    private func show(_ line: ItemListing.Line, in container: FilePath) throws {
        if json {
            print(try jsonLine(line))
        } else {
            let word = line.status.rawValue.padding(toLength: 15, withPad: " ", startingAt: 0)
            print("\(line.status.coloured(word))  \(line.path.dropFirst(container.string.count + 1).description.printable)\(line.details.printable)")
        }
        try flushOutput()
    }
}

extension ItemStatus {
    fileprivate func coloured(_ word: String) -> String {
        switch self {
        case .current: word.green
        case .conflicted, .failed: word.red
        case .downloaded, .notDownloaded, .downloading, .uploading, .waitingToUpload: word.yellow
        case .excluded, .unknown: word
        }
    }
}
