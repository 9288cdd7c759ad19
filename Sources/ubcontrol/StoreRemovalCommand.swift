import ArgumentParser
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store remove-everything`.
struct StoreRemoveEverythingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-everything",
        abstract: "Remove a store's content on all devices of the account, including those that are off now.",
        discussion: """
            The command writes one file, the mark of the content's next epoch, which has the effect. When the app sees the mark, here and on each \
            other device, it empties its store and sets aside unsent data (`ubcontrol kept`). Before that, the content's name must be typed, or \
            --yes given.

            If the removal is impossible, for example because the store is paused or its account is not signed in, the command does not ask, and \
            --dry-run reports it too, with an equal exit status.
            """
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: content, account, epoch (which has begun, or with --dry-run would), records.")
    var json = false

    func run() async throws {
        let (summary, container, next) = try store.look { inspection in
            try inspection.checkExchanging()
            let summary = try inspection.summary()
            let container = try place(of: summary)
            return (summary, container, try inspection.checkRemovable(in: container))
        }
        var epoch = next
        let what = "\(summary.content) of \(summary.account) with \(counted(summary.records, "record")) here"
        if !dryRun.isOn {
            try confirmation.confirm("This removes \(what), on every device of the account.", answer: summary.content)
            epoch = try store.open(readOnly: true).removeContent(in: container)
        }
        if json {
            try printJSON(Removed(content: summary.content, account: summary.account, epoch: epoch, records: summary.records))
        } else {
            let words = dryRun.isOn ? "Would remove \(what); epoch \(epoch) would begin." : "Removed \(what); epoch \(epoch) has begun."
            print(words.printable)
        }
    }

    /// Returns the container of its content; its account must be signed in.
    private func place(of summary: StoreSummary) throws -> UbiquityContainer {
        let deviceHome = try home.deviceHome
        guard let account = try deviceHome.account, account.description == summary.account else {
            throw Refusal(
                "The store is of “\(summary.account)”, who is not signed in at \(deviceHome.path); sign in with: ubcontrol sign-in ACCOUNT")
        }
        let identifier = try ContainerIdentifier(summary.container)
        // An unknown container would be recorded in the home.
        guard try deviceHome.knownPeer(of: account, in: identifier) != nil else {
            throw Refusal("No app has used \(identifier) at \(deviceHome.path); name the device home of the store's app with --home.")
        }
        return try UbiquityContainer(recorded: identifier, of: account, home: deviceHome, files: LinuxFileLayer())
    }

    private struct Removed: Encodable {
        var content: String
        var account: String
        var epoch: Int64
        var records: Int
    }
}
