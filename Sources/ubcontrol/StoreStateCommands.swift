import ArgumentParser
import Foundation
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store list`.
struct StoreListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the files of a store: one for each account, and those of this device.",
        discussion: """
            One line a file: what it is for, whose it is, its records, what has not gone out, and where it lies. It writes nothing. Exit status 0, also \
            where there are none, and 1 where one cannot be read: it is named, and the others are listed.
            """
    )

    @Argument(
        help: ArgumentHelp("The path that the app gave its store, or a directory in which there are stores.", valueName: "path"),
        completion: .file())
    var path: String = "."

    @Flag(
        help: "Print a JSON object a line: file, and either fault or place, account, container, content, peer, epoch, bytes, records, unpublished …")
    var json = false

    func run() async throws {
        var isWhole = true
        for file in StoreInspection.files(at: FilePath(path)) {
            do {
                let summary = try StoreInspection(file, readOnly: true).summary()
                if json { try printJSON(summary) } else { print(line(summary)) }
            } catch {
                isWhole = false
                if json { try printJSON(Fault(file: file.string, fault: "\(error)")) } else { print("\(file): \(error)") }
            }
        }
        if !isWhole { throw ExitCode(1) }
    }

    private func line(_ store: StoreSummary) -> String {
        var parts = [
            store.account.isEmpty ? store.place : "\(store.place) of \(store.account)", "\(store.content) in \(store.container)",
            "\(store.records) records",
        ]
        if store.unpublished > 0 || store.isNoted { parts.append("not all has gone out") }
        if store.isPaused { parts.append("paused") }
        if let request = store.request { parts.append("to \(request) with the app's next exchange") }
        return "\(parts.joined(separator: "; ")): \(store.file)"
    }

    private struct Fault: Encodable {
        var file: String
        var fault: String
    }
}

/// Runs `ubcontrol store state`.
struct StoreStateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state", abstract: "Show how a store file stands.", discussion: "It writes nothing, and may run beside the app."
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object: file, place, account, container, content, peer, epoch, bytes, records, unpublished …")
    var json = false

    func run() async throws {
        let summary = try store.open(readOnly: true).summary()
        if json { return try printJSON(summary) }
        let lines = [
            ("file", summary.file), ("place", summary.place), ("account", summary.account.isEmpty ? "none" : summary.account),
            ("container", summary.container), ("content", summary.content), ("peer", summary.peer), ("epoch", "\(summary.epoch)"),
            ("bytes", "\(summary.bytes)"), ("records", "\(summary.records)"), ("logs to go out", "\(summary.unpublished)"),
            ("writes in no log yet", summary.isNoted ? "yes" : "no"), ("gathered", summary.isGathered ? "yes" : "no"),
            ("paused", summary.isPaused ? "yes" : "no"), ("asked for", summary.request ?? "nothing"), ("quarantined files", "\(summary.quarantined)"),
            ("held records", "\(summary.held)"), ("conflicts", "\(summary.conflicts)"),
        ]
        for (name, value) in lines { print("\(name): \(value)") }
    }
}

/// Runs `ubcontrol store pause`.
struct StorePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let nothing go out of a store or in, until it is resumed.",
        discussion: """
            The app reads and saves on, nothing is discarded, and all goes out and in once it is resumed, after a restart too. It is of this file: \
            another account's goes on. Exit status 0, also where it was paused before.
            """
    )

    @OptionGroup var store: StoreArgument

    func run() async throws {
        print(try store.open(readOnly: false).setPaused(true) ? "Paused." : "It was paused before.")
    }
}

/// Runs `ubcontrol store resume`.
struct StoreResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let everything go out of a store and in again.", discussion: "Exit status 0, also where it was not paused."
    )

    @OptionGroup var store: StoreArgument

    func run() async throws {
        print(try store.open(readOnly: false).setPaused(false) ? "Resumed." : "It was not paused.")
    }
}

/// What the commands that ask the app for something have in common.
struct RequestOptions: ParsableArguments {
    @OptionGroup var store: StoreArgument

    @Flag(help: "Withdraw what has been asked for and has not been done.")
    var cancel = false

    func ask(for request: StoreRequest) throws {
        let inspection = try store.open(readOnly: false)
        if cancel {
            let before = try inspection.ask(for: nil)
            print(before.map { "Withdrawn: \($0.rawValue)." } ?? "Nothing had been asked for.")
        } else {
            try inspection.ask(for: request)
            print("The app does it with its next exchange, at once if it runs; `ubcontrol store state` says whether it has.")
        }
    }
}

/// Runs `ubcontrol store rebuild`.
struct StoreRebuildCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Have a store made anew from the container's content.",
        discussion: """
            It is done by the app, which has the schema, in one transaction: what had not gone out goes out first, readers see what was there until it \
            is done, and it stays so where the content does not hold all that the store does.
            """
    )

    @OptionGroup var request: RequestOptions

    func run() async throws { try request.ask(for: .rebuild) }
}

/// Runs `ubcontrol store republish`.
struct StoreRepublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "republish",
        abstract: "Have all that a store holds put into its container again, for the content has gone from there.",
        discussion:
            "It is done by the app. Where the content is there, a baseline is written, and nothing else. To have it removed on all devices instead, see `ubcontrol store follow`."
    )

    @OptionGroup var request: RequestOptions

    func run() async throws { try request.ask(for: .republish) }
}

/// Runs `ubcontrol store follow`.
struct StoreFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Have the content that has gone from a store's container count as removed, on all devices of the account.",
        discussion: """
            It is done by the app: the store begins anew, empty; what this device had not sent is set aside, see `ubcontrol kept`. Where the content \
            is there, nothing is done. Without --yes the exit status is 64.
            """
    )

    @OptionGroup var request: RequestOptions

    @Flag(help: "Confirm that the records are to go, on every device.")
    var yes = false

    func validate() throws {
        if !yes, !request.cancel { throw ValidationError("Every record of the store goes, on every device of the account: add --yes.") }
    }

    func run() async throws { try request.ask(for: .follow) }
}

/// Runs `ubcontrol store remove-everything`.
struct StoreRemoveEverythingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-everything",
        abstract: "Remove a store's content on all devices of the account, those that are off now included.",
        discussion: """
            One file is written, the mark of the content's next epoch: it decides. The app, here and on each other device, empties its store when it \
            sees it, and sets aside what had not been sent (`ubcontrol kept`). Without --yes nothing is removed, and the exit status is 64.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Confirm that every record is to go, on every device.")
    var yes = false

    @Flag(name: .customLong("dry-run"), help: "Say what would be removed, and remove nothing.")
    var isDryRun = false

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: content, account, epoch, records.")
    var json = false

    func validate() throws {
        if !yes, !isDryRun { throw ValidationError("Every record of the store goes, on every device of the account: add --yes.") }
    }

    func run() async throws {
        let inspection = try store.open(readOnly: true)
        let summary = try inspection.summary()
        var epoch = summary.epoch
        if !isDryRun {
            let deviceHome = try home.deviceHome
            guard let account = try deviceHome.account, account.description == summary.account else {
                throw ValidationError("The store is of “\(summary.account)”, who is not signed in at \(deviceHome.path).")
            }
            epoch = try inspection.removeContent(
                in: UbiquityContainer(recorded: ContainerIdentifier(summary.container), of: account, home: deviceHome, files: LinuxFileLayer()))
        }
        if json {
            try printJSON(Removed(content: summary.content, account: summary.account, epoch: epoch, records: summary.records))
        } else {
            let what = "\(summary.content) of \(summary.account) with \(summary.records) records here"
            print(isDryRun ? "Would remove \(what)." : "Removed \(what); epoch \(epoch) has begun.")
        }
    }

    private struct Removed: Encodable {
        var content: String
        var account: String
        var epoch: Int64
        var records: Int
    }
}
