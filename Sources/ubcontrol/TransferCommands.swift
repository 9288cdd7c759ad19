import ArgumentParser
import Foundation
import ObjectTransfer
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Runs `ubcontrol transfer`.
struct TransferCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transfer",
        abstract: "See and control what the transfer agent carries between this device and its cloud.",
        discussion: """
            The agent is `ubtransfer`; `ubcontrol setup cloud` tells it where the cloud is. Without a subcommand, the status is shown.

            Exit status 0; 1 if the transfer is blocked or a verification has found something; 69 if no agent runs.
            """,
        subcommands: [
            TransferStatusCommand.self, TransferNowCommand.self, TransferPauseCommand.self, TransferResumeCommand.self, TransferLimitCommand.self,
            TransferMeteredCommand.self, TransferVerifyCommand.self, TransferAllowCommand.self, TransferRepublishCommand.self,
        ],
        defaultSubcommand: TransferStatusCommand.self
    )
}

/// The options of the commands that ask the agent.
struct TransferOptionGroup: ParsableArguments {
    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: activity, account, remote, block, reason, filesToSend, filesToFetch, transfers, faults, and more.")
    var json = false

    func ask(_ request: TransferRequest) async throws -> TransferAnswer {
        do {
            return try await TransferClient(options.deviceHome).ask(request)
        } catch let error as TransferClient.NoAgent {
            throw try refusal(error)
        } catch let error as ObjectStoreError {
            throw Refusal(error.reason, status: ExitCode(1))
        }
    }

    /// The refusal of a command while no agent answers; it tells of a service that has failed.
    func refusal(_ error: TransferClient.NoAgent) throws -> Refusal {
        let failure = AgentUnit(for: try options.deviceHome)?.failure
        return Refusal(failure.map { "No transfer agent runs: \($0)" } ?? error.description, status: ToolExit.unavailable)
    }

    /// Asks, and shows the status that follows.
    func askAndShow(_ request: TransferRequest, _ activity: String) async throws {
        let answer = try await TerminalProgress.awaiting(activity) { try await ask(request) }
        guard case .status(let status) = answer else { return }
        try show(status)
    }

    func show(_ status: TransferStatus) throws {
        if json { try printJSON(status) } else { for line in TransferText(status).lines { print(line) } }
        if status.activity == .blocked { throw ExitCode(1) }
    }
}

/// Runs `ubcontrol transfer status`.
struct TransferStatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show what is on its way, what waits, what is blocked, and the remedy.",
        discussion: """
            With --follow, a new status is shown after each change, and each second while files are on their way, until it is interrupted.

            Exit status 0; 1 if the transfer is blocked; 69 if no agent runs.
            """
    )

    @Flag(help: "Show a new status after each change, until interrupted.")
    var follow = false

    @OptionGroup var group: TransferOptionGroup

    func run() async throws {
        guard follow else {
            guard case .status(let status) = try await group.ask(.status) else { return }
            return try group.show(status)
        }
        do {
            for try await status in TransferClient(try group.options.deviceHome).statuses() {
                if group.json { try printJSON(status) } else { print(TransferText(status).lines.joined(separator: "\n") + "\n") }
                try flushOutput()
            }
        } catch let error as TransferClient.NoAgent {
            throw try group.refusal(error)
        }
    }
}

/// Runs `ubcontrol transfer now`.
struct TransferNowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "now", abstract: "Look at the cloud and at this device at once, and transfer what can be transferred.",
        discussion: "Returns when all that could be done has been done. Exit status 0; 1 if the transfer is blocked; 69 if no agent runs.")
    @OptionGroup var group: TransferOptionGroup

    func run() async throws { try await group.askAndShow(.now, "transferring") }
}

/// Runs `ubcontrol transfer pause`.
struct TransferPauseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Stop transferring, also after a restart, until `ubcontrol transfer resume`.",
        discussion: "Files that are on their way are sent again later. Exit status 0; 69 if no agent runs.")
    @OptionGroup var group: TransferOptionGroup

    func run() async throws { try await group.askAndShow(.pause, "pausing") }
}

/// Runs `ubcontrol transfer resume`.
struct TransferResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Go on after a pause.", discussion: "Exit status 0; 1 if the transfer is blocked; 69 if no agent runs.")
    @OptionGroup var group: TransferOptionGroup

    func run() async throws { try await group.askAndShow(.resume, "transferring") }
}

/// Runs `ubcontrol transfer limit`.
struct TransferLimitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "limit", abstract: "Limit the bytes a second that transfers use.",
        discussion: """
            The limit is kept in config.json: `ubcontrol transfer limit 500k` sets one, and `ubcontrol transfer limit off` removes it. A \
            directory as a cloud has no limit.

            Exit status 0; 64 for an unusable number; 69 if no agent runs.
            """)

    @Argument(
        help: ArgumentHelp("Bytes a second, such as 500k or 2M; off for no limit.", valueName: "rate"), completion: .list(["off", "500k", "2M"]))
    var rate: String

    @OptionGroup var group: TransferOptionGroup

    func validate() throws { _ = try bytes }

    /// The bytes a second; nil for no limit.
    private var bytes: Int64? {
        get throws {
            if rate == "off" { return nil }
            guard let bytes = ByteSize.parse(rate), bytes < 1 << 50 else {
                throw ValidationError("\(rate) is no rate; give bytes a second, such as 500k, or off.")
            }
            return bytes
        }
    }

    func run() async throws { try await group.askAndShow(.limit(bytesPerSecond: bytes), "setting the limit") }
}

/// Runs `ubcontrol transfer metered`.
struct TransferMeteredCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metered", abstract: "Say whether the connection is metered: then the cloud is asked every five minutes only.",
        discussion: "A save of this device is still sent at once. Exit status 0; 64 for another word; 69 if no agent runs.")

    @Argument(help: ArgumentHelp("on or off.", valueName: "on|off"), completion: .list(["on", "off"]))
    var state: String

    @OptionGroup var group: TransferOptionGroup

    func validate() throws { if state != "on", state != "off" { throw ValidationError("\(state) is neither on nor off.") } }

    func run() async throws { try await group.askAndShow(.metered(state == "on"), "setting it") }
}

/// Runs `ubcontrol transfer verify`.
struct TransferVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Compare what the cloud holds with what all devices say of it, and send again what it lacks.",
        discussion: """
            Lists all objects once. A file that bulletins name and that is missing or has another size is sent again if it is on this device; \
            otherwise run the command on a device that has it. Objects that nobody names are uploads that have not ended, or files of other \
            programs; nothing reads them.

            Exit status 0 if nothing is missing, 1 otherwise; 69 if no agent runs.
            """)

    @OptionGroup var options: HomeOptions

    @Flag(help: "Print a JSON object: named, missing, mended, unnamed.")
    var json = false

    func run() async throws {
        let answer = try await TerminalProgress.awaiting("listing the cloud") {
            do {
                return try await TransferClient(options.deviceHome).ask(.verify)
            } catch let error as TransferClient.NoAgent {
                throw Refusal(error.description, status: ToolExit.unavailable)
            } catch let error as ObjectStoreError {
                throw Refusal(error.reason, status: ExitCode(1))
            }
        }
        guard case .verified(let found) = answer else { return }
        if json {
            try printJSON(found)
        } else {
            print("\(found.named) files are named, \(found.missing.count) of them are missing or cut off, \(found.mended) are sent again from here.")
            for path in found.missing.prefix(20) { print("  \(path.printable)") }
            if !found.unnamed.isEmpty { print("\(found.unnamed.count) objects are named by nobody.") }
        }
        if !found.missing.isEmpty { throw ExitCode(1) }
    }
}

/// Runs `ubcontrol transfer allow-removals`.
struct TransferAllowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "allow-removals", abstract: "Let another device's removal of very many files of a container happen here.",
        discussion: """
            A removal of at least 100 files and half of a container waits for a person, because it may be the loss of a disk. The limit is \
            "massDeletion" in config.json. Without this command, the files stay on this device, and nothing else is held up.

            Exit status 0; 1 if the transfer is blocked; 69 if no agent runs.
            """)

    @OptionGroup var container: ContainerArgument
    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var group: TransferOptionGroup

    func run() async throws {
        guard case .status(let status) = try await group.ask(.status), let count = status.guarded[container.identifier] else {
            throw Refusal("No removal waits in \(container.identifier).", status: ExitCode(1))
        }
        try confirmation.confirm("\(count) files of \(container.identifier), which their devices have removed, are removed here too.")
        try await group.askAndShow(.allowRemovals(container: container.identifier), "removing")
    }
}

/// Runs `ubcontrol transfer republish`.
struct TransferRepublishCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "republish", abstract: "Fill an emptied or replaced cloud again from this device.",
        discussion: """
            Run it where the status says that the cloud lacks what this device has published there, after making sure that config.json names \
            the right one. Run it on each device: what only another one has comes from there. Nothing is removed.

            Exit status 0; 1 if the transfer is blocked; 69 if no agent runs.
            """)

    @OptionGroup var confirmation: ConfirmOption
    @OptionGroup var group: TransferOptionGroup

    func run() async throws {
        guard case .status(let status) = try await group.ask(.status) else { return }
        try confirmation.confirm("\(status.remote ?? "The cloud") is filled with the files of this device, whatever it holds.")
        try await group.askAndShow(.republish, "sending")
    }
}

/// A status in words.
struct TransferText {
    let status: TransferStatus

    init(_ status: TransferStatus) { self.status = status }

    var lines: [String] {
        var lines = [headline]
        if let reason = status.reason { lines.append("  \(reason.printable)") }
        if status.filesToSend > 0 { lines.append("to send: \(amount(status.filesToSend, status.bytesToSend))") }
        if status.filesToFetch > 0 { lines.append("to fetch: \(amount(status.filesToFetch, status.bytesToFetch))") }
        let now = Date()
        for entry in status.transfers.prefix(20) {
            let progress = entry.progress(now: now)
            let arrow = entry.direction == .upload ? "↑".green : "↓".blue
            var text = "  \(arrow) \(Int(progress.fraction * 100)) % of \(entry.total.formatted(.byteCount(style: .file)))"
            if let rate = progress.rate { text += ", \(Int64(rate).formatted(.byteCount(style: .file)))/s" }
            if let remaining = progress.remaining {
                text += ", \(remaining.formatted(.units(allowed: [.hours, .minutes, .seconds], width: .narrow))) left"
            }
            lines.append("\(text)  \(entry.path.printable)")
        }
        if status.transfers.count > 20 { lines.append("  … and \(status.transfers.count - 20) more") }
        for (container, count) in status.guarded.sorted(by: { $0.key < $1.key }) {
            lines.append(
                "\("held".yellow): other devices have removed \(count) files of \(container.printable); allow it with: ubcontrol transfer allow-removals \(container.printable)"
            )
        }
        for fault in status.faults.prefix(20) {
            lines.append(
                "\("failed".red): \(fault.path.printable): \(fault.reason.printable) (\(fault.attempts) attempt\(fault.attempts == 1 ? "" : "s"))")
        }
        if status.faults.count > 20 { lines.append("… and \(status.faults.count - 20) more; --json lists all") }
        for (name, reason) in status.quarantine.sorted(by: { $0.key < $1.key }) {
            lines.append("\("refused".red): the bulletin \(name): \(reason.printable)")
        }
        return lines
    }

    private var headline: String {
        let place = [status.account, status.remote].compactMap(\.self).joined(separator: " ↔ ").printable
        let what =
            switch status.activity {
            case .off: "off".yellow
            case .paused: "paused".yellow
            case .idle: "up to date".green
            case .working: "working".green
            case .waiting: "waiting for the cloud".yellow
            case .blocked: "blocked".red
            }
        var parts = [place.isEmpty ? what : "\(place): \(what)"]
        parts.append("\(status.filesInCloud) files in the cloud")
        if status.documentsElsewhere > 0 { parts.append("\(status.documentsElsewhere) documents not on this device") }
        if !status.others.isEmpty { parts.append("\(status.others.count) other device\(status.others.count == 1 ? "" : "s")") }
        if let limit = status.bytesPerSecond { parts.append("limited to \(limit.formatted(.byteCount(style: .file)))/s") }
        if status.isMetered { parts.append("metered") }
        return parts.joined(separator: ", ")
    }

    private func amount(_ files: Int, _ bytes: Int64) -> String {
        "\(files) file\(files == 1 ? "" : "s"), \(bytes.formatted(.byteCount(style: .file)))"
    }
}
