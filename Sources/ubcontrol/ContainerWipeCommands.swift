import ArgumentParser
import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol container wipe`.
struct ContainerWipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete everything in a container, on this device and wherever its synchroniser carries that.",
        discussion: """
            Stores lose their content in the container first, at one moment; their own files keep everything, and they are suspended. Then each item is \
            deleted under coordination, so that apps that show it are asked and told. The container stays, and apps may use it. What cannot be deleted is \
            listed, and the exit status is 1.
            """
    )

    @Argument(help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"))
    var identifier: String

    @Flag(help: "Do not ask; otherwise the identifier has to be typed once more.")
    var yes = false

    @Option(help: ArgumentHelp("How long others are waited for, for each item.", valueName: "seconds"))
    var deadline = 30

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: files, left (path, reason).")
    var json = false

    func validate() throws {
        guard deadline > 0 else { throw ValidationError("--deadline \(deadline): give a number of seconds above 0.") }
    }

    func run() async throws {
        let container = try await existingContainer(identifier, home)
        if !yes { try confirm(container) }
        let isShown = isatty(STDERR_FILENO) == 1
        let wipe = try await ContainerWipe.run(container, deadline: .seconds(deadline)) { files in
            if isShown, files.isMultiple(of: 100) { FileHandle.standardError.write(Data("\r\(files) files".utf8)) }
        }
        if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
        if json {
            try printJSON(wipe)
        } else {
            for entry in wipe.left { print("left: \(entry.path): \(entry.reason)") }
            print("Deleted \(wipe.files) \(wipe.files == 1 ? "file" : "files") from \(container.path).")
        }
        if !wipe.left.isEmpty { throw ExitCode(1) }
    }

    private func confirm(_ container: UbiquityContainer) throws {
        let stores = (try? ContainerSurvey(of: container.path).stores.map(\.name)) ?? []
        let names = stores.isEmpty ? "" : ", the content of \(stores.joined(separator: ", ")) included"
        FileHandle.standardError.write(
            Data(
                "This deletes everything in \(container.path)\(names), on all devices that it is synchronised with.\nType its identifier to go on: "
                    .utf8))
        guard readLine() == container.identifier.description else {
            FileHandle.standardError.write(Data("That is not \(container.identifier): nothing is deleted.\n".utf8))
            throw ExitCode(1)
        }
    }
}

/// Runs `ubcontrol container resume`.
struct ContainerResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let stores exchange again in a container of which many items were deleted at once.",
        discussion: "The guard against mass deletion had suspended them; say by this that it was meant, or that what was deleted is back."
    )

    @Argument(help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"))
    var identifier: String

    @OptionGroup var home: HomeOptions

    func run() async throws {
        let container = try await existingContainer(identifier, home)
        let wasSuspended = container.isSuspended
        try container.resume()
        print(wasSuspended ? "Stores in \(container.identifier) exchange again." : "\(container.identifier) was not suspended.")
    }
}

/// Runs `ubcontrol container events`.
struct ContainerEventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Watch a container for wipes, and tell each as one event.",
        discussion: """
            Told are: all or many items deleted, the container deleted, moved away or unmounted, its attachment mark gone, a store's content gone or removed, \
            the account signed out; and when what was gone is back. Deletions of very many items without coordination suspend stores in the container; see \
            “ubcontrol container resume”. It ends when it is interrupted.
            """
    )

    @Argument(help: ArgumentHelp("The container, such as org.example.notes.", valueName: "identifier"))
    var identifier: String

    @OptionGroup var home: HomeOptions

    @Flag(
        help:
            "Print a JSON object a line: kind, date, items, stores, hasMark, isSuspended, description; the first, of kind “watching”, when it begins."
    )
    var json = false

    func run() async throws {
        let container = try await existingContainer(identifier, home)
        let events = try container.events
        try await events.ready()
        try tell("watching", "\(container.path) is watched", nil)
        for await event in events {
            try tell(event.kind.name, event.kind.description, event)
        }
    }

    private func tell(_ kind: String, _ description: String, _ event: ContainerEvent?) throws {
        if json {
            try printJSON(
                Line(
                    kind: kind, date: event?.date ?? Date(), items: event?.held.items, stores: event?.held.stores.sorted(),
                    hasMark: event?.held.hasMark,
                    isSuspended: event?.isSuspended, description: description))
        } else {
            let held = event.map {
                "; it holds \($0.held.items) \($0.held.items == 1 ? "item" : "items")\($0.isSuspended ? "; stores are suspended" : "")"
            }
            print("\((event?.date ?? Date()).formatted(.iso8601))  \(description)\(held ?? "")")
        }
        fflush(nil)
    }

    private struct Line: Encodable {
        var kind: String
        var date: Date
        var items: Int?
        var stores: [String]?
        var hasMark: Bool?
        var isSuspended: Bool?
        var description: String
    }
}

/// The signed-in account's container of this name, which is not made where this device has never used it.
private func existingContainer(_ name: String, _ home: HomeOptions) async throws -> UbiquityContainer {
    let identifier = try ContainerIdentifier(name)
    guard let found = try home.known(identifier), found.state != .notMade else {
        throw ValidationError("There is no container \(identifier) here; see `ubcontrol container list`.")
    }
    return try await UbiquityContainer(name, home: home.deviceHome)
}
