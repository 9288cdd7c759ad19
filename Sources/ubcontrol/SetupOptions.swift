import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The options of the commands that set up a device.
struct SetupDeviceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the account's containers.",
            discussion: "By default the account's directory on this device, or ~/Ubiquity for a new account. It is made if it is not there.",
            valueName: "dir"),
        completion: .directory)
    var containers: String?

    @Option(
        help: ArgumentHelp("The name of this device for people.", discussion: "By default the one that it has, or the host name.", valueName: "name"))
    var name: String?

    @Flag(help: "Sign out another account that is signed in; nothing of it is deleted.")
    var switchAccount = false

    /// Returns the name of this device.
    ///
    /// - Parameters:
    ///   - home: the device home, which may have a name.
    ///   - dialog: asks on a terminal.
    /// - Returns: the name.
    /// - Throws: `Refusal` for an unsuitable name; `ContainerError`.
    func deviceName(in home: DeviceHome, _ dialog: SetupDialog) throws -> String {
        let known = try HomeSettings(home).deviceName
        let name = try name ?? known ?? dialog.ask("The name of this device", default: HomeSettings.hostName)
        guard !name.trimmingCharacters(in: .whitespaces).isEmpty, name.count <= 64, !name.unicodeScalars.contains(where: \.isTerminalControl),
            PairingProof.untagged(name) == name
        else { throw Refusal("The name \(name.debugDescription) does not suit a device; give one of 1 to 64 characters on one line with --name.") }
        return name
    }

    /// Returns the containers root, absolute and without symbolic links.
    func root(of account: AccountName, in home: DeviceHome) throws -> FilePath {
        if let containers { return PathFacts.resolved(FilePath(NSString(string: containers).expandingTildeInPath)) }
        if let known = try HomeSettings(home).containersRoot(of: account) { return PathFacts.resolved(known) }
        guard let user = ProcessInfo.processInfo.environment["HOME"], user.hasPrefix("/") else {
            throw Refusal("The variable HOME is not set; name the containers' directory with --containers.")
        }
        return PathFacts.resolved(FilePath(user).appending("Ubiquity"))
    }
}

/// The options that say which Syncthing is meant, and how a new one is configured.
struct SyncthingOptions: ParsableArguments {
    @Option(
        name: .customLong("syncthing-home"),
        help: ArgumentHelp(
            "The directory of Syncthing's configuration.", discussion: "By default the one that Syncthing uses by itself.", valueName: "dir"),
        completion: .directory)
    var syncthingHome: String?

    @Option(
        help: ArgumentHelp(
            "The address of Syncthing's web interface, such as http://127.0.0.1:8384, if it is not the one in its configuration.", valueName: "url"))
    var address: String?

    @Option(
        help: ArgumentHelp(
            "Syncthing's API key, for --address.", discussion: "By default the variable UBIQUITY_SYNCTHING_KEY, which others cannot see."))
    var key: String?

    @Option(help: ArgumentHelp("The file of Syncthing's certificate, for an https address.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        help: ArgumentHelp(
            "Where a Syncthing that is made now listens for other devices, such as tcp://0.0.0.0:22001.", discussion: "By default at port 22000.",
            valueName: "url"))
    var listen: String?

    @Option(
        name: .customLong("gui-address"),
        help: ArgumentHelp(
            "Where the web interface of a Syncthing that is made now answers.", discussion: "By default 127.0.0.1:8384, or a free port.",
            valueName: "host:port"))
    var interface: String?

    @Flag(name: .customLong("local-only"), help: "A Syncthing that is made now uses no server outside of the local network.")
    var isLocalOnly = false

    @Flag(help: "Share what is in the containers' directory already, also with the devices that share its Syncthing folder already.")
    var shareContents = false

    func validate() throws {
        if address != nil, key ?? Self.environmentKey == nil { throw ValidationError("--address needs --key, Syncthing's API key.") }
        if address == nil, key != nil || certificate != nil { throw ValidationError("--key and --certificate need --address.") }
        if address != nil, syncthingHome != nil { throw ValidationError("--address and --syncthing-home exclude each other.") }
        for (name, value) in [("--listen", listen), ("--gui-address", interface)] {
            if let value, value.contains(where: { "<>&$\\\"' \n".contains($0) }) || value.isEmpty {
                throw ValidationError("\(name) \(value.debugDescription) is not an address.")
            }
        }
    }

    private static var environmentKey: String? { ProcessInfo.processInfo.environment["UBIQUITY_SYNCTHING_KEY"] }

    /// Where the setup looks for Syncthing.
    var search: SyncthingSearch {
        get throws {
            let given = address.map {
                SyncthingConfiguration(
                    address: $0, key: key ?? Self.environmentKey ?? "", certificate: certificate.map { PathFacts.absolute(FilePath($0)).string })
            }
            // An address or key of the wrong form is refused before anything else.
            if let given { _ = try SyncthingEndpoint(given) }
            let home = given == nil ? SyncthingHome.find(named: syncthingHome.map { FilePath(NSString(string: $0).expandingTildeInPath) }) : nil
            return SyncthingSearch(given: given, home: home, isHomeGiven: syncthingHome != nil)
        }
    }

    var program: SyncthingProgram.Options { .init(listen: listen, interface: interface, isLocalOnly: isLocalOnly) }
}

/// How long the setup waits for the other device.
struct SetupWaitOptions: ParsableArguments {
    @Option(name: .customLong("wait"), help: ArgumentHelp("How long to wait for the other device.", valueName: "seconds"))
    var seconds = 600

    @Flag(name: .customLong("no-wait"), help: "Do not wait for the other device; the same command goes on later.")
    var isOff = false

    func validate() throws {
        if seconds < 1 || seconds > 86_400 { throw ValidationError("--wait takes 1 to 86400 seconds.") }
    }
}

/// What the setup asks on a terminal.
struct SetupDialog {
    let confirmation: ConfirmOption

    /// Whether somebody can answer.
    private var isInteractive: Bool { !confirmation.yes && isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

    /// Asks for a word; without a terminal, and with `--yes`, it is the default.
    func ask(_ question: String, default answer: String) throws -> String {
        guard isInteractive else { return answer }
        writeError("\(question.printable) [\(answer.printable)]: ")
        guard let line = readLine() else { throw ExitCode(1) }
        let word = line.trimmingCharacters(in: .whitespaces)
        return word.isEmpty ? answer : word
    }

    /// Asks for a confirmation; see `ConfirmOption`.
    func confirm(_ consequence: String) throws { try confirmation.confirm(consequence) }
}
