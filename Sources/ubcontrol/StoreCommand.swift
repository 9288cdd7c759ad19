import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Groups the commands about one store.
struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store",
        abstract: "Inspect and repair a store.",
        discussion: """
            For example:

                ubcontrol store list
                ubcontrol store check STORE
                ubcontrol store history STORE
                ubcontrol store pause STORE
                ubcontrol store resume STORE
                ubcontrol store rebuild STORE --dry-run
                ubcontrol store backup STORE FILE
                ubcontrol store remove-everything STORE --dry-run
            """,
        subcommands: [
            StoreListCommand.self, StoreStateCommand.self, StorePauseCommand.self, StoreResumeCommand.self, StoreRebuildCommand.self,
            StoreRepublishCommand.self, StoreFollowCommand.self, StoreRemoveEverythingCommand.self, CheckCommand.self, QuarantineCommand.self,
            ConflictsCommand.self, RestoreCommand.self, DuplicatesCommand.self, HeldCommand.self, MovedCommand.self,
            HistoryCommand.self, RecordCommand.self, CopyCommand.self, BackupCommand.self, ExportCommand.self, ImportCommand.self,
        ]
    )
}

/// The name of a store on the command line.
struct StoreArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The store: its content name, the path that the app gave it, or the SQLite file below CoreDataUbiquitySupport.",
            valueName: "store"),
        completion: .file())
    var name: String

    /// The store's path.
    var path: FilePath {
        get throws {
            let found = KnownStore.paths(named: name, in: HomeOptions.home(in: CommandLine.arguments))
            if found.count > 1 {
                let list = found.map { "\n  \($0)" }.joined()
                throw Refusal("“\(name)” names \(found.count) stores; give the path of one:\(list)".printable)
            }
            return found[0]
        }
    }

    /// Opens the store beside the app that uses it.
    func open(readOnly: Bool) throws -> InspectedStore { try InspectedStore(path, readOnly: readOnly) }

    /// Reads the store beside the app that uses it, and leaves no new files beside its file.
    ///
    /// - Parameter body: reads; it may be called more than once.
    /// - Returns: the result of the body.
    /// - Throws: the errors of `InspectedStore.look`.
    func look<Result>(_ body: (InspectedStore) throws -> Result) throws -> Result { try InspectedStore.look(at: path, body) }
}

/// Runs `ubcontrol store conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List the values that lost a conflict against independent writes.",
        discussion: """
            Prints one line for each conflict, oldest first: its number, the record, the reason, the lost value, and the value that won (for a \
            deletion: the record's other values). Values are shown as stored, except control characters, which are shown by their numbers, such as \
            \\u{a} for the end of a line; --json has them unchanged. `ubcontrol store restore` writes one back. Exit status 0, also if there are \
            none.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: "The number of newest conflicts to show.")
    var limit: Int?

    @Flag(help: "Print a JSON object a line: id, record, reason, lost, others, author, written, winner, noticed.")
    var json = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        for conflict in try store.look({ try $0.conflicts(limit: limit) }) {
            if json {
                try printJSON(Report(conflict))
            } else {
                print("\(conflict.id)  \(conflict.record.text)  \(words(conflict)): \(list(conflict.lost))\(instead(conflict))".printable)
            }
        }
    }

    private func words(_ conflict: Conflict) -> String {
        switch conflict.reason {
        case .laterWrite: "lost to a later write"
        case .earlierWrite: "lost to an earlier write"
        case .deletion: "lost to a deletion"
        }
    }

    private func instead(_ conflict: Conflict) -> String {
        if conflict.others.isEmpty { return "" }
        return conflict.reason == .deletion ? " (with \(list(conflict.others)))" : " (now \(list(conflict.others)))"
    }

    private func list(_ fields: [Conflict.Field]) -> String { fields.map { "\($0.column)=\($0.value)" }.joined(separator: ", ") }

    private struct Report: Encodable {
        var id: Int64
        var record: String
        var reason: String
        var lost: [String: String]
        var others: [String: String]
        var author: String
        var written: Date
        var winner: String?
        var noticed: Date

        init(_ conflict: Conflict) {
            id = conflict.id
            record = conflict.record.text
            reason = "\(conflict.reason)"
            lost = Dictionary(conflict.lost.map { ($0.column, $0.value.description) }) { $1 }
            others = Dictionary(conflict.others.map { ($0.column, $0.value.description) }) { $1 }
            author = conflict.author
            written = conflict.written
            winner = conflict.winner
            noticed = conflict.noticed
        }
    }
}

/// Runs `ubcontrol store restore`.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Write back values that lost a conflict.",
        discussion: """
            This is an ordinary change, made now: it wins here at once, and on the other devices after the app's next exchange. A deleted record is \
            inserted again. Restored values leave the list of `ubcontrol store conflicts`.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The conflict's number.", valueName: "number"))
    var conflicts: [Int64]

    @Flag(help: "Print a JSON object for each: id, record.")
    var json = false

    func run() async throws {
        let inspection = try store.open(readOnly: false)
        for id in conflicts {
            let conflict = try inspection.restore(id)
            if json {
                try printJSON(Restored(id: id, record: conflict.record.text))
            } else {
                print("Restored \(conflict.record.text).".printable)
            }
        }
    }

    private struct Restored: Encodable {
        var id: Int64
        var record: String
    }
}
