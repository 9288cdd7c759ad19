import ArgumentParser
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

/// The rule of a table on the command line.
struct TableRule: ExpressibleByArgument {
    var table: String
    var access: TableAccess

    init?(argument: String) {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return nil }
        let rule = parts[1].split(separator: ":", maxSplits: 1).map(String.init)
        switch (rule.first, rule.count) {
        case ("creator", 2): (table, access) = (parts[0], .creator(rule[1]))
        case ("role", 2): (table, access) = (parts[0], .role(rule[1]))
        default: return nil
        }
    }
}

/// Runs `ubcontrol public access`.
struct PublicAccessCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access",
        abstract: "Ask the steward's app to say who changes the records of a new table.",
        discussion: """
            Before an app's next version writes to a table that it brings, the policy must say who changes its records. Let the policy arrive \
            before that version does: a log that names an earlier policy has no effect in the table. The rule of a table never changes.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The table, and who changes its records: NAME=creator:COLUMN, or NAME=role:ROLE.", valueName: "rule"))
    var rule: TableRule

    @Flag(help: ScopeRequest.jsonHelp)
    var json = false

    func run() async throws { try store.ask(.access(table: rule.table, rule.access), json: json) }
}

/// Runs `ubcontrol public schema`.
struct PublicSchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Show the tables of a content, who changes their records, and their indexes.",
        discussion: """
            With --to, the schema is compared with the one of another store, as of a development container with a production container, and what \
            moving it needs is listed. Open the store of the new version once, so that its file has the new tables. Exit status 0 if the policy \
            agrees with the app and the schema can move as it is, 1 if something is forbidden or needed first.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("A store with the schema that is in use, such as one of the production container.", valueName: "store"),
        completion: .file())
    var other: String?

    @Flag(help: "Print a JSON object: content, container, migrations, tables, policy; with --to: differences (weight, table, sentence).")
    var json = false

    func run() async throws {
        let report = try store.look { try $0.schemaReport() }
        guard let other else {
            if json { try printJSON(report) } else { show(report) }
            if !report.contradicted.isEmpty { throw ExitCode(1) }
            return
        }
        let present = try InspectedStore(FilePath(other), readOnly: true).schemaReport()
        let move = SchemaMove(of: report, to: present, store: other)
        if json { try printJSON(move) } else { show(move) }
        if !move.isPossible { throw ExitCode(1) }
    }

    private func show(_ move: SchemaMove) {
        if move.differences.isEmpty { print("The schemas are the same.") }
        for difference in move.differences {
            let table = difference.table.map { "\($0): " } ?? ""
            print("\(difference.weight.rawValue)  \(table)\(difference.sentence)".printable)
        }
    }

    private func show(_ report: SchemaReport) {
        print(
            "content \(report.content)\(report.container.map { " of the container \($0)" } ?? ""), migrations: \(report.migrations.joined(separator: ", "))"
                .printable)
        for table in report.tables {
            print("")
            print("\(table.name)  \(who(table))".printable)
            for column in table.columns {
                var words = [column.name, column.type]
                if table.key.contains(column.name) { words.append("key") }
                if column.isRequired { words.append("required") }
                if let value = column.defaultValue { words.append("default \(value)") }
                if let merging = column.merging { words.append("merges by \(merging)") }
                print("  \(words.filter { !$0.isEmpty }.joined(separator: " "))".printable)
            }
            for group in table.together { print("  (\(group.joined(separator: ", "))) merge as one value".printable) }
            for index in table.indexes {
                print("  index \(index.name) (\(index.columns.joined(separator: ", ")))\(index.isUnique ? " unique" : "")".printable)
            }
            guard report.contradicted.contains(table) else { continue }
            let policy = report.policy?[table.name]
            print(
                "  the policy \(policy.map { "says \($0)" } ?? "says nothing about it, so saves have no effect: see ubcontrol public access")"
                    .printable)
        }
    }

    private func who(_ table: TableDescription) -> String {
        if let creator = table.creator { return "each account changes the records that name it in \(creator)" }
        if let role = table.role { return "the role \(role) changes all records" }
        return "all devices of its account change its records"
    }
}
