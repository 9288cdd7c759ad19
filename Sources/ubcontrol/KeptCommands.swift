import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups the commands about data that was set aside.
struct KeptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kept",
        abstract: "Show data that was set aside on this device, and write it back.",
        discussion: """
            When a store's content is removed, this device's unsent data is set aside. When a public container takes a right away, so are the saves \
            of this device that lose it. Nothing returns automatically. Files of a store that were \
            moved aside, because they could not be read or a new one was made, are beside its other files: `ubcontrol kept list` also lists these \
            if a store is given, and `ubcontrol store list` lists them with all others.
            """,
        subcommands: [KeptListCommand.self, KeptShowCommand.self, KeptRestoreCommand.self, KeptRemoveCommand.self],
        defaultSubcommand: KeptListCommand.self
    )
}

/// Names an entry on the command line.
struct KeptArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp("The entry, or the beginning of its name.", valueName: "id"),
        completion: .custom { words, _, _ in HomeOptions.home(in: words).map { ((try? KeptLogs(home: $0).list()) ?? []).map(\.id) } ?? [] })
    var id: String
}

/// Runs `ubcontrol kept list`.
struct KeptListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the entries that were set aside: name, time, reason, content and size.",
        discussion: """
            Prints one line for each entry, oldest first; with --store followed by one for each former or damaged file of that store: its kind, its \
            records, its unsent data, and its path. Exit status 0, also if there are none.

                ubcontrol kept list --home HOME
                ubcontrol kept list --store STORE --json
            """
    )

    @Option(
        name: .customLong("store"),
        help: ArgumentHelp(
            "A store, or a directory with stores, whose moved files are listed too. May be given more than once.",
            valueName: "path"),
        completion: .file())
    var stores: [String] = []

    @OptionGroup var home: HomeOptions

    @Flag(
        help: """
            Print a JSON object a line: id, bytes, and entry, which is missing if it cannot be read; for a file the output of `ubcontrol store \
            state`, or file and fault.
            """)
    var json = false

    func run() async throws {
        try listEntries()
        for file in stores.flatMap({ InspectedStore.files(at: FilePath($0)) }) where Self.isAside(file) {
            do {
                let summary = try InspectedStore.look(at: file) { try $0.summary() }
                if json { try printJSON(summary) } else { print(line(summary).printable) }
            } catch {
                if json { try printJSON(["file": file.string, "fault": "\(error)"]) } else { print("\(file): \(error)".printable) }
            }
        }
    }

    /// Returns whether a file was moved aside, according to its directory.
    private static func isAside(_ file: FilePath) -> Bool {
        let directory = file.removingLastComponent().lastComponent?.string ?? ""
        return directory == "former" || directory.hasPrefix("damaged")
    }

    private func line(_ store: StoreSummary) -> String {
        let unsent = store.unpublished > 0 || store.isNoted ? "; not all has gone out" : ""
        return
            "\(store.place) of \(store.account)  \(store.content) in \(store.container); \(counted(store.records, "record"))\(unsent): \(store.file)"
    }

    private func listEntries() throws {
        for finding in try KeptLogs(home: try home.deviceHome).list() {
            if json {
                try printJSON(KeptReport(id: finding.id, bytes: finding.size, entry: finding.entry))
            } else {
                print("\(finding.id)  \(words(finding))".printable)
            }
        }
    }
}

/// Runs `ubcontrol kept show`.
struct KeptShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show an entry that was set aside: each change of a record.",
        discussion: """
            Prints a line for each log, and below it one for each change: the record, and either its written columns with their values or its \
            deletion. Exit status 0 if every file is complete; 1 if one is not: it is named, and the others are shown.
            """
    )

    @OptionGroup var entry: KeptArgument

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: id, bytes, entry, logs (file, fault, changes (record, deleted, values)).")
    var json = false

    func run() async throws {
        let kept = KeptLogs(home: try home.deviceHome)
        let finding = try kept.entry(entry.id)
        let logs = try kept.changes(of: finding.id)
        if json {
            try printJSON(KeptReport(id: finding.id, bytes: finding.size, entry: finding.entry, logs: logs))
        } else {
            print("\(finding.id)  \(words(finding))".printable)
            if let store = finding.entry?.store { print("store: \(store)".printable) }
            for log in logs {
                print("\(log.file)\(log.fault.map { ": \($0)" } ?? "")".printable)
                for change in log.changes {
                    let values = change.values.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ", ")
                    print("  \(change.record)  \(change.deleted ? "deleted" : values)".printable)
                }
            }
        }
        if finding.entry == nil || logs.contains(where: { $0.fault != nil }) { throw ExitCode(1) }
    }
}

/// Runs `ubcontrol kept restore`.
struct KeptRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Write an entry that was set aside back into its store.",
        discussion: """
            This is an ordinary change, made now, completely or not at all: it inserts a record, writes its columns, or deletes it. The app's next \
            exchange publishes it to the other devices. The entry stays until it is removed.
            """
    )

    @OptionGroup var entry: KeptArgument

    @Option(
        help: ArgumentHelp(
            "The store.", discussion: "By default the file that it came from.", valueName: "store"),
        completion: .file())
    var store: String?

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: id, written, deleted.")
    var json = false

    func run() async throws {
        let kept = KeptLogs(home: try home.deviceHome)
        let id = try kept.entry(entry.id).id
        let (written, deleted) = try kept.restore(id, into: store.map { FilePath($0) }, isRehearsal: dryRun.isOn)
        if json {
            try printJSON(Restored(id: id, written: written, deleted: deleted))
        } else {
            print("\(dryRun.isOn ? "Would restore" : "Restored") \(id): \(counted(written, "change")) written, \(counted(deleted, "deletion")).")
        }
    }

    private struct Restored: Encodable {
        var id: String
        var written: Int
        var deleted: Int
    }
}

/// Runs `ubcontrol kept remove`.
struct KeptRemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove an entry that was set aside, permanently.",
        discussion: "It cannot be restored."
    )

    @OptionGroup var entry: KeptArgument

    @OptionGroup var confirmation: ConfirmOption

    @OptionGroup var dryRun: DryRunOption

    @OptionGroup var home: HomeOptions

    @Flag(help: "Print a JSON object: id, bytes.")
    var json = false

    func run() async throws {
        let kept = KeptLogs(home: try home.deviceHome)
        let finding = try kept.entry(entry.id)
        if !dryRun.isOn {
            try confirmation.confirm("This removes for good: \(finding.id)  \(words(finding)).")
            try kept.remove(finding.id)
        }
        if json { return try printJSON(KeptReport(id: finding.id, bytes: finding.size)) }
        print("\(dryRun.isOn ? "Would remove" : "Removed") \(finding.id).")
    }
}

private struct KeptReport: Encodable {
    var id: String
    var bytes: Int64
    var entry: KeptEntry?
    var logs: [KeptLogs.Changes]?
}

private func words(_ finding: KeptLogs.Finding) -> String {
    guard let entry = finding.entry else { return "what says whose it was is damaged or of a newer version; \(counted(Int(finding.size), "byte"))" }
    var parts = [
        "\(entry.time.formatted(.iso8601))  \(entry.content) of \(entry.account) in \(entry.container), epoch \(entry.epoch)",
        reason(entry), "\(counted(entry.changes, "change")) in \(counted(entry.logs, "log")), \(counted(Int(finding.size), "byte"))",
    ]
    if entry.missing > 0 { parts.append("\(counted(entry.missing, "log")) had gone") }
    if entry.missingValues > 0 { parts.append("\(counted(entry.missingValues, "large value")) had gone") }
    if let restored = entry.restored { parts.append("restored \(restored.formatted(.iso8601))") }
    return parts.joined(separator: "; ")
}

private func reason(_ entry: KeptEntry) -> String {
    switch entry.reason {
    case .contentRemoved: "the content was removed"
    case .rightRemoved: "the right to change \((entry.tables ?? []).joined(separator: ", ")) was taken away"
    }
}
