import ArgumentParser
import SystemPackage
import ToolSupport
import UbiquityStores

/// The format of a file of records on the command line.
enum FormatArgument: String, ExpressibleByArgument, CaseIterable {
    case jsonl
    case csv

    var format: RecordFormat {
        switch self {
        case .jsonl: .jsonLines
        case .csv: .csv
        }
    }
}

/// Runs `ubcontrol store export`.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the records of the synced tables as JSON Lines or CSV.",
        discussion: """
            The command may run beside the app: the output shows one moment. Every value keeps its type, and `ubcontrol store import` reads it \
            back; UbiquityStores' article Export describes the formats. Columns that stay on the device are exported too; tables that do not sync \
            are not: `ubcontrol store strip` writes these. If the command is interrupted, nothing is at PATH, and you may delete the files beside \
            it with -draft- in their names. Exit status 0 if everything was written, otherwise 1.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        help: ArgumentHelp(
            "A file of JSON Lines, or a directory of CSV files; it must not exist.",
            discussion: "By default JSON Lines on standard output.", valueName: "path"),
        completion: .file())
    var output: String?

    @Option(help: "jsonl, an object a line, or csv, a file a table.")
    var format = FormatArgument.jsonl

    @Option(help: ArgumentHelp("A table; may be given several times.", discussion: "By default all that sync.", valueName: "name"))
    var table: [String] = []

    @Flag(help: "Print a JSON object, with --output: records (by table).")
    var json = false

    func validate() throws {
        if json, output == nil { throw ValidationError("The records go to standard output: name a file for them with --output.") }
        if format == .csv, output == nil { throw ValidationError("CSV is a file for each table: name a directory for them with --output.") }
        if format == .jsonl, let output, FilePath(output).extension == "csv" {
            throw ValidationError("\(output) would hold JSON Lines: add --format csv and name a directory, or call it .jsonl.")
        }
    }

    func run() async throws {
        let inspection = try store.open(readOnly: true)
        let tables = table.isEmpty ? nil : table
        guard let output else {
            // The records are the output, so a bar on a terminal would mix with them.
            _ = try TerminalProgress.showing(besideOutput: true) { progress in
                try inspection.exportLines(to: .standardOutput, tables: tables) { progress.show(part: $0) }
            }
            return
        }
        let export = try TerminalProgress.showing { progress in
            try inspection.export(to: FilePath(output), format: format.format, tables: tables) { progress.show(part: $0) }
        }
        if json { return try printJSON(["records": export.records]) }
        for (table, records) in export.records.sorted(by: { $0.key < $1.key }) { print("\(table): \(counted(records, "record"))") }
    }
}

/// Runs `ubcontrol store import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Write records from JSON Lines or CSV into the store.",
        discussion: """
            This is an ordinary save, made now, completely or not at all. It may run beside the app, whose own saves wait meanwhile. The app's next \
            exchange publishes it to the other devices. With --dry-run everything is done and undone, to show the result. A record with an existing \
            key gets the given columns that differ; other records are inserted; columns that are not given stay, or get their default. If a record \
            appears twice, the later one overwrites the earlier. The output of `ubcontrol store export` is read back without change; \
            UbiquityStores' article Export describes the formats. Exit status 0 if everything was written, 1 if nothing was.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(
        help: ArgumentHelp(
            "A file of JSON Lines (.jsonl) or of CSV (<table>.csv), a directory of CSV files, or - for JSON Lines on standard input.",
            valueName: "file"),
        completion: .file())
    var files: [String]

    @Option(help: "The format of the files, whatever their names end in: jsonl or csv.")
    var format: FormatArgument?

    @Option(help: ArgumentHelp("The longest line, or CSV record, that is read, in MiB.", valueName: "MiB"))
    var longestLine = RecordInput.longestRecord >> 20

    @OptionGroup var dryRun: DryRunOption

    @Flag(help: "Print a JSON object: dryRun, tables (inserted, updated, unchanged, by table).")
    var json = false

    func validate() throws {
        if !(1...8192).contains(longestLine) { throw ValidationError("--longest-line takes a number from 1 to 8192.") }
        if files.filter({ $0 == "-" }).count > 1 { throw ValidationError("Standard input can be read once: name - once.") }
    }

    func run() async throws {
        let inspection = try store.open(readOnly: false)
        let inputs = try files.flatMap { try RecordInput.inputs(of: $0, format: format?.format) }
        let done = try TerminalProgress.showing { progress in
            try inspection.importRecords(from: inputs, isRehearsal: dryRun.isOn, limit: longestLine << 20) { progress.show($0, "record") }
        }
        if json {
            try printJSON(Report(dryRun: dryRun.isOn, tables: done.tables))
        } else {
            for (table, count) in done.tables.sorted(by: { $0.key < $1.key }) {
                print("\(table): \(count.inserted) inserted, \(count.updated) updated, \(count.unchanged) unchanged")
            }
            if dryRun.isOn { print("Nothing has been imported: this was a rehearsal.") }
        }
    }

    private struct Report: Encodable {
        var dryRun: Bool
        var tables: [String: RecordImport.Count]
    }
}
