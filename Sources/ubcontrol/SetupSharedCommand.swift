import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol setup shared`.
struct SetupSharedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "shared",
        abstract: "Share the account through a directory that all of the user's devices mount.",
        discussion: """
            Signs in with the containers in the directory, and notes in config.json that the directory itself carries the files. Run it on each \
            device, with the same account. It removes nothing.

            Exit status 0 when the device is ready, 1 if something failed, 64 if something on the command line or on this device must be changed \
            first.
            """
    )

    @Argument(help: ArgumentHelp("The directory on the shared disk; it must exist.", valueName: "dir"), completion: .directory)
    var directory: String

    @Option(
        help: ArgumentHelp("The account, such as alice@example.org.", discussion: "By default the one that is signed in, or the name of the user."))
    var account: String?

    @Option(
        help: ArgumentHelp("The name of this device for people.", discussion: "By default the one that it has, or the host name.", valueName: "name"))
    var name: String?

    @Flag(help: "Sign out another account that is signed in; nothing of it is deleted.")
    var switchAccount = false

    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print JSON objects, one a line, by their kind: step (what, undo), note (what).")
    var json = false

    /// The value of the member `transport` of `config.json`.
    static let transport = "directory"

    func run() async throws {
        let home = try options.deviceHome
        let dialog = SetupDialog(confirmation: confirmation)
        try await SetupFailure.reporting {
            var chosen = try account.map { try AccountName($0) } ?? home.account
            if chosen == nil { chosen = try AccountName(dialog.ask("The account", default: NSUserName())) }
            var device = SetupDeviceOptions()
            (device.containers, device.name, device.switchAccount) = (directory, name, switchAccount)
            let root = try device.root(of: chosen!, in: home)
            var wish = SetupWish(account: chosen!, root: root, deviceName: try device.deviceName(in: home, dialog))
            wish.switchesAccount = switchAccount
            try await setUp(home, wish, dialog)
        }
    }

    private func setUp(_ home: DeviceHome, _ wish: SetupWish, _ dialog: SetupDialog) async throws {
        let teller = SetupTeller(isJSON: json)
        let undo = options.home == nil ? "" : " --home \(home.path.string.shellWord)"
        let facts = try await SetupFacts(of: home, for: wish, search: nil)
        guard facts.root != .nothing, PathFacts.real(wish.root) != nil else {
            throw SetupError("\(wish.root) does not exist; mount the disk, and make the directory.", isUsage: true)
        }
        try SetupPlan.check(wish, facts)
        let isSignedIn = facts.account == wish.account && facts.accountRoot == wish.root
        let isDefaultName = facts.deviceName == nil && wish.deviceName == facts.hostName
        if !isSignedIn || facts.transport != Self.transport {
            try dialog.confirm(
                "This device, “\(wish.deviceName)”, keeps the containers of \(wish.account) in \(wish.root), which the other devices mount too.")
        }
        var record = try HomeSettings(home).record
        if !isSignedIn {
            let before = try await home.signIn(wish.account, containers: wish.root, tellingWithin: .seconds(10))
            let after = before.map { "Signed out of \($0), and signed in" } ?? "Signed in"
            try teller.step("\(after) to \(wish.account); the containers lie in \(wish.root).", undo: "ubcontrol sign-out\(undo)")
        }
        if facts.deviceName != wish.deviceName, !isDefaultName {
            record.hasDeviceName = true
            try HomeSettings(home).write(record)
            try HomeSettings(home).configure(["deviceName": wish.deviceName])
            try teller.step("This device is called “\(wish.deviceName)”.", undo: "ubcontrol setup undo\(undo)")
        }
        if facts.transport != Self.transport {
            record.hasTransport = true
            try HomeSettings(home).write(record)
            try HomeSettings(home).configure(["transport": Self.transport])
            try teller.step("Noted in \(home.configurationFile) that the directory carries the files.", undo: "ubcontrol setup undo\(undo)")
        }
        for note in notes(on: wish.root) { try teller.note(note) }
        try teller.note("Run the same command on the other devices, with --account \(wish.account) and the directory as it is mounted there.")
    }

    /// What a user of a shared disk should know of it.
    private func notes(on root: FilePath) -> [String] {
        var notes: [String] = []
        switch FileSystemFacts(at: root) {
        case let facts? where facts.network != nil:
            notes.append(
                "\(root) lies on \(facts.network!): the kernel does not tell of changes by other devices, so programs look for them from time to time."
            )
        case let facts? where facts.isFUSE:
            notes.append("\(root) lies on FUSE: the kernel may not tell of changes by other devices, so programs look for them from time to time.")
        default: notes.append("\(root) lies on a disk of this machine; the other devices must mount it from here.")
        }
        let place = PathFacts(at: root)
        var facts = RootFacts(place: place, isChosen: true)
        facts.fileSystem = FileSystemFacts(at: root)
        facts.real = PathFacts.real(root)
        notes += facts.findings.filter { $0.severity != .remark && facts.fileSystem?.network == nil }.map { "\($0.what); \($0.remedy)." }
        if case .noFolder = StignoreRule.check(above: root, files: LinuxFileLayer()) {
        } else {
            notes.append("\(root) lies in a folder of Syncthing, which carries the same files; one of both is enough.")
        }
        return notes
    }
}
