import ArgumentParser
import Foundation
internal import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store check`.
struct CheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a store file, and compare it with its published logs.",
        discussion: """
            The command writes nothing, and may run beside the app. It runs SQLite's own check, compares stamps with rows, follows the logs that \
            wait to be published, and compares the published ones with the container's. Exit status 0 if there is no problem, 1 if there is one, 64 \
            for a wrong command line.
            """
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var container: ContainerOption

    @Flag(
        help: """
            Print a JSON object: file, account, container, content, peer, problems (kind, subject, detail), remarks, undeclared (tables), records, sealed, published.
            """)
    var json = false

    func run() async throws {
        var hindrance: String?
        var check = try TerminalProgress.showing("checking the store") {
            try store.look { inspection in
                let (place, reason) = try container.find(for: inspection)
                hindrance = place == nil ? reason : nil
                return try inspection.check(container: place)
            }
        }
        if let hindrance { check.remarks.append("the container was not inspected, because \(hindrance); name it with --container") }
        if json {
            try printJSON(check)
        } else {
            for problem in check.problems { print("\(problem.kind.rawValue): \(problem.subject): \(problem.detail)".printable) }
            for table in check.undeclared { print("note: \(UndeclaredTables.text(table).detail)".printable) }
            for remark in check.remarks { print("note: \(remark)".printable) }
            print(
                "\(counted(check.problems.count, "problem")) in \(counted(check.records, "record")), \(check.sealed) sealed and \(counted(check.published, "published log"))"
            )
        }
        if !check.problems.isEmpty { throw ExitCode(1) }
    }
}

/// Groups the commands about unusable files.
struct QuarantineCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Show the files that a store cannot use.",
        subcommands: [QuarantineListCommand.self],
        defaultSubcommand: QuarantineListCommand.self
    )
}

/// Runs `ubcontrol store quarantine list`.
struct QuarantineListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the files that a store cannot use: file, peer, reason, since when.",
        discussion: "A file leaves the list once it is complete and joined, or gone from the container. Exit status 0, also if there are none."
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object a line: peer, file, kind, reason, record, since.")
    var json = false

    func run() async throws {
        for log in try store.look({ try $0.quarantined() }) {
            if json {
                try printJSON(log)
            } else {
                print("\(log.file) of \(PeerNames.short(log.peer)): \(log.reason) (since \(log.since.formatted(.iso8601)))".printable)
            }
        }
    }
}

/// Runs `ubcontrol store strip`.
struct CopyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "strip",
        abstract: "Write the app's tables to a plain database, without the tables of this package.",
        discussion: """
            The command may run beside the app: the copy shows one moment, is compared with the store row by row, and only then gets its name. The \
            store is not written. Exit status 0 if the copy was written, otherwise 1.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The path of the copy, which must not exist.", valueName: "file"), completion: .file())
    var target: String

    @Flag(help: "Print a JSON object: rows, by table.")
    var json = false

    func run() async throws {
        let copy = try TerminalProgress.showing { progress in
            try store.open(readOnly: true).writePlainCopy(to: FilePath(target)) { progress.show(part: $0) }
        }
        if json {
            try printJSON(copy)
        } else {
            for (table, rows) in copy.rows.sorted(by: { $0.key < $1.key }) { print("\(table): \(counted(rows, "row"))") }
        }
    }
}
