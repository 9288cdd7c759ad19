import ArgumentParser
import Foundation
import SyncthingStatus
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Performs the steps of a plan in order, and derives the plan again after each step.
struct SetupRunner {
    let home: DeviceHome
    let wish: SetupWish
    /// The search finds more once a Syncthing has been made.
    private(set) var search: SyncthingSearch
    let program: SyncthingProgram.Options
    let teller: SetupTeller
    let dialog: SetupDialog
    /// The option `--home`, for the commands that undo a step.
    let homeOption: String

    init(
        home: DeviceHome, wish: SetupWish, syncthing: SyncthingOptions, teller: SetupTeller, dialog: SetupDialog, options: HomeOptions
    ) throws {
        self.home = home
        self.wish = wish
        search = try syncthing.search
        program = syncthing.program
        self.teller = teller
        self.dialog = dialog
        homeOption = options.home == nil ? "" : " --home \(home.path.string.shellWord)"
    }

    /// What is there now.
    func facts() async throws -> SetupFacts { try await SetupFacts(of: home, for: wish, search: search) }

    /// Does what is left to do.
    ///
    /// - Parameter isConfirmed: whether the user has already agreed.
    /// - Returns: what is there then.
    /// - Throws: `SetupError`, `SyncthingError`, `ContainerError`; what was done until then stays, and another run goes on.
    mutating func run(isConfirmed: Bool = false) async throws -> SetupFacts {
        var facts = try await facts()
        var plan = try SetupPlan(for: wish, given: facts)
        if !plan.steps.isEmpty, !isConfirmed { try dialog.confirm(consequence(facts)) }
        var last: [SetupStep] = []
        while let step = plan.steps.first {
            // A step that was done, and that Syncthing does not show, would be done forever.
            guard plan.steps != last else { throw SetupError("Syncthing does not keep a change (\(step.name)); read its log.") }
            try await perform(step, facts)
            last = plan.steps
            facts = try await self.facts()
            plan = try SetupPlan(for: wish, given: facts)
        }
        return facts
    }

    private func consequence(_ facts: SetupFacts) -> String {
        let syncthing =
            switch facts.syncthing {
            case .missing: "a new Syncthing, which is made and started"
            case .stopped: "Syncthing, which is started"
            case .running(let answer): "Syncthing \(answer.version)"
            }
        return "This device, “\(wish.deviceName)”, shares \(wish.root) for the account \(wish.account), through \(syncthing)."
    }

    private mutating func perform(_ step: SetupStep, _ facts: SetupFacts) async throws {
        let undo = "ubcontrol setup undo\(homeOption)"
        switch step {
        case .makeSyncthing:
            let made = try SyncthingProgram().make(search.home, program)
            search.home = made
            try teller.step("Made the keys and the configuration of a Syncthing in \(made.path).", undo: "rm -r \(made.path.string.shellWord)")
        case .startSyncthing: try await start(undo)
        case .makeRoot(let root):
            do {
                try FileManager.default.createDirectory(atPath: root.string, withIntermediateDirectories: true)
            } catch {
                throw SetupError("\(root) cannot be made; correct the owner and mode of the directory above, or name another with --containers.")
            }
            try teller.step("Made \(root).", undo: "rmdir --ignore-fail-on-non-empty \(root.string.shellWord)")
        case .writeRule(let root): try writeRule(root)
        case .signIn(let account, let root):
            let before = try await home.signIn(account, containers: root, tellingWithin: .seconds(10))
            let after = before.map { "Signed out of \($0), and signed in" } ?? "Signed in"
            try teller.step("\(after) to \(account); the containers lie in \(root).", undo: "ubcontrol sign-out\(homeOption)")
        case .configure(let found):
            try record { record in
                if !record.hasEndpoint { record.earlierEndpoint = facts.configured }
                record.hasEndpoint = true
            }
            try HomeSettings(home).configure(["syncthing": found, "transport": nil])
            try teller.step("Wrote Syncthing's address, \(found.address), and its key into \(home.configurationFile).", undo: undo)
        case .keepDeviceName(let name):
            try record { $0.hasDeviceName = true }
            try HomeSettings(home).configure(["deviceName": name])
            try teller.step("This device is called “\(name)”.", undo: undo)
        case .makeAccountDirectory(let directory):
            try LinuxFileLayer().makeDirectory(directory)
            try teller.step("Made \(directory).", undo: "rmdir --ignore-fail-on-non-empty \(directory.string.shellWord)")
        default: try await change(step, facts, undo)
        }
    }

    /// Performs a step inside of Syncthing.
    private func change(_ step: SetupStep, _ facts: SetupFacts, _ undo: String) async throws {
        guard case .running(let answer) = facts.syncthing, let client = try facts.client() else { return }
        switch step {
        case .nameDevice(let name):
            let plain = PairingProof.untagged(name)
            if plain != PairingProof.untagged(answer.name) {
                try record { $0.earlierName = $0.earlierName ?? answer.name }
                try await client.change(device: answer.device.description, DeviceChange(name: name))
                return try teller.step("Named this device “\(plain)” in Syncthing.", undo: undo)
            }
            try await client.change(device: answer.device.description, DeviceChange(name: name))
        case .addFolder(let folder):
            try record { $0.folder = folder.id }
            try await client.add(folder)
            try teller.step("Syncthing shares \(folder.path) as its folder \(folder.id).", undo: undo)
        case .addDevice(let device):
            try record { if !$0.devices.contains(device.deviceID) { $0.devices.append(device.deviceID) } }
            try await client.add(device)
            try teller.step("Added the device \(device.deviceID.prefix(7)) to Syncthing.", undo: undo)
        case .shareFolder(let folder, let devices):
            try await client.change(folder: folder, FolderChange(devices: devices))
            try teller.step("Syncthing shares the folder \(folder) with \(devices.map { String($0.prefix(7)) }.joined(separator: ", ")).", undo: undo)
        case .resumeDevice(let device): try await client.change(device: device, DeviceChange(paused: false))
        case .resumeFolder(let folder): try await client.change(folder: folder, FolderChange(paused: false))
        case .labelFolder(let folder, let label): try await client.change(folder: folder, FolderChange(label: label))
        default: break
        }
    }

    private func writeRule(_ root: FilePath) throws {
        let files = LinuxFileLayer()
        let isNew = PathFacts(at: root.appending(".stignore")).kind == .nothing
        // Syncthing's marker, which it makes itself where it is missing; the rule must be there before it first looks.
        try files.makeDirectory(root.appending(".stfolder"))
        let outcome = StignoreRule.ensure(above: root, files: files)
        switch outcome {
        case .added(let file):
            let undo = isNew ? "rm -f" : #"sed -i '/^\*\.nosync$/d'"#
            try teller.step(
                "Wrote the rule *.nosync into \(file), so that what must stay on this device stays.", undo: "\(undo) \(file.string.shellWord)")
        case .present: break
        case .noFolder: throw SetupError("\(root) has lost its directory .stfolder; try again.")
        case .failed(let file, let error): throw SetupError("\(file) cannot be written (\(error)); correct its owner and mode.")
        }
    }

    /// Changes what setup remembers for its undoing, before the thing itself is done.
    private func record(_ change: (inout SetupRecord) -> Void) throws {
        var record = try HomeSettings(home).record
        let before = record
        change(&record)
        if record != before { try HomeSettings(home).write(record) }
    }

    // MARK: - Starting Syncthing

    /// How long a Syncthing that was started may take until it answers.
    private static let startLimit = Duration.seconds(120)

    private func start(_ undo: String) async throws {
        guard let found = search.home else { throw SetupError("Syncthing's directory has gone; try again.") }
        let program = try SyncthingProgram()
        if !found.isNamed, UserUnit.syncthing.isKnown {
            try record { $0.startedService = UserUnit.syncthing.name }
            try UserUnit.syncthing.set(isOn: true)
            try await awaitAnswer(of: nil, log: nil)
            return try teller.step("Started Syncthing with systemd, now and at each login.", undo: undo)
        }
        let log = found.path.appending("ubiquity-setup.log")
        try record { $0.syncthingHome = found.path.string }
        let process: Int32
        do {
            process = try ChildProgram.startDetached(
                program.path, ["serve", "--no-browser"] + (found.isNamed ? ["--home=\(found.path)"] : []), log: log)
        } catch {
            throw SetupError("\(program.path) cannot be started (\(error)); start Syncthing yourself, and try again.")
        }
        try await awaitAnswer(of: process, log: log)
        let line = "syncthing serve --no-browser" + (found.isNamed ? " --home=\(found.path.string.shellWord)" : "")
        try teller.step(
            "Started Syncthing, which runs until this device is switched off; its log is \(log). To start it at each boot, add to `crontab -e`: @reboot \(line)",
            undo: undo)
    }

    private func awaitAnswer(of process: Int32?, log: FilePath?) async throws {
        let end = ContinuousClock.now + Self.startLimit
        try await TerminalProgress.awaiting("waiting for Syncthing to start") {
            while true {
                if case .running = try await facts().syncthing { return }
                let hasEnded = process.map(ChildProgram.hasEnded) ?? false
                guard !hasEnded, .now < end else {
                    let text = log.flatMap { try? String(contentsOfFile: $0.string, encoding: .utf8) } ?? ""
                    throw SetupError(
                        "Syncthing \(hasEnded ? "has ended at once" : "does not answer within \(Self.startLimit)"): \(UserUnit.lastLine(text)); correct that, and try again."
                    )
                }
                try await Task.sleep(for: .milliseconds(200))
            }
        }
    }
}

extension SetupStep {
    /// The name of the step for a message.
    fileprivate var name: String { String("\(self)".prefix { $0 != "(" }) }
}
