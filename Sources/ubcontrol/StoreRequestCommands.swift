import ArgumentParser
import StoreInspection
import ToolSupport
import UbiquityStores

/// Runs `ubcontrol store pause`.
struct StorePauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Stop all exchange of a store until it is resumed.",
        discussion: """
            The app continues to read and save, nothing is discarded, and the exchange continues after `ubcontrol store resume`, also after a \
            restart. The pause concerns this file: another account's file continues. Exit status 0, also if it was already paused.
            """
    )

    @OptionGroup var pausing: PauseOptions

    func run() async throws { try pausing.set(true, did: "Paused.", was: "It was paused before.") }
}

/// Runs `ubcontrol store resume`.
struct StoreResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume the exchange of a store.", discussion: "Exit status 0, also if it was not paused."
    )

    @OptionGroup var pausing: PauseOptions

    func run() async throws { try pausing.set(false, did: "Resumed.", was: "It was not paused.") }
}

/// The options of pausing and resuming.
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
        abstract: "Ask the app to rebuild a store from the container's content.",
        discussion: """
            The app, which has the schema, does this in one transaction: it first publishes unsent saves. Readers see the old state until it is \
            done, and keep it if the content lacks data of the store.
            """
    )

    @OptionGroup var request: RequestOptions

    func run() async throws { try request.ask(for: .rebuild) }
}

/// Runs `ubcontrol store republish`.
struct StoreRepublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "republish",
        abstract: "Ask the app to publish a store's records again, after its content has gone from the container.",
        discussion: """
            The app does this. If the content exists, it only writes a baseline. To remove the content on all devices instead, see `ubcontrol store \
            follow`.
            """
    )

    @OptionGroup var request: RequestOptions

    func run() async throws { try request.ask(for: .republish) }
}

/// Runs `ubcontrol store follow`.
struct StoreFollowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "follow",
        abstract: "Confirm that the content that has gone from a store's container is removed, on all devices of the account.",
        discussion: """
            The app does this: the store starts again, empty; unsent data of this device is set aside, see `ubcontrol kept`. If the content exists, \
            nothing happens. Before that, the content's name must be typed, or --yes given.
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

/// The options of the commands that send the app a request.
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

/// Withdraws a request.
struct CancelOption: ParsableArguments {
    @Flag(name: .customLong("cancel"), help: "Withdraw this command's request, if the app has not done it yet.")
    var isOn = false
}

/// Sends a request to a store's app, or withdraws it.
struct AppRequest {
    let request: StoreRequest
    let store: StoreArgument
    let isWithdrawn: Bool
    let isRehearsal: Bool
    let json: Bool

    static let help: ArgumentHelp = "Print a JSON object: store, asked (the new request), before (the earlier one)."

    /// Sends or withdraws the request.
    ///
    /// - Parameter confirm: called before a request is sent.
    /// - Throws: `UbiquitousStoreError`, or the error of `confirm`.
    func run(confirm: (StoreSummary) throws -> Void = { _ in }) throws {
        let summary = try store.look { inspection in
            if !isWithdrawn { try inspection.checkAskable() }
            return try inspection.summary()
        }
        // The --cancel option of another command withdraws that command's request.
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
