import ArgumentParser
import FileCoordination
import Foundation
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol item`.
struct ItemCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "item",
        abstract: "Evict documents from this device, fetch them, and say which ones stay.",
        discussion: """
            A cloud carries documents as well as stores. A document that was evicted, or not fetched yet, has a placeholder here: it is listed, and \
            a program that opens it without coordination finds no file. A coordinated read fetches it first.

            Exit status 0; 1 if an item is refused, with the reason; 69 if no agent runs.
            """,
        subcommands: [
            ItemStatusCommand.self, ItemFetchCommand.self, ItemEvictCommand.self, ItemPinCommand.self, ItemUnpinCommand.self, ItemPolicyCommand.self,
            ItemSpaceCommand.self,
        ],
        defaultSubcommand: ItemStatusCommand.self
    )
}

/// The container and items of a command.
struct ItemArguments: ParsableArguments {
    @Argument(help: "Paths of items in a container.", completion: .file())
    var items: [String]

    /// The items with their container.
    ///
    /// - Throws: `Refusal` for an item in no container of the signed-in account.
    func resolved(_ options: HomeOptions) async throws -> [(container: UbiquityContainer, item: FilePath)] {
        let home = try options.deviceHome
        guard let account = try home.signedIn else {
            throw Refusal("no account is signed in; sign in with: ubcontrol sign-in ACCOUNT", status: ExitCode(1))
        }
        let directory = home.root(of: account.record).appending(account.name.description)
        let real = PathFacts.real(directory) ?? directory
        var containers: [String: UbiquityContainer] = [:]
        var found: [(UbiquityContainer, FilePath)] = []
        for text in items {
            let path = FilePath(FileManager.default.currentDirectoryPath).pushing(FilePath(text)).lexicallyNormalized()
            // The item itself may be missing, and the way to it may lead over links.
            let place = PathFacts.resolved(path.removingLastComponent()).appending(path.lastComponent?.string ?? "")
            var relative = place
            guard relative.removePrefix(real) || relative.removePrefix(directory), let name = relative.components.first?.string else {
                throw Refusal("\(path) is in no container of \(account.name); its containers are in \(directory)", status: ToolExit.usage)
            }
            if containers[name] == nil {
                guard account.record.peers[name] != nil else {
                    throw Refusal("this device does not use the container \(name); open it with its app first", status: ExitCode(1))
                }
                containers[name] = try await UbiquityContainer(name, home: home)
            }
            found.append((containers[name]!, containers[name]!.path.pushing(FilePath(root: nil, relative.components.dropFirst()))))
        }
        return found
    }

    /// Does something with each item, and goes on behind one that is refused.
    func forEach(_ word: String, _ group: ItemOptions, _ body: (UbiquityContainer, URL) async throws -> Void) async throws {
        var isRefused = false
        for (container, item) in try await resolved(group.options) {
            do {
                try await body(container, URL(filePath: item.string))
                if group.json { print(try jsonLine(Result(path: item.string, result: word))) } else { print("\(word): \(item.string.printable)") }
            } catch let error as ContainerError where error.code == .notAvailable {
                if (error.cause as? ItemAgent.Refusal)?.isWithoutAgent == true { throw Refusal(error.message, status: ToolExit.unavailable) }
                isRefused = true
                if group.json { print(try jsonLine(Result(path: item.string, result: "refused", reason: error.message))) }
                writeError("\(error.message.printable)\n")
            }
        }
        if isRefused { throw ExitCode(1) }
    }
}

extension ItemArguments {
    private struct Result: Encodable {
        var path: String
        var result: String
        var reason: String?
    }
}

/// The options of the commands about items.
struct ItemOptions: ParsableArguments {
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print JSON: for each item an object with path, result and reason; for a setting its value.")
    var json = false
}

/// Runs `ubcontrol item status`.
struct ItemStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where items are, how large they are, and whether they stay here.",
        discussion: "Exit status 0; 1 if there is no such item.")
    @OptionGroup var arguments: ItemArguments
    @OptionGroup var options: HomeOptions
    @Flag(help: "Print a JSON object a line: path, status, isHere, isPinned, size, modified, progress, failure.")
    var json = false

    private struct Line: Encodable {
        var path: String
        var status: ItemStatus
        var isHere: Bool
        var isPinned: Bool
        var size: Int64?
        var modified: Date
        var progress: TransferProgress?
        var failure: String?
    }

    func run() async throws {
        var isMissing = false
        for (container, item) in try await arguments.resolved(options) {
            guard let values = try await container.resourceValues(of: URL(filePath: item.string)) else {
                isMissing = true
                writeError("\(item.string.printable): there is no such item, here or in the cloud\n")
                continue
            }
            let pins = try container.pinnedItems()
            let isPinned = pins.contains { item.starts(with: container.path.pushing(FilePath($0))) }
            let line = Line(
                path: item.string, status: values.state.status, isHere: values.isHere, isPinned: isPinned, size: values.fileSize,
                modified: values.contentModificationDate, progress: values.progress, failure: values.state.failure)
            if json {
                print(try jsonLine(line))
            } else {
                var parts = [values.state.status.rawValue, values.isHere ? "here" : "not here"]
                if let size = values.fileSize { parts.append(size.formatted(.byteCount(style: .file))) }
                if isPinned { parts.append("kept on this device") }
                if let progress = values.progress { parts.append("\(progress)") }
                if let failure = values.state.failure { parts.append(failure.printable) }
                print("\(item.string.printable): \(parts.joined(separator: ", "))")
            }
        }
        if isMissing { throw ExitCode(1) }
    }
}

/// Runs `ubcontrol item fetch`.
struct ItemFetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch", abstract: "Fetch documents, and wait until they are here.",
        discussion: """
            With --no-wait, it returns once the fetch has begun; `ubcontrol transfer status --follow` shows how far it is.

            Exit status 0; 1 if a document cannot be fetched, with the reason.
            """)
    @OptionGroup var arguments: ItemArguments
    @Flag(name: .customLong("no-wait"), help: "Return before the documents are here.")
    var noWait = false
    @OptionGroup var group: ItemOptions

    func run() async throws {
        try await arguments.forEach(noWait ? "started" : "fetched", group) { container, url in
            if noWait { return try await container.startDownloading(url) }
            try await TerminalProgress.awaiting("fetching \(url.lastPathComponent.printable)") { try await container.download(url) }
        }
    }
}

/// Runs `ubcontrol item evict`.
struct ItemEvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Remove documents' bytes from this device; they stay listed, and come back when they are read.",
        discussion: """
            A document is evicted only if the cloud confirms that it has every byte, and no program has it open. Programs that show it are asked.

            Exit status 0; 1 if a document is refused, with the reason; it is unchanged then.
            """)
    @OptionGroup var arguments: ItemArguments
    @OptionGroup var group: ItemOptions

    func run() async throws {
        try await arguments.forEach("evicted", group) { container, url in
            do {
                try await container.evict(url, deadline: .after(.seconds(30)))
            } catch let error as ContainerError {
                throw error
            } catch {
                throw ContainerError(.notAvailable, "\(url.path) cannot be evicted: \(error)", path: FilePath(url.path), cause: error)
            }
        }
    }
}

/// Runs `ubcontrol item pin`.
struct ItemPinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin", abstract: "Keep documents, or everything below directories, on this device.",
        discussion: "They are fetched, and not evicted, whatever the policy is. Exit status 0.")
    @OptionGroup var arguments: ItemArguments
    @OptionGroup var group: ItemOptions

    func run() async throws { try await arguments.forEach("kept on this device", group) { try await $0.setPinned(true, itemAt: $1) } }
}

/// Runs `ubcontrol item unpin`.
struct ItemUnpinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin", abstract: "Let the policy decide again about documents that were kept.",
        discussion: "What is here stays until it is evicted. Exit status 0.")
    @OptionGroup var arguments: ItemArguments
    @OptionGroup var group: ItemOptions

    func run() async throws { try await arguments.forEach("no longer kept", group) { try await $0.setPinned(false, itemAt: $1) } }
}

/// Runs `ubcontrol item policy`.
struct ItemPolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy", abstract: "Show or set which documents of a container this device fetches by itself.",
        discussion: """
            everything: all of them, as a desktop does. on-demand: none, until somebody opens one. A size, such as 10M: those that are smaller. The \
            setting is this device's alone, and removes nothing that is here.

            Exit status 0; 64 for an unknown policy.
            """)
    @Argument(help: "The container's identifier.", completion: .custom { words, _, _ in Self.identifiers(HomeOptions.home(in: words)) })
    var container: String
    @Argument(
        help: ArgumentHelp("everything, on-demand, or a size such as 10M; without it the policy is shown.", valueName: "policy"),
        completion: .list(["everything", "on-demand", "10M"]))
    var policy: String?
    @OptionGroup var group: ItemOptions

    private static func identifiers(_ home: DeviceHome?) -> [String] {
        guard let account = try? home?.signedIn else { return [] }
        return account.record.peers.keys.sorted()
    }

    func validate() throws { _ = try policy.map(Self.parse) }

    private static func parse(_ text: String) throws -> DownloadPolicy {
        switch text {
        case "everything": return .everything
        case "on-demand", "onDemand": return .onDemand
        default:
            guard let bytes = ByteSize.parse(text) else {
                throw ValidationError("\(text.debugDescription) is no policy: give everything, on-demand, or a size such as 10M")
            }
            return .everythingBelow(bytes: bytes)
        }
    }

    private struct Setting: Encodable {
        var policy: DownloadPolicy
        var kept: [String]
    }

    func run() async throws {
        let container = try await UbiquityContainer(container, home: group.options.deviceHome)
        if let policy { try await container.setDownloadPolicy(Self.parse(policy)) }
        if group.json { return print(try jsonLine(Setting(policy: container.downloadPolicy(), kept: container.pinnedItems()))) }
        print(try container.downloadPolicy())
        for pin in try container.pinnedItems() { print("kept: \(pin.isEmpty ? "everything" : pin.printable)") }
    }
}

/// Runs `ubcontrol item space`.
struct ItemSpaceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "space", abstract: "Show or set below how many free bytes documents are evicted by themselves.",
        discussion: """
            The documents that were not used for the longest time go first; never one that is not in the cloud, kept, open, or shown by a program \
            that refuses. It is off unless it is set.

            Exit status 0; 64 for an unusable size.
            """)
    @Argument(
        help: ArgumentHelp("A size such as 10G, or off; without it the setting is shown.", valueName: "size"), completion: .list(["off", "10G"]))
    var size: String?
    @OptionGroup var group: ItemOptions

    func validate() throws {
        if let size, size != "off", ByteSize.parse(size) == nil {
            throw ValidationError("\(size.debugDescription) is no size: give one such as 10G, or off")
        }
    }

    func run() async throws {
        let home = try group.options.deviceHome
        if let size {
            var downloads = try home.downloads
            downloads.evictBelow = size == "off" ? nil : ByteSize.parse(size)
            try HomeSettings(home).configure(["downloads": downloads])
            _ = try? await ItemAgent(home).ask(.downloadsChanged)
        }
        if group.json { return print(try jsonLine(["evictBelow": home.downloads.evictBelow])) }
        print(try home.downloads.evictBelow.map { "documents are evicted below \($0.formatted(.byteCount(style: .file))) free" } ?? "off")
    }
}
