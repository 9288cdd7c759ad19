import ArgumentParser
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

/// Runs `ubwatch policy`.
struct PolicyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Show who may change what in a public container, and which statements have no effect.",
        discussion: """
            Shows the policy in effect, its tables, and the accounts with their devices and roles. Each signature has been verified. The command \
            only reads files; it takes each base that a statement names as being here.

            Exit status 0; 1 if a statement is faulty or two policies wait to be merged; 64 if the directory is no public container.
            """
    )

    @Argument(help: ArgumentHelp("The container's directory, <root>/public/<container>.", valueName: "directory"), completion: .directory)
    var directory: String

    @Flag(
        help: """
            Print a JSON object: container, policy, version, term, owner, steward, isForked, owesPolicy, registrars, heirs, limits with logs and records, awaited, history (policies each with policy, version, term, counts), tables each with name, creator or role, accounts each with account, \
            version, devices, roles, isAdmitted, and faults each with file, reason.
            """)
    var json = false

    @Flag(help: "Print the policies, oldest first, with their hashes, one of which `ubcontrol public succeed --after` takes.")
    var history = false

    func run() async throws {
        let report = try PolicyReport(of: FilePath(directory).lexicallyNormalized())
        if json { print(try jsonLine(report)) } else { for line in history ? Self.history(report) : Self.lines(report) { print(line.printable) } }
        if report.isForked || !report.faults.isEmpty { throw ExitCode(1) }
    }

    private static func history(_ report: PolicyReport) -> [String] {
        report.history.map { version in
            let state = version.policy == report.policy ? "  in effect" : version.counts ? "" : "  does not count"
            return "policy \(version.version), term \(version.term)  \(version.policy)\(state)"
        }
    }

    private static func lines(_ report: PolicyReport) -> [String] {
        var lines = [report.version.map { "policy \($0), term \(report.term ?? 0)" } ?? "no policy is in effect"]
        if report.isForked { lines.append("two policies of one number wait to be merged: ubcontrol public merge STORE") }
        if let steward = report.steward { lines.append("steward \(steward)") }
        if report.owesPolicy { lines.append("the steward's app signs the next policy by itself, because an account with a role has other devices") }
        lines += report.heirs.map { "heir \($0)" }
        if let registrars = report.registrars { lines += ["contributing: accounts that a registrar admits"] + registrars.map { "registrar \($0)" } }
        if let limits = report.limits { lines.append("limits: \(limits.logs) logs of a device, \(limits.records) records of an account in a table") }
        lines += report.awaited.map { "awaited: \($0)" }
        for table in report.tables {
            lines.append("table \(table.name): \(table.creator.map { "each account its own, by \($0)" } ?? "the role \(table.role ?? "")")")
        }
        for account in report.accounts {
            var parts = ["account \(account.account)"]
            if account.account == report.owner { parts.append("owner") }
            if !account.roles.isEmpty { parts.append(account.roles.joined(separator: ", ")) }
            if !account.isAdmitted { parts.append("not admitted") }
            lines.append(parts.joined(separator: "; "))
            lines += account.devices.map { "  device \($0)" }
        }
        lines += report.faults.map { "no effect: \($0.file): \($0.reason)" }
        return lines
    }
}

/// Runs `ubwatch rejected`.
struct RejectedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rejected",
        abstract: "List the logs whose changes, or some of them, have no effect in a store of a public container, and why.",
        discussion: """
            A log has no effect if its author had no right to make it. Nobody waits for it, and nothing of it is shown. Exit status 0, also if there \
            are none.
            """
    )

    @Argument(help: ArgumentHelp("The store: the path that the app gave it, or the SQLite file.", valueName: "store"), completion: .file())
    var store: String

    @Flag(help: "Print a JSON object a line: peer, sequence, hash, changes, record, reason, since.")
    var json = false

    func run() async throws {
        for log in try InspectedStore.look(at: FilePath(store), { try RejectedLog.list(in: $0) }) {
            if json {
                print(try jsonLine(log))
            } else {
                let which = log.record.map { " from \($0)" } ?? ""
                print(
                    "log \(log.sequence) of \(log.peer): \(log.changes) \(log.changes == 1 ? "change" : "changes")\(which): \(log.reason)".printable)
            }
        }
    }
}
