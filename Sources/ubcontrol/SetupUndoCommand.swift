import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol setup undo`.
struct SetupUndoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Undo on this device what setup has done. No file of a container is deleted.",
        discussion: """
            Removes from Syncthing the folder and the devices that setup has added, stops a Syncthing or a service that setup has started, and removes \
            from config.json what setup has written there. The account stays signed in, and its directory stays as it is. Other devices keep their files and \
            their settings.

            Exit status 0, also if there was nothing to undo; 1 if Syncthing does not answer.
            """
    )

    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print JSON objects, one a line: kind (note), what.")
    var json = false

    func run() async throws {
        let home = try options.deviceHome
        let teller = SetupTeller(isJSON: json)
        try await SetupFailure.reporting {
            let record = try HomeSettings(home).record
            guard record != SetupRecord() else { return try teller.note("Nothing to undo: setup has made nothing here.") }
            try SetupDialog(confirmation: confirmation).confirm("This device no longer shares the account's files with the other devices.")
            if record.isInSyncthing || record.syncthingHome != nil, let configured = try home.syncthing {
                try await leave(record, configured, home, teller)
            }
            if let unit = record.startedService {
                try UserUnit(name: unit).set(isOn: false)
                try teller.note("Stopped \(unit).")
            }
            if let unit = record.startedAgent {
                try UserUnit(name: unit).set(isOn: false)
                try teller.note("Stopped the transfer agent, \(unit), also for later logins.")
            }
            var members: [String: (any Encodable & Sendable)?] = [:]
            if record.hasEndpoint { members["syncthing"] = .some(record.earlierEndpoint) }
            if record.hasTransport { (members["transport"], members["cloud"]) = (.some(nil), .some(nil)) }
            if record.hasDeviceName { members["deviceName"] = .some(nil) }
            if !members.isEmpty {
                try HomeSettings(home).configure(members)
                try teller.note("Removed from \(home.configurationFile) what setup has written there.")
            }
            try HomeSettings(home).write(nil)
            if let account = try home.account {
                try teller.note("\(account) is still signed in, and no file was deleted; sign out with: ubcontrol sign-out")
            }
        }
    }

    /// Takes out of Syncthing what setup has added there, and stops it if setup has started it.
    private func leave(_ record: SetupRecord, _ configured: SyncthingConfiguration, _ home: DeviceHome, _ teller: SetupTeller) async throws {
        let client = SyncthingClient(try SyncthingEndpoint(configured), timeout: .seconds(20))
        let own: String
        do {
            own = try await client.systemStatus().device
        } catch let error as SyncthingError where error.code == .notReachable {
            // An earlier run may have stopped it.
            guard record.isInSyncthing else { return }
            throw SetupError(
                "Syncthing does not answer at \(client.endpoint), so nothing can be taken out of it; start it, for example with `ubcontrol setup syncthing --no-wait`, and try again."
            )
        }
        var folders = try await client.folders()
        if let folder = record.folder, folders.contains(where: { $0.id == folder }) {
            try await client.remove(folder: folder)
            try teller.note("Removed the folder \(folder) from Syncthing; its files stay.")
            folders.removeAll { $0.id == folder }
        }
        let devices = try await client.devices()
        for device in devices where record.devices.contains(device.id) && !folders.contains(where: { $0.devices.contains(device.id) }) {
            try await client.remove(device: device.id)
            try teller.note("Removed the device \(device.id.prefix(7)) from Syncthing.")
        }
        if let this = devices.first(where: { $0.id == own }) {
            let name = record.earlierName ?? PairingProof.untagged(this.name)
            if name != this.name { try await client.change(device: own, DeviceChange(name: name)) }
        }
        guard let syncthing = record.syncthingHome else { return }
        var rest = record
        (rest.folder, rest.devices, rest.earlierName) = (nil, [], nil)
        try HomeSettings(home).write(rest)
        try await client.shutDown()
        try teller.note("Stopped Syncthing; its keys and its configuration stay in \(syncthing).")
    }
}

extension SetupRecord {
    /// Whether something in Syncthing's configuration is setup's.
    fileprivate var isInSyncthing: Bool { folder != nil || !devices.isEmpty || earlierName != nil }
}
