import ArgumentParser
import SystemPackage
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store remove-everything`.
struct StoreRemoveEverythingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove-everything",
        abstract: "Remove a store's content on all devices of the account, those that are off now included.",
        discussion: """
            One file is written, the mark of the content's next epoch: it decides. The app, here and on each other device, empties its store when it \
            sees it, and sets aside what had not been sent (`ubcontrol kept`).
            """
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: content, account, epoch, records.")
    var json = false

    func run() async throws {
        let inspection = try store.open(readOnly: true)
        let summary = try inspection.summary()
        var epoch = summary.epoch
        let what = "\(summary.content) of \(summary.account) with \(counted(summary.records, "record")) here"
        if !dryRun.isOn {
            try confirmation.confirm("This removes \(what), on every device of the account.")
            let deviceHome = try home.deviceHome
            guard let account = try deviceHome.account, account.description == summary.account else {
                throw ValidationError(
                    "The store is of “\(summary.account)”, who is not signed in at \(deviceHome.path); sign in with: ubcontrol sign-in ACCOUNT")
            }
            epoch = try inspection.removeContent(
                in: UbiquityContainer(recorded: ContainerIdentifier(summary.container), of: account, home: deviceHome, files: LinuxFileLayer()))
        }
        if json {
            try printJSON(Removed(content: summary.content, account: summary.account, epoch: epoch, records: summary.records))
        } else {
            print(dryRun.isOn ? "Would remove \(what)." : "Removed \(what); epoch \(epoch) has begun.")
        }
    }

    private struct Removed: Encodable {
        var content: String
        var account: String
        var epoch: Int64
        var records: Int
    }
}
