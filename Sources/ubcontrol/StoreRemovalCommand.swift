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
        abstract: "Remove a store's content on all devices of the account, those that are off now included.",
        discussion: """
            One file is written, the mark of the content's next epoch: it decides. The app, here and on each other device, empties its store when it \
            sees it, and sets aside what had not been sent (`ubcontrol kept`). Before, the content's name has to be typed, or --yes given.

            Where that cannot be, such as of a store that is paused, or whose account is not signed in, nobody is asked, and --dry-run says so, too, with the \
            same exit status.
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

    /// Where its content lies; for that, its account has to be signed in.
    private func place(of summary: StoreSummary) throws -> UbiquityContainer {
        let deviceHome = try home.deviceHome
        guard let account = try deviceHome.account, account.description == summary.account else {
            throw Refusal(
                "The store is of “\(summary.account)”, who is not signed in at \(deviceHome.path); sign in with: ubcontrol sign-in ACCOUNT")
        }
        let identifier = try ContainerIdentifier(summary.container)
        // One that the home does not know would be recorded in it.
        guard try deviceHome.knownPeer(of: account, in: identifier) != nil else {
            throw Refusal("Nobody has used \(identifier) at \(deviceHome.path); name the device home of the store's app with --home.")
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
