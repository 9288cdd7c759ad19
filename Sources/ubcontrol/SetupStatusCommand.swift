import ArgumentParser
import Foundation
import Rainbow
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol setup status`.
struct SetupStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show how this device is set up, and which devices it sees.",
        discussion: """
            Asks the Syncthing that config.json names. `ubcontrol doctor` finds what is in the way.

            Exit status 0 if an account is signed in, and either Syncthing shares its directory or a shared disk holds it; otherwise 1.
            """
    )

    @OptionGroup var options: HomeOptions

    @Flag(
        help: """
            Print a JSON object: account, containers, deviceName, transport (syncthing, directory, cloud, or null), cloud (its remote), syncthing (address, version, device, \
            folder), devices (device, name, isConnected, sees: whether both have exchanged the folder), hasOpenCode, isReady.
            """)
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let status = try await SetupStatus(of: home)
        if json { try printJSON(status) } else { for line in status.lines { print(line) } }
        if !status.isReady { throw ToolExit.failure }
    }
}

/// How a device is set up.
struct SetupStatus: Encodable {
    struct Syncthing: Encodable {
        var address: String
        var version: String
        var device: String
        var folder: String?
    }

    struct Device: Encodable {
        var device: String
        var name: String
        var isConnected: Bool
        var sees: Bool
    }

    var account: String?
    var containers: String?
    var deviceName: String
    var transport: String?
    var cloud: String?
    var syncthing: Syncthing?
    var devices: [Device] = []
    var hasOpenCode: Bool
    var isReady = false

    init(of home: DeviceHome) async throws {
        deviceName = try home.deviceName
        hasOpenCode = try HomeSettings(home).record.pairing?.isOpen(at: Date()) == true
        transport = try HomeSettings(home).transport
        guard let account = try home.account, let root = try home.containersRoot else { return }
        (self.account, containers) = (account.description, root.string)
        if home.usesCloud { cloud = try home.cloud?.remote }
        isReady = transport == SetupSharedCommand.transport || cloud != nil
        guard !isReady, let configured = try home.syncthing else { return }
        transport = "syncthing"
        let wish = SetupWish(account: account, root: PathFacts.resolved(root), deviceName: deviceName)
        let facts = try await SetupFacts(of: home, for: wish, search: SyncthingSearch(given: configured, home: nil, isHomeGiven: false))
        guard case .running(let answer) = facts.syncthing else { return }
        let folder = facts.folder(at: wish.root)
        syncthing = Syncthing(address: configured.address, version: answer.version, device: answer.device.description, folder: folder?.id)
        devices = answer.devices.filter { folder?.others.contains($0.id) == true }.map { device in
            Device(
                device: device.id, name: device.name, isConnected: answer.connected.contains(device.id), sees: facts.sees(device.id, in: wish.root))
        }
        isReady = folder != nil
    }

    /// The status for people.
    var lines: [String] {
        guard let account, let containers else {
            return ["Nobody is signed in; set this device up with: ubcontrol setup syncthing".yellow]
        }
        var lines = ["\(account.printable.bold) on “\(deviceName.printable)”, containers in \(containers.printable)"]
        if let syncthing {
            let folder = syncthing.folder.map { "shares them as \($0.printable)" } ?? "does not share them".yellow
            lines.append(
                "Syncthing \(syncthing.version.printable) at \(syncthing.address.printable), device \(syncthing.device.prefix(7)), \(folder)")
        } else if let cloud {
            lines.append("\(cloud.printable) carries them; see `ubcontrol transfer`")
        } else if transport == SetupSharedCommand.transport {
            lines.append("a shared disk carries them")
        } else {
            lines.append("nothing carries them yet; set that up with: ubcontrol setup syncthing".yellow)
        }
        for device in devices {
            let state =
                device.sees
                ? "connected".green : (device.isConnected ? "connected, but has not exchanged the folder" : "not connected").yellow
            let brief = String(device.device.prefix(7))
            lines.append("device \(device.name.isEmpty ? brief : "“\(device.name.printable)” (\(brief))"): \(state)")
        }
        if syncthing != nil, devices.isEmpty { lines.append("no other device yet; connect one with: ubcontrol setup syncthing") }
        if hasOpenCode { lines.append("a code waits for a device; `ubcontrol setup syncthing` shows it") }
        return lines
    }
}
