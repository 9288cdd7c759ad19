import ArgumentParser
import Foundation
import Rainbow
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityStores

/// Runs `ubwatch log`.
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show a log in readable form.",
        discussion: "Shows the contents of records. Exit status 1 if the file is not a log, or its bytes do not match its name."
    )

    @Argument(help: "The file: <sequence>.<content hash>.ublog.", completion: .file(extensions: ["ublog"]))
    var file: String

    @Flag(
        help: """
            Print a JSON object: file, fault, peer, contentName, epoch, sequence, predecessor, news (peer, sequence), schema, created, saves, changes (table, \
            key, life, stamp, counter, columns), same (table, keys, lives), retired (peer, receipt, sequence).
            """)
    var json = false

    @Flag(help: "Show peers by their identifiers, not by the names of their devices.")
    var verbose = false

    func run() async throws {
        let report = try LogReport(of: FilePath(file))
        if json {
            print(try jsonLine(report))
        } else {
            print(report.text(verbose ? .identifiers : PeerNames(besideLog: FilePath(file), report)))
        }
        if let fault = report.fault {
            throw Refusal("\(file): \(fault)".printable, status: ToolExit.failure)
        }
    }
}

extension LogReport {
    /// Returns the log in text for people.
    func text(_ names: PeerNames) -> String {
        var lines = [
            "log \(sequence) of \(names[peer].printable.bold), epoch \(epoch) of \(contentName.printable)",
            "  written \(created.formatted(.iso8601)), schema \(schema.isEmpty ? "without migrations" : schema.printable), \(saves) \(saves == 1 ? "save" : "saves"), \(changes.count) \(changes.count == 1 ? "change" : "changes")",
        ]
        if let predecessor { lines.append("  after \(predecessor)") }
        for entry in news { lines.append("  having read \(entry.sequence) of \(names[entry.peer].printable)") }
        for change in changes {
            let isAlive = !change.life.isMultiple(of: 2)
            lines.append(
                "\(change.table.printable)/\(change.key.joined(separator: ",").printable) \(isAlive ? "life \(change.life)" : "died (\(change.life))".red)"
            )
            for column in change.columns { lines.append("  \(column.name) = \(column.value)".printable) }
        }
        for same in same {
            let records = zip(same.keys, same.lives).map { "\(same.table)/\($0.joined(separator: ",")) (life \($1))".printable }
            lines.append(records.joined(separator: " is ".bold))
        }
        for fact in retired {
            lines.append(
                "retires \(names[fact.peer].printable) at receipt \(fact.receipt)\(fact.sequence > 0 ? ", and no device waits for its logs up to \(fact.sequence)" : "")"
            )
        }
        return lines.joined(separator: "\n")
    }
}
