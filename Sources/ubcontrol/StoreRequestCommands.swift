import ArgumentParser
import StoreInspection
import ToolSupport
import UbiquityStores

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

    @OptionGroup var pausing: PauseOptions

    func run() async throws { try pausing.set(true, did: "Paused.", was: "It was paused before.") }
}

/// Runs `ubcontrol store resume`.
struct StoreResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Let everything go out of a store and in again.", discussion: "Exit status 0, also where it was not paused."
    )

    @OptionGroup var pausing: PauseOptions

    func run() async throws { try pausing.set(false, did: "Resumed.", was: "It was not paused.") }
}

/// What pausing and resuming have in common.
struct PauseOptions: ParsableArguments {
    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object: isPaused, wasPaused.")
    var json = false

    func set(_ isPaused: Bool, did: String, was: String) throws {
        let isChanged = try store.open(readOnly: false).setPaused(isPaused)
        if json { return try printJSON(["isPaused": isPaused, "wasPaused": isPaused != isChanged]) }
        print(isChanged ? did : was)
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
        discussion: """
            It is done by the app. Where the content is there, a baseline is written, and nothing else. To have it removed on all devices instead, see \
            `ubcontrol store follow`.
            """
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
            is there, nothing is done. Before, the content's name has to be typed, or --yes given.
            """
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var cancel: CancelOption

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: AppRequest.help)
    var json = false

    func run() async throws {
        let request = AppRequest(request: .follow, store: store, isWithdrawn: cancel.isOn, isRehearsal: dryRun.isOn, json: json)
        try request.run { summary in
            try confirmation.confirm(
                "\(counted(summary.records, "record")) of \(summary.content) will go, on every device of the account.", answer: summary.content)
        }
    }
}

/// What the commands that ask the app for something have in common.
struct RequestOptions: ParsableArguments {
    @OptionGroup var store: StoreArgument

    @OptionGroup var cancel: CancelOption

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: AppRequest.help)
    var json = false

    func ask(for request: StoreRequest) throws {
        try AppRequest(request: request, store: store, isWithdrawn: cancel.isOn, isRehearsal: dryRun.isOn, json: json).run()
    }
}

/// Takes back what was asked for.
struct CancelOption: ParsableArguments {
    @Flag(name: .customLong("cancel"), help: "Withdraw what this command has asked for and has not been done.")
    var isOn = false
}

/// Asks the app that has a store for something, or withdraws that.
struct AppRequest {
    let request: StoreRequest
    let store: StoreArgument
    let isWithdrawn: Bool
    let isRehearsal: Bool
    let json: Bool

    static let help: ArgumentHelp = "Print a JSON object: store, asked (what is to be done), before (what was)."

    /// Does it.
    ///
    /// - Parameter confirm: is called before something is asked for.
    /// - Throws: `UbiquitousStoreError`, or what `confirm` does.
    func run(confirm: (StoreSummary) throws -> Void = { _ in }) throws {
        let summary = try store.look { inspection in
            if !isWithdrawn { try inspection.checkAskable() }
            return try inspection.summary()
        }
        // What another command has asked for is withdrawn by that one's --cancel.
        var (asked, before) = (isWithdrawn ? nil : request.rawValue, isWithdrawn && summary.request != request.rawValue ? nil : summary.request)
        if !isRehearsal {
            if !isWithdrawn { try confirm(summary) }
            let inspection = try store.open(readOnly: false)
            if !isWithdrawn { try inspection.ask(for: request) } else if try !inspection.withdraw(request) { before = nil }
        }
        if json { return try printJSON(Report(store: summary.file, asked: asked, before: before)) }
        switch (asked, isRehearsal) {
        case (let asked?, true):
            let instead = before.map { $0 == asked ? ", as it is asked already" : ", and no longer to \($0)" } ?? ""
            print("Would ask the app to \(asked) \(summary.file), \(counted(summary.records, "record"))\(instead).")
        case (nil, true): print(before.map { "Would withdraw: \($0)." } ?? "No \(request.rawValue) has been asked for.")
        case (_?, false):
            print(
                "The app does it with its next exchange, at once if it runs; whether it has says: ubcontrol store state \(summary.file.shellWord)"
                    .printable)
        case (nil, false): print(before.map { "Withdrawn: \($0)." } ?? "No \(request.rawValue) had been asked for.")
        }
    }

    private struct Report: Encodable {
        var store: String
        var asked: String?
        var before: String?
    }
}
