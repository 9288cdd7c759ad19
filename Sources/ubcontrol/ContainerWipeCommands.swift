import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol container wipe`.
struct ContainerWipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Delete everything in a container, on this device and on all devices that its synchroniser reaches.",
        discussion: """
            First, all stores lose their content in the container at once; their own files keep everything, and they are suspended. Then each item \
            is deleted under coordination, so that apps that show it are asked and told. The container stays, and apps may continue to use it. \
            Before that, its identifier must be typed again; until then, and with --dry-run, nothing is written. Items that cannot be deleted are \
            listed, and the exit status is 1; it is 3 if the container is gone. At the end the command prints the commands that restore a store's \
            content, or confirm its removal, on each device.
            """
    )

    @OptionGroup var name: ContainerArgument

    @Option(help: ArgumentHelp("How long to wait for other accesses, for each item.", valueName: "seconds"))
    var deadline = 30

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: files, left (path, reason); of a dry run path, files, stores.")
    var json = false

    func validate() throws {
        guard deadline > 0 else { throw ValidationError("--deadline \(deadline): give a number of seconds above 0.") }
    }

    func run() async throws {
        // Before the confirmation the container is only inspected: its first use would write this device's mark into
        // it.
        let path = try existingPath(name.identifier, home)
        guard PathFacts(at: path).kind == .directory else {
            throw Refusal("The container \(path) is not there: there is nothing to delete.", status: ToolExit.gone)
        }
        let stores = (try? ContainerSurvey(of: path).stores.map(\.name)) ?? []
        let contents = stores.isEmpty ? "" : ", the content of \(stores.joined(separator: ", ")) included"
        if dryRun.isOn { return try rehearse(path, stores, contents) }
        try confirmation.confirm(
            "This deletes everything in \(path)\(contents), on all devices that it is synchronised with.", answer: name.identifier)
        let container = try await UbiquityContainer(name.identifier, home: home.deviceHome)
        let wipe = try await TerminalProgress.awaiting({ progress in
            try await ContainerWipe.run(container, deadline: .seconds(deadline)) { progress.show($0, "file") }
        })
        if json {
            try printJSON(wipe)
        } else {
            for entry in wipe.left { print("left: \(entry.path.printable): \(entry.reason.printable)") }
            print("Deleted \(counted(wipe.files, "file")) from \(container.path).")
            for line in try WipeAdvice(home: home.deviceHome, container: container.identifier).lines { print(line.printable) }
        }
        if !wipe.left.isEmpty { throw ExitCode(1) }
    }

    private func rehearse(_ path: FilePath, _ stores: [String], _ contents: String) throws {
        let marks = "\(UbiquityContainer.markDirectoryName)/"
        let files = TerminalProgress.showing("counting files") {
            ContainerListing(of: path, names: nil).entries.count { $0.kind == .file && !$0.path.hasPrefix(marks) }
        }
        if json { return try printJSON(Rehearsal(path: path.string, files: files, stores: stores)) }
        print("Would delete \(counted(files, "file")) from \(path)\(contents).".printable)
    }

    private struct Rehearsal: Encodable {
        var path: String
        var files: Int
        var stores: [String]
    }
}

/// Runs `ubcontrol container resume`.
struct ContainerResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let stores exchange again in a container after many of its items were deleted at once.",
        discussion: """
            The guard against mass deletion has suspended them; this confirms that the deletion was meant, or that the items are back. A store \
            whose content is gone from the container, for example after a wipe, is suspended separately: the command prints the commands that \
            resume it. Exit status 0 if no store is suspended, 1 if one is still suspended, 3 if the container is gone.
            """
    )

    @OptionGroup var name: ContainerArgument

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: identifier, wasSuspended, stores that are suspended still (path, hindrance, remedies).")
    var json = false

    func run() async throws {
        let container = try await existingContainer(name.identifier, home)
        guard PathFacts(at: container.path).kind == .directory else {
            throw Refusal("The container \(container.path) is not there: its stores continue when it is back.", status: ToolExit.gone)
        }
        let wasSuspended = container.isSuspended
        try container.resume()
        let advice = try WipeAdvice(home: home.deviceHome, container: container.identifier)
        if json {
            try printJSON(Resumed(identifier: container.identifier.description, wasSuspended: wasSuspended, stores: advice.stores))
        } else {
            print(
                wasSuspended
                    ? "The guard against mass deletion lets stores in \(container.identifier) exchange again."
                    : "The guard against mass deletion had not suspended \(container.identifier).")
            for line in advice.lines { print(line.printable) }
        }
        if !advice.stores.isEmpty { throw ToolExit.failure }
    }

    private struct Resumed: Encodable {
        var identifier: String
        var wasSuspended: Bool
        var stores: [StoreCondition]
    }
}

/// Runs `ubcontrol container events`.
struct ContainerEventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Watch a container for wipes, and report each as one event.",
        discussion: """
            Events: all or many items deleted, the container deleted, moved away or unmounted, its attachment mark gone, a store's content gone or \
            removed, the account signed out; and the return of any of these. Deletions of very many items without coordination suspend stores in \
            the container; see `ubcontrol container resume`. The command ends when it is interrupted.

            If no app on this device has used the container, this is its first use, like that of an app: the device's attachment mark is written \
            into it. `ubwatch CONTAINER` watches without writing.
            """
    )

    @OptionGroup var name: ContainerArgument

    @OptionGroup var home: HomeOptions

    @Flag(
        help:
            "Print a JSON object a line: kind, date, items, stores, hasMark, isSuspended, description; the first, of kind “watching”, when it begins."
    )
    var json = false

    func run() async throws {
        let container = try await existingContainer(name.identifier, home)
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
            print("\((event?.date ?? Date()).formatted(.iso8601))  \(description)\(held ?? "")".printable)
        }
        try flushOutput()
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

/// Returns the signed-in account's container of this name; does not create one that this device has never used.
private func existingContainer(_ name: String, _ home: HomeOptions) async throws -> UbiquityContainer {
    _ = try existingPath(name, home)
    return try await UbiquityContainer(name, home: home.deviceHome)
}

/// Returns the container's current or former path, without writing anything.
private func existingPath(_ name: String, _ home: HomeOptions) throws -> FilePath {
    let identifier = try ContainerIdentifier(name)
    guard let found = try home.known(identifier), found.state != .notMade else {
        throw Refusal("There is no container \(identifier) here; see `ubcontrol container list`.")
    }
    return found.path
}
