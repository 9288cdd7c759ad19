import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The first device's side of a pairing: shows the code, and lets in the device that proves to have it.
struct SetupPairing {
    let runner: SetupRunner
    private var home: DeviceHome { runner.home }

    /// Shows the code; an open one is shown again.
    ///
    /// - Parameter facts: what is there.
    /// - Throws: `SyncthingError`, `ContainerError`.
    func show(_ facts: SetupFacts) async throws {
        let now = Date()
        var record = try HomeSettings(home).record
        if let accepted = record.pairing?.accepted {
            return try runner.teller.note("The device \(accepted.prefix(7)) has been let in; waiting until both see each other.")
        }
        if record.pairing?.isOpen(at: now) != true {
            var generator = SystemRandomNumberGenerator()
            let secret = (0..<PairingCode.secretLength).map { _ in UInt8.random(in: 0...255, using: &generator) }
            record.pairing = SetupRecord.Pairing(secret: Data(secret), made: now)
            try HomeSettings(home).write(record)
        }
        guard let code = try code(facts, record), let client = try facts.client() else { return }
        try runner.teller.code(code, addresses: try await client.listenAddresses())
    }

    private func code(_ facts: SetupFacts, _ record: SetupRecord) throws -> PairingCode? {
        guard case .running(let answer) = facts.syncthing, let folder = facts.folder(at: runner.wish.root), let pairing = record.pairing else {
            return nil
        }
        guard pairing.secret.count == PairingCode.secretLength, folder.id.utf8.count <= 255 else {
            throw SetupError("The code of this device is damaged; undo the setup with `ubcontrol setup undo`, and try again.")
        }
        return PairingCode(device: answer.device, secret: Array(pairing.secret), account: runner.wish.account, folder: folder.id)
    }

    /// Waits until a device has joined.
    ///
    /// - Parameter limit: how long.
    /// - Throws: `Refusal` with the status of a timeout.
    func wait(_ limit: Duration) async throws {
        var strangers: Set<String> = []
        let end = ContinuousClock.now + limit
        let joined = try await SetupWait.until(end, "waiting for the other device") { () async throws -> (String, String)? in
            let facts = try await runner.facts()
            guard case .running(let answer) = facts.syncthing, let client = try facts.client() else { return nil }
            let record = try HomeSettings(home).record
            guard let pairing = record.pairing else {
                throw SetupError("Another `ubcontrol setup` has ended this pairing; run it again for another code.")
            }
            if let accepted = pairing.accepted {
                try await letIn(accepted, name: nil, address: nil, facts, answer, client)
                guard facts.sees(accepted, in: runner.wish.root) else { return nil }
                try await finish(accepted, client)
                return (accepted, answer.devices.first { $0.id == accepted }?.name ?? "")
            }
            guard let code = try code(facts, record) else { return nil }
            for asking in try await asking(code, answer, client) {
                if asking.hasProof {
                    let name = PairingProof.untagged(asking.name)
                    try runner.dialog.confirm("The device “\(name)” (\(asking.id.prefix(7))) has the code, and asks to join.")
                    try change { $0.pairing?.accepted = asking.id }
                    try await letIn(asking.id, name: name, address: asking.address, facts, answer, client)
                    return nil
                }
                if strangers.insert(asking.id).inserted {
                    let name = PairingProof.untagged(asking.name)
                    try runner.teller.note("The device “\(name)” (\(asking.id.prefix(7))) asks without the code, and is not let in.")
                }
            }
            return nil
        }
        guard let (device, name) = joined else {
            throw Refusal(
                "No device has joined within \(limit.components.seconds) s; run the same command again to go on waiting with this code. On the other device, "
                    + "`ubcontrol setup join` says what it waits for; if the devices are in different networks, check that Syncthing may use the internet there.",
                status: ToolExit.timedOut)
        }
        try runner.teller.joined(device, name: name)
    }

    /// A device that asks.
    private struct Asking {
        var id: String
        var name: String
        /// The address that it connected from; nil if it is known here.
        var address: String?
        var hasProof: Bool
    }

    private func asking(_ code: PairingCode, _ answer: SetupFacts.Answer, _ client: SyncthingClient) async throws -> [Asking] {
        var asking: [Asking] = []
        for device in try await client.pendingDevices() {
            guard let id = DeviceIdentifier(device.id) else { continue }
            let hasProof = PairingProof(of: code, by: id).isCarried(by: device.name)
            asking.append(Asking(id: device.id, name: device.name, address: device.address, hasProof: hasProof))
        }
        // A device that this one knows offers its folder, whose label carries the proof then.
        for (device, label) in try await client.offers(of: code.folder).sorted(by: { $0.key < $1.key }) {
            guard let id = DeviceIdentifier(device), let known = answer.devices.first(where: { $0.id == device }) else { continue }
            asking.append(Asking(id: device, name: known.name, address: nil, hasProof: PairingProof(of: code, by: id).isCarried(by: label)))
        }
        return asking
    }

    /// Adds a device that may join, and shares the folder with it, as far as that is left to do.
    private func letIn(
        _ device: String, name: String?, address: String?, _ facts: SetupFacts, _ answer: SetupFacts.Answer, _ client: SyncthingClient
    ) async throws {
        let undo = "ubcontrol setup undo\(runner.homeOption)"
        guard let folder = facts.folder(at: runner.wish.root) else { return }
        if !answer.devices.contains(where: { $0.id == device }) {
            try change { if !$0.devices.contains(device) { $0.devices.append(device) } }
            // Syncthing connects from the port at which it listens, so that this device can connect back at once.
            let addresses = ["dynamic"] + (address.map { $0.isEmpty ? [] : ["tcp://\($0)"] } ?? [])
            try await client.add(NewDevice(id: device, name: name ?? "", addresses: addresses))
            try runner.teller.step("Let in the device \(name.map { "“\($0)” (\(device.prefix(7)))" } ?? String(device.prefix(7))).", undo: undo)
        }
        if !folder.others.contains(device) {
            try await client.change(folder: folder.id, FolderChange(devices: folder.others + [device]))
            try runner.teller.step("Syncthing shares the folder \(folder.id) with it.", undo: undo)
        }
    }

    /// Ends the pairing: the code is used.
    private func finish(_ device: String, _ client: SyncthingClient) async throws {
        // The address of the moment may be another device's tomorrow.
        if try HomeSettings(home).record.devices.contains(device) { try await client.change(device: device, DeviceChange(addresses: ["dynamic"])) }
        try change { $0.pairing = nil }
    }

    private func change(_ change: (inout SetupRecord) -> Void) throws {
        var record = try HomeSettings(home).record
        change(&record)
        try HomeSettings(home).write(record)
    }
}

/// The other device's side of a pairing.
struct SetupJoining {
    var runner: SetupRunner
    let code: PairingCode

    init(runner: SetupRunner, code: PairingCode) {
        self.runner = runner
        self.code = code
    }

    /// Waits until both devices see each other, and puts away the proof.
    ///
    /// - Parameter limit: how long.
    /// - Throws: `Refusal` with the status of a timeout.
    func wait(_ limit: Duration) async throws {
        var runner = runner
        let other = code.device.description
        var wasConnected = false
        let end = ContinuousClock.now + limit
        let name = try await SetupWait.until(end, "waiting for the device \(code.device.brief)") { () async throws -> String? in
            let facts = try await runner.facts()
            guard case .running(let answer) = facts.syncthing else { return nil }
            wasConnected = wasConnected || answer.connected.contains(other)
            guard facts.sees(other, in: runner.wish.root) else { return nil }
            return answer.devices.first { $0.id == other }?.name ?? ""
        }
        guard let name else {
            let what = wasConnected ? "has not shared the folder" : "has not connected"
            throw Refusal(
                "The device \(code.device.brief) \(what) within \(limit.components.seconds) s. Check that `ubcontrol setup syncthing` runs there and shows this code, "
                    + "that its firewall lets Syncthing in (TCP port 22000, UDP port 21027), or name its address with --at; then run the same command again.",
                status: ToolExit.timedOut)
        }
        _ = try await runner.run(isConfirmed: true)
        try runner.teller.joined(other, name: name)
    }
}

/// A wait of the setup for another device.
enum SetupWait {
    /// Calls a body each second until it returns something.
    ///
    /// - Parameters:
    ///   - end: when to stop.
    ///   - what: what is waited for, to be shown on a terminal.
    ///   - body: returns nil to go on.
    /// - Returns: what the body returned; nil when the time has come.
    /// - Throws: what the body throws, but for an error of Syncthing that may pass.
    nonisolated(nonsending) static func until<Value>(
        _ end: ContinuousClock.Instant, _ what: String, _ body: nonisolated(nonsending) () async throws -> Value?
    ) async throws -> Value? {
        let begun = ContinuousClock.now
        while true {
            do {
                if let value = try await body() { return value }
            } catch let error as SyncthingError where error.isPassing && ContinuousClock.now < end {
                // Syncthing restarts, or is busy.
            }
            guard ContinuousClock.now < end else { return nil }
            // The body may ask and print; nothing is shown meanwhile.
            try await TerminalProgress.awaiting("\(what), \(Int(begun.duration(to: .now) / .seconds(1))) s") {
                try await Task.sleep(for: .seconds(1))
            }
        }
    }
}
