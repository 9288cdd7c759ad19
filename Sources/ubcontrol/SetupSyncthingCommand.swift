import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol setup syncthing`.
struct SetupSyncthingCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncthing",
        abstract: "Share the account through Syncthing, and show a code for the user's next device.",
        discussion: """
            Signs in, finds the user's Syncthing or makes and starts one, shares the containers' directory through it, and shows a code. Then waits \
            until a device joins with `ubcontrol setup join`, lets it in, and ends when both see each other. A device that does not have the code is \
            never let in, whether or not --yes is given.

            The command may be interrupted, and goes on where it was when it is run again. Run it again, on any of the devices, for each further device.

            Exit status 0 when a device has joined, and with --no-wait when the code has been shown; 1 if something failed; 4 if no device joined in \
            time; 64 if something on the command line or on this device must be changed first.
            """
    )

    @Option(
        help: ArgumentHelp("The account, such as alice@example.org.", discussion: "By default the one that is signed in, or the name of the user."))
    var account: String?

    @OptionGroup var device: SetupDeviceOptions
    @OptionGroup var syncthing: SyncthingOptions
    @OptionGroup var waiting: SetupWaitOptions
    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var options: HomeOptions

    @Flag(
        help: """
            Print JSON objects, one a line, by their kind: step (what, undo), note (what), code (code, account, device, folder, addresses), joined \
            (device, name).
            """)
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let dialog = SetupDialog(confirmation: confirmation)
        let teller = SetupTeller(isJSON: json)
        try await SetupFailure.reporting {
            let account = try chosenAccount(home, dialog)
            var wish = SetupWish(account: account, root: try device.root(of: account, in: home), deviceName: try device.deviceName(in: home, dialog))
            wish.switchesAccount = device.switchAccount
            wish.sharesContents = syncthing.shareContents
            var runner = try SetupRunner(home: home, wish: wish, syncthing: syncthing, teller: teller, dialog: dialog, options: options)
            let facts = try await runner.run()
            let pairing = SetupPairing(runner: runner)
            try await pairing.show(facts)
            if !waiting.isOff { try await pairing.wait(.seconds(waiting.seconds)) }
        }
    }

    private func chosenAccount(_ home: DeviceHome, _ dialog: SetupDialog) throws -> AccountName {
        if let account { return try AccountName(account) }
        if let account = try home.account { return account }
        return try AccountName(dialog.ask("The account", default: NSUserName()))
    }
}

/// Runs `ubcontrol setup join`.
struct SetupJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Connect this device with one that has shown a code.",
        discussion: """
            Signs in to the code's account, finds the user's Syncthing or makes and starts one, and waits until the other device has let this one in \
            and both see each other. On the other device `ubcontrol setup syncthing` must be running meanwhile, or be run again.

            The command may be interrupted, and goes on where it was when it is run again.

            Exit status 0 when both devices see each other, and with --no-wait when this one is ready; 1 if something failed; 4 if the other device \
            did not answer in time; 64 if the code, or something else on the command line or on this device, must be changed first.
            """
    )

    @Argument(help: "The code that the other device shows, in any case, with or without dashes; - reads it from standard input. Asked on a terminal.")
    var code: [String] = []

    @Option(
        name: .customLong("at"),
        help: ArgumentHelp(
            "An address of the other device, such as tcp://192.168.1.7:22000, if the devices do not find each other. May be given more than once.",
            valueName: "url"))
    var addresses: [String] = []

    @OptionGroup var device: SetupDeviceOptions
    @OptionGroup var syncthing: SyncthingOptions
    @OptionGroup var waiting: SetupWaitOptions
    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print JSON objects, one a line, by their kind: step (what, undo), note (what), joined (device, name).")
    var json = false

    func validate() throws {
        for address in addresses {
            guard let url = URL(string: address), let scheme = url.scheme,
                ["tcp", "tcp4", "tcp6", "quic", "quic4", "quic6", "relay"].contains(scheme),
                url.host() != nil
            else {
                throw ValidationError(
                    "\(address.debugDescription) is not an address of a Syncthing device; give one such as tcp://192.168.1.7:22000.")
            }
        }
    }

    func run() async throws {
        let home = try options.deviceHome
        let dialog = SetupDialog(confirmation: confirmation)
        let teller = SetupTeller(isJSON: json)
        try await SetupFailure.reporting {
            let code = try PairingCode(typedCode(dialog))
            var wish = SetupWish(
                account: code.account, root: try device.root(of: code.account, in: home), deviceName: try device.deviceName(in: home, dialog))
            wish.join = code
            wish.addresses = addresses
            wish.switchesAccount = device.switchAccount
            wish.sharesContents = syncthing.shareContents
            var runner = try SetupRunner(home: home, wish: wish, syncthing: syncthing, teller: teller, dialog: dialog, options: options)
            let facts = try await runner.run()
            let joining = SetupJoining(runner: runner, code: code)
            if waiting.isOff, !facts.sees(code.device.description, in: wish.root) {
                return try teller.note("This device is ready. Run the same command without --no-wait to see whether the other one has let it in.")
            }
            try await joining.wait(.seconds(waiting.seconds))
        }
    }

    private func typedCode(_ dialog: SetupDialog) throws -> String {
        // A code with spaces arrives in several words.
        let words = code.joined(separator: " ")
        if words == "-" { return readLine() ?? "" }
        return words.isEmpty ? try dialog.ask("The code that the other device shows", default: "") : words
    }
}

/// Reports what the setup refuses in one line, with the exit status that belongs to it.
enum SetupFailure {
    nonisolated(nonsending) static func reporting(_ body: nonisolated(nonsending) () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SetupError {
            throw Refusal(error.description, status: error.isUsage ? ToolExit.usage : ToolExit.failure)
        }
    }
}
