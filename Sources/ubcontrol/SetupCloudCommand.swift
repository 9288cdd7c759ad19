import ArgumentParser
import Foundation
import ObjectTransfer
import RcloneTransfer
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol setup cloud`.
struct SetupCloudCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cloud",
        abstract: "Carry the account's containers through a cloud that rclone reaches, or through a directory.",
        discussion: """
            REMOTE:DIRECTORY names a remote of rclone, such as nextcloud:Ubiquity; `rclone listremotes` lists them. If rclone does not know the \
            remote yet, and this is a terminal, `rclone config` asks for it. An absolute path names a directory, such as a USB disk. Run the same \
            command on each device, with the same account.

            The owner of a cloud can read the files, unless the remote has the type crypt: then rclone encrypts contents and names with a \
            password. Every device needs the same password. Nobody can restore it, and without it what only the cloud has is lost. Keep it where \
            you keep other passwords. Access to a remote stays in rclone's own configuration; no file of this package holds a password or a token.

            If the user's systemd knows the unit ubtransfer, and the device home is the usual one, systemd starts the agent now and at each login; \
            otherwise this command starts it. An agent that runs already goes on as it is.

            Exit status 0 when the device is ready, 1 if something failed, 64 if something on the command line or on this device must be changed \
            first.
            """
    )

    @Argument(help: ArgumentHelp("The remote with a directory, or an absolute path.", valueName: "remote"))
    var remote: String

    @Option(
        help: ArgumentHelp("The account, such as alice@example.org.", discussion: "By default the one that is signed in, or the name of the user."))
    var account: String?

    @Option(help: ArgumentHelp("The program rclone.", discussion: "By default the one on the PATH.", valueName: "file"), completion: .file())
    var rclone: String?

    @Option(
        name: .customLong("rclone-config"),
        help: ArgumentHelp("The configuration file of rclone.", discussion: "By default the one that rclone uses by itself.", valueName: "file"),
        completion: .file())
    var rcloneConfig: String?

    @OptionGroup var device: SetupDeviceOptions

    @Flag(help: "Do not start the agent.")
    var noStart = false

    @Flag(help: "Start the agent by itself, also if the user's systemd could.")
    var noService = false

    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print JSON objects, one a line, by their kind: step (what, undo), note (what).")
    var json = false

    /// The value of the member `transport` of `config.json`.
    static let transport = "cloud"

    func run() async throws {
        let home = try options.deviceHome
        let dialog = SetupDialog(confirmation: confirmation)
        let teller = SetupTeller(isJSON: json)
        try await SetupFailure.reporting {
            var chosen = try account.map { try AccountName($0) } ?? home.account
            if chosen == nil { chosen = try AccountName(dialog.ask("The account", default: NSUserName())) }
            let cloud = try await checkedCloud(of: chosen!, home)
            let root = try device.root(of: chosen!, in: home)
            var wish = SetupWish(account: chosen!, root: root, deviceName: try device.deviceName(in: home, dialog))
            wish.switchesAccount = device.switchAccount
            let facts = try await SetupFacts(of: home, for: wish, search: nil)
            if facts.root != .nothing { try SetupPlan.check(wish, facts) }
            let present = try home.cloud
            let isDone = facts.account == wish.account && facts.accountRoot == wish.root && present?.remote == cloud.remote && home.usesCloud
            if !isDone {
                try dialog.confirm(
                    "This device, “\(wish.deviceName)”, keeps the containers of \(wish.account) in \(wish.root), and carries them through \(cloud.remote)."
                )
            }
            try await signIn(home, wish, facts, teller)
            try configure(home, wish, cloud, facts, teller)
            try await start(home, teller)
            try teller.note("Run the same command on the other devices, with --account \(wish.account).")
        }
    }

    /// Returns the cloud, after making sure that it can be reached.
    private func checkedCloud(of account: AccountName, _ home: DeviceHome) async throws -> CloudConfiguration {
        func absolute(_ path: String) -> String { PathFacts.absolute(FilePath(NSString(string: path).expandingTildeInPath)).string }
        var cloud = CloudConfiguration(remote: remote)
        let present = try home.cloud.flatMap { $0.remote == remote ? $0 : nil }
        (cloud.rclone, cloud.rcloneConfig) = (rclone.map(absolute) ?? present?.rclone, rcloneConfig.map(absolute) ?? present?.rcloneConfig)
        do {
            if !remote.hasPrefix("/") {
                let program = try RcloneProgram(cloud.rclone.map { FilePath($0) }, configuration: cloud.rcloneConfig.map { FilePath($0) })
                _ = try await program.checkedVersion()
                let name = String(remote.prefix { $0 != ":" })
                if try await RcloneRemote.types(program)[name] == nil, remote.contains(":"), isatty(STDIN_FILENO) == 1, !confirmation.yes {
                    writeError("rclone does not know \(name): yet, and asks for it now; give it that name.\n")
                    _ = try ChildProgram.run(program.path, ["config"] + program.configurationArguments, isShown: true)
                }
                let found = try await RcloneRemote(remote, program)
                if found.type != "crypt", !json {
                    writeError(
                        "\(remote) is not encrypted: its owner can read the files. `rclone config` adds a remote of the type crypt over it.\n")
                }
            }
            guard !remote.hasPrefix("/") else {
                _ = try await DirectoryObjectStore(FilePath(remote)).stat(RemoteLayout.canary)
                return cloud
            }
            let store = try await openCloud(cloud, account)
            _ = try await store.list(RemoteLayout.news)
            await store.close()
        } catch let error as ObjectStoreError {
            throw SetupError(error.reason, isUsage: error.kind == .unusable)
        }
        return cloud
    }

    private func signIn(_ home: DeviceHome, _ wish: SetupWish, _ facts: SetupFacts, _ teller: SetupTeller) async throws {
        let undo = homeWords(home)
        if facts.root == .nothing {
            try FileManager.default.createDirectory(atPath: wish.root.string, withIntermediateDirectories: true)
            try teller.step("Made \(wish.root).", undo: "rmdir --ignore-fail-on-non-empty \(wish.root.string.shellWord)")
        }
        guard facts.account != wish.account || facts.accountRoot != wish.root else { return }
        if let present = facts.account, present != wish.account, !wish.switchesAccount {
            throw SetupError("\(present) is signed in; add --switch-account to sign it out. Nothing of it is deleted.", isUsage: true)
        }
        let before = try await home.signIn(wish.account, containers: wish.root, tellingWithin: .seconds(10))
        let after = before.map { "Signed out of \($0), and signed in" } ?? "Signed in"
        try teller.step("\(after) to \(wish.account); the containers lie in \(wish.root).", undo: "ubcontrol sign-out\(undo)")
    }

    private func configure(_ home: DeviceHome, _ wish: SetupWish, _ cloud: CloudConfiguration, _ facts: SetupFacts, _ teller: SetupTeller) throws {
        let suffix = homeWords(home)
        let undo = "ubcontrol setup undo\(suffix)"
        var record = try HomeSettings(home).record
        if facts.deviceName != wish.deviceName, facts.deviceName != nil || wish.deviceName != facts.hostName {
            record.hasDeviceName = true
            try HomeSettings(home).write(record)
            try HomeSettings(home).configure(["deviceName": wish.deviceName])
            try teller.step("This device is called “\(wish.deviceName)”.", undo: undo)
        }
        var wanted = cloud
        if let present = try home.cloud {
            (wanted.bytesPerSecond, wanted.metered, wanted.paused) = (present.bytesPerSecond, present.metered, present.paused)
        }
        guard try home.cloud != wanted || !home.usesCloud else { return }
        record.hasTransport = true
        try HomeSettings(home).write(record)
        let former = try home.usesCloud ? home.cloud?.remote : nil
        try HomeSettings(home).configure(["transport": Self.transport, "cloud": wanted])
        try teller.step("Noted in \(home.configurationFile) that \(cloud.remote) carries the files.", undo: undo)
        if let former, former != cloud.remote {
            try teller.note(
                "\(former) keeps what it has, and gets nothing more. If \(cloud.remote) has nothing of this device yet, fill it with: ubcontrol transfer republish\(suffix)"
            )
        }
    }

    /// Starts the agent, unless one runs: as a service of the user, or by itself.
    private func start(_ home: DeviceHome, _ teller: SetupTeller) async throws {
        let client = TransferClient(home)
        if client.hasAgent {
            _ = try? await client.ask(.now)
            return
        }
        guard !noStart else {
            return try teller.note("Start the agent with: systemctl --user enable --now ubtransfer, or: ubtransfer")
        }
        if !noService, let unit = AgentUnit(for: home) {
            try await start(unit, home, teller)
        } else {
            try await startAlone(home, teller)
        }
    }

    private func start(_ unit: AgentUnit, _ home: DeviceHome, _ teller: SetupTeller) async throws {
        var record = try HomeSettings(home).record
        record.startedAgent = unit.name
        try HomeSettings(home).write(record)
        // systemctl(1) returns when the agent has told that it is ready.
        try unit.set(isOn: true)
        try await awaitAgent(of: home, remedy: "see what the service does with: systemctl --user status \(unit.name)")
        try teller.step("Started the transfer agent with systemd, now and at each login.", undo: "ubcontrol setup undo\(homeWords(home))")
    }

    private func startAlone(_ home: DeviceHome, _ teller: SetupTeller) async throws {
        guard let program = Self.agent else {
            return try teller.note("ubtransfer is not installed beside ubcontrol; build and start it, or nothing is carried.")
        }
        try TransferHome(home).prepare()
        let log = TransferHome(home).directory.appending("agent.log")
        do {
            _ = try ChildProgram.startDetached(program, ["--home", home.path.string], log: log)
        } catch {
            throw SetupError("\(program) cannot be started (\(error)).")
        }
        try await awaitAgent(of: home, remedy: "read \(log)")
        try teller.step(
            "Started the transfer agent, which runs until this device is switched off; its log is \(log). To start it at each login: systemctl --user enable ubtransfer",
            undo: "pkill -u $USER -x ubtransfer")
    }

    private func awaitAgent(of home: DeviceHome, remedy: String) async throws {
        let client = TransferClient(home)
        try await TerminalProgress.awaiting("waiting for the transfer agent") {
            let end = ContinuousClock.now + .seconds(60)
            while !client.hasAgent {
                guard .now < end else { throw SetupError("The agent does not answer; \(remedy).") }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// The option `--home`, for commands that a person types.
    private func homeWords(_ home: DeviceHome) -> String { options.home == nil ? "" : " --home \(home.path.string.shellWord)" }

    /// The agent beside this program, or on the PATH.
    private static var agent: FilePath? {
        let own = FilePath(CommandLine.arguments[0])
        let beside = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { FilePath($0) } ?? own
        let found = beside.removingLastComponent().appending("ubtransfer")
        return FileManager.default.isExecutableFile(atPath: found.string) ? found : ChildProgram.path("ubtransfer")
    }
}
