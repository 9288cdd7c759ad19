import ArgumentParser
import ConfiguredTransports
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups the commands about containers.
struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container",
        abstract: "List, make, copy, watch and wipe containers; show how items stand.",
        discussion: """
            For example:

                ubcontrol container list
                ubcontrol container status CONTAINER --recursive
                ubcontrol container copy CONTAINER --to DIR
                ubcontrol container wipe CONTAINER --dry-run
            """,
        subcommands: [
            ContainerListCommand.self, ContainerStatusCommand.self, ContainerCreateCommand.self, ContainerCopyCommand.self,
            ContainerEventsCommand.self, ContainerWipeCommand.self, ContainerResumeCommand.self,
        ],
        defaultSubcommand: ContainerListCommand.self
    )
}

/// Runs `ubcontrol container list`.
struct ContainerListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the containers of the signed-in account.",
        discussion: """
            Prints one line for each container: its identifier, its state on this device, its stores, its size by kind, and its path. The last line has \
            the size of all containers of the account and the free space, within the user's quota. It is red when nothing more can be written, or when \
            the containers take more bytes than the member storageMark of config.json says. --no-sizes does not measure, which takes long for very \
            many files.

            Exit status 0, 1 while signed out.
            """
    )

    @Flag(inversion: .prefixedNo, help: "Measure the containers.")
    var sizes = true

    @OptionGroup var home: HomeOptions

    @Flag(
        help: """
            Print a JSON object a line: identifier, path, peer, state, isDeclared, stores, storage (documents, stores by kind, free, capacity), bytes, \
            isOverMark.
            """)
    var json = false

    func run() async throws {
        let deviceHome = try home.deviceHome
        let known = try KnownContainer.list(in: deviceHome)
        let measured = sizes ? Self.measure(known) : [:]
        let used = measured.values.reduce(0) { $0 + $1.bytes }
        let mark = try deviceHome.configuration.storageMark
        for finding in known {
            let storage = measured[finding.path]
            let stores = (try? ContainerSurvey(of: finding.path).stores.map(\.name)) ?? []
            if json {
                try printJSON(
                    Report(
                        identifier: finding.identifier.description, path: finding.path.string, peer: finding.peer?.description,
                        state: finding.state.description, isDeclared: finding.isDeclared, stores: stores,
                        storage: storage, bytes: storage?.bytes, isOverMark: storage?.isOver(mark, used: used)))
            } else {
                let names = stores.isEmpty ? "" : "; stores \(stores.joined(separator: ", "))"
                let size = storage.map { "; \(Self.text(of: $0))" } ?? ""
                print("\(finding.identifier)  \(finding.state)\(names)\(size); \(finding.path)".printable)
            }
        }
        if !json, let last = measured.values.first { print(Self.summary(last, used: used, mark: mark, count: measured.count)) }
    }

    /// Measures the containers that are there.
    private static func measure(_ known: [KnownContainer]) -> [FilePath: ContainerStorage] {
        TerminalProgress.showing { progress in
            var count = 0
            var measured: [FilePath: ContainerStorage] = [:]
            for container in known where PathFacts(at: container.path).kind == .directory {
                measured[container.path] = ContainerStorage(of: container.path) {
                    count += 1
                    progress.show(count, "directory")
                }
            }
            return measured
        }
    }

    private static func text(of storage: ContainerStorage) -> String {
        let kinds = storage.kinds.filter { $0.amount.bytes > 0 }.map { "\($0.name) \(size($0.amount.bytes))" }
        return size(storage.bytes) + (kinds.isEmpty ? "" : " (\(kinds.joined(separator: ", ")))")
    }

    private static func summary(_ storage: ContainerStorage, used: Int64, mark: Int64?, count: Int) -> String {
        var text = "\(size(used)) in \(counted(count, "container"))"
        if let free = storage.free, let capacity = storage.capacity { text += "; \(size(free)) free of \(size(capacity))" }
        if storage.isFull { text += ": nothing more can be written there" }
        if let mark, used >= mark { text += ": more than the mark of \(size(mark)) in config.json" }
        return storage.isOver(mark, used: used) ? text.red : text
    }

    private static func size(_ bytes: Int64) -> String { bytes.formatted(.byteCount(style: .file, spellsOutZero: false)) }

    private struct Report: Encodable {
        var identifier: String
        var path: String
        var peer: String?
        var state: String
        var isDeclared: Bool
        var stores: [String]
        var storage: ContainerStorage?
        var bytes: Int64?
        var isOverMark: Bool?
    }
}

/// Runs `ubcontrol container create`.
struct ContainerCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a container, as an app's first use of it does.",
        discussion: "If the container exists, nothing changes; if it existed and is gone, it is not made again, and the exit status is 3."
    )

    @Argument(help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"))
    var identifier: String

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: path, state.")
    var json = false

    func run() async throws {
        let container = try await UbiquityContainer(identifier, home: try home.deviceHome)
        let state = container.attachment()
        if json { try printJSON(["path": container.path.string, "state": "\(state)"]) } else { print("\(container.path): \(state)") }
        if state == .detached(.containerGone) { throw ToolExit.gone }
        if state != .attached { throw ToolExit.failure }
    }
}

/// Runs `ubcontrol container copy`.
struct ContainerCopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "copy",
        abstract: "Copy a container in its current state, for example for a bug report.",
        discussion: """
            The command does not coordinate, wait, download or change anything. It lists everything that the copy omits: folders named .nosync, \
            files that a synchroniser is still writing, files that cannot be read, and files that only other devices have. Contents are copied unchanged: be careful to whom you give \
            them.
            """
    )

    @Argument(
        help: ArgumentHelp("The container: its identifier, or its directory.", valueName: "container"), completion: .directory)
    var container: String

    @Option(name: .customLong("to"), help: ArgumentHelp("The directory of the copy, which must not exist.", valueName: "dir"))
    var destination: String

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: files, bytes, leftOut (path, reason).")
    var json = false

    func run() async throws {
        let source = try source
        // A transport that is not configured, or does not answer, knows of nothing.
        let elsewhere = (try? await configuredTransport(for: source, home: home.deviceHome).elsewhere(below: source)) ?? [:]
        let copy = try TerminalProgress.showing { progress in
            var count = 0
            return try ContainerCopy.make(of: source, at: FilePath(destination), listing: elsewhere) { _ in
                count += 1
                progress.show(count, "file")
            }
        }
        if json {
            try printJSON(copy)
        } else {
            for entry in copy.leftOut { print("left out: \(entry.path.printable): \(entry.reason.printable)") }
            let size = copy.bytes.formatted(.byteCount(style: .file, spellsOutZero: false))
            print("Copied \(counted(copy.files, "file")), \(size), to \(destination).")
        }
    }

    private var source: FilePath {
        get throws {
            guard !container.contains("/"), let identifier = try? ContainerIdentifier(container) else { return FilePath(container) }
            guard let found = try home.known(identifier) else {
                throw Refusal("There is no container \(identifier) here; see `ubcontrol container list`, or name its directory.")
            }
            return found.path
        }
    }
}

extension HomeOptions {
    /// Returns this device's record of the signed-in account's container; nil if there is none.
    func known(_ identifier: ContainerIdentifier) throws -> KnownContainer? {
        try KnownContainer.list(in: deviceHome).first { $0.identifier == identifier }
    }
}
