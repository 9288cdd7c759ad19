import ArgumentParser
import Foundation
internal import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store history`.
struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "List the changes of records, in the order in which the store took them in.",
        discussion: """
            Prints a line for each transaction, oldest first: when it was saved, the occasion, and who saved it; below it a line for each change, \
            with the columns of an update. The last line is the token after the last change: --since continues there. A large change names its \
            table instead of its records. Changes that another program has made with SQL are listed after the app's next exchange. The command \
            writes nothing, and may run beside the app. Exit status 0, also if there are no changes, and 1 if the store keeps no history, or not \
            all changes after the token any more.
            """
    )

    @OptionGroup var store: StoreArgument

    @Option(help: ArgumentHelp("The token after which to begin.", discussion: "By default all changes that are kept.", valueName: "token"))
    var since: String?

    @Option(help: "The maximum number of changes.")
    var limit: Int?

    @OptionGroup var container: ContainerOption

    @Flag(
        help: """
            Print a JSON object a line: origin, author, device, app, isThisDevice, written, takenIn, changes (kind, record or table, columns); at \
            the end token, hasMore, isComplete.
            """)
    var json = false

    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1.") }
        if let since, ChangeToken(since) == nil {
            throw ValidationError("“\(since)” is not a token, or not a whole one: --since takes the last line of this command's output.")
        }
    }

    func run() async throws {
        let token = since.flatMap { ChangeToken($0) }
        let changes = try store.look { try $0.changes(since: token, limit: limit, in: container.find(for: $0).path) }
        for transaction in changes.transactions { if json { try printJSON(Report(transaction)) } else { show(transaction) } }
        if json {
            try printJSON(End(token: changes.token, hasMore: changes.hasMore, isComplete: changes.isComplete))
        } else {
            if changes.hasMore { print("There are more changes than \(counted(limit ?? 0, "change")).") }
            print(changes.token)
        }
    }

    private func show(_ transaction: ChangeTransaction) {
        let author = transaction.author.map { " by \(authorWords($0))" } ?? ""
        print("\((transaction.written ?? transaction.takenIn).formatted(.iso8601))  \(transaction.origin.rawValue)\(author)".printable)
        for change in transaction.changes {
            let line =
                switch change {
                case .inserted(let record): "inserted \(record.text)"
                case .updated(let record, let columns): "updated \(record.text)  \(columns.joined(separator: ", "))"
                case .deleted(let record): "deleted \(record.text)"
                case .wholeTable(let table): "changed the whole table \(table)"
                }
            print("  \(line)".printable)
        }
    }

    private struct Report: Encodable {
        struct Change: Encodable {
            var kind: String
            var record: String?
            var table: String?
            var columns: [String]?
        }

        var origin: ChangeTransaction.Origin
        var author: String?
        var device: String?
        var app: String?
        var isThisDevice: Bool?
        var written: Date?
        var takenIn: Date
        var changes: [Change]

        init(_ transaction: ChangeTransaction) {
            origin = transaction.origin
            author = transaction.author?.peer.description
            device = transaction.author?.device
            app = transaction.author?.app
            isThisDevice = transaction.author?.isThisDevice
            written = transaction.written
            takenIn = transaction.takenIn
            changes = transaction.changes.map { change in
                switch change {
                case .inserted(let record): Change(kind: "inserted", record: record.text)
                case .updated(let record, let columns): Change(kind: "updated", record: record.text, columns: columns)
                case .deleted(let record): Change(kind: "deleted", record: record.text)
                case .wholeTable(let table): Change(kind: "wholeTable", table: table)
                }
            }
        }
    }

    private struct End: Encodable {
        var token: ChangeToken
        var hasMore: Bool
        var isComplete: Bool
    }
}

/// Runs `ubcontrol store record`.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record",
        abstract: "Show who created a record, who last wrote each of its columns, and who deleted it.",
        discussion: """
            Prints a line for the creation or the deletion, and a line for each column that somebody has written, with the time by the writer's \
            clock. The creation and the deletion are known as long as `ubcontrol store history` lists them; after that the oldest write of a column \
            is shown instead of the creation. The command writes nothing, and may run beside the app. Exit status 0 if there is or was such a \
            record, otherwise 64.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(
        help: ArgumentHelp("The record, as the other commands print it: such as note/t:abc for the text abc.", valueName: "record"),
        transform: { text in
            guard let record = ObjectID(text: text) else {
                throw ValidationError(
                    "“\(text)” is not the name of a record: write <table>/<type>:<key>, with t for text, i for an integer, or b for a blob, such as note/t:abc."
                )
            }
            return record
        })
    var record: ObjectID

    @OptionGroup var container: ContainerOption

    @Flag(help: "Print a JSON object: record, isDeleted, created, oldestWrite, deleted, columns (each author, device, app, isThisDevice, time).")
    var json = false

    func run() async throws {
        let found = try store.look { try $0.provenance(of: record, in: container.find(for: $0).path) }
        if json { return try printJSON(Report(found)) }
        print(found.record.text.printable)
        var lines: [(String, String)] = []
        if found.isDeleted {
            lines.append(("deleted", found.deleted.map(words) ?? "before the history that is kept"))
        } else if let created = found.created {
            lines.append(("created", words(created)))
        } else {
            lines.append(("created", found.oldestWrite.map { "then or before: \(words($0))" } ?? "at an unknown time"))
        }
        lines += found.columns.sorted { $0.key < $1.key }.map { ("  \($0)", words($1)) }
        let width = lines.map(\.0.count).max() ?? 0
        for (name, text) in lines { print("\(name.padding(toLength: width, withPad: " ", startingAt: 0))  \(text)".printable) }
    }

    private func words(_ write: RecordProvenance.Write) -> String { "\(write.time.formatted(.iso8601))  \(authorWords(write.author))" }

    private struct Report: Encodable {
        struct Write: Encodable {
            var author: String
            var device: String?
            var app: String?
            var isThisDevice: Bool
            var time: Date

            init(_ write: RecordProvenance.Write) {
                author = write.author.peer.description
                (device, app, isThisDevice) = (write.author.device, write.author.app, write.author.isThisDevice)
                time = write.time
            }
        }

        var record: String
        var isDeleted: Bool
        var created: Write?
        var oldestWrite: Write?
        var deleted: Write?
        var columns: [String: Write]

        init(_ found: RecordProvenance) {
            record = found.record.text
            isDeleted = found.isDeleted
            created = found.created.map(Write.init)
            oldestWrite = found.oldestWrite.map(Write.init)
            deleted = found.deleted.map(Write.init)
            columns = found.columns.mapValues(Write.init)
        }
    }
}

private func authorWords(_ author: ChangeAuthor) -> String {
    if author.isThisDevice { return "this device" }
    let names = [author.device, author.app].compactMap(\.self).joined(separator: ", ")
    return names.isEmpty ? PeerNames.short(author.peer.description) : names
}
