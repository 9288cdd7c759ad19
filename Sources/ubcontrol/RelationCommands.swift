import ArgumentParser
import Foundation
import ToolSupport
import UbiquityStores

/// Runs `ubcontrol store duplicates`.
struct DuplicatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "List the records that have become one, and what each of them holds.",
        discussion: """
            One line for the record that is shown, and a line for each that it stands for, in the order of their keys. Records become one where a \
            uniqueness rule of the app says so, or where what names them has become one. Exit status 0, also where there are none.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object a line: record, since, members (record, values).")
    var json = false

    func run() async throws {
        for duplicates in try store.look({ try $0.duplicates() }) {
            if json {
                try printJSON(Report(duplicates))
            } else {
                print("\(duplicates.record.text) stands for \(duplicates.members.count)".printable)
                for member in duplicates.members { print("  \(member.record.text)  \(words(member.values))".printable) }
            }
        }
    }

    private struct Report: Encodable {
        struct Member: Encodable {
            var record: String
            var values: [String: String]
        }

        var record: String
        var since: Date?
        var members: [Member]

        init(_ duplicates: DuplicateRecords) {
            record = duplicates.record.text
            since = duplicates.since
            members = duplicates.members.map { Member(record: $0.record.text, values: dictionary($0.values)) }
        }
    }
}

/// Runs `ubcontrol store held`.
struct HeldCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "held",
        abstract: "List the records that are alive and not shown.",
        discussion: """
            One line a record: its name, what it refers to that is not shown, and what it holds. It is shown again as soon as that is there, and \
            until then it is deleted by nobody. Exit status 0, also where there are none.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object a line: record, reason, values.")
    var json = false

    func run() async throws {
        for held in try store.look({ try $0.held() }) {
            if json {
                try printJSON(Report(record: held.record.text, reason: held.reason, values: dictionary(held.values)))
            } else {
                print("\(held.record.text)  \(held.reason): \(words(held.values))".printable)
            }
        }
    }

    private struct Report: Encodable {
        var record: String
        var reason: String
        var values: [String: String]
    }
}

/// Runs `ubcontrol store moved`.
struct MovedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moved",
        abstract: "List the records that show another value than was written, since another record holds that.",
        discussion: """
            One line for a record and a column: what was written there, which record holds it by an exclusive rule of the app, and what is shown instead. \
            What was written is shown again as soon as nobody else holds it. Exit status 0, also where there are none.
            """
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object a line: record, column, written, shown, holder.")
    var json = false

    func run() async throws {
        for moved in try store.look({ try $0.moved() }) {
            if json {
                try printJSON(
                    Report(
                        record: moved.record.text, column: moved.column, written: moved.written.description, shown: moved.shown.description,
                        holder: moved.holder.text))
            } else {
                print(
                    "\(moved.record.text)  \(moved.column): \(moved.written) was written, which \(moved.holder.text) holds; \(moved.shown) is shown"
                        .printable)
            }
        }
    }

    private struct Report: Encodable {
        var record: String
        var column: String
        var written: String
        var shown: String
        var holder: String
    }
}

private func words(_ fields: [Conflict.Field]) -> String { fields.map { "\($0.column)=\($0.value)" }.joined(separator: ", ") }

private func dictionary(_ fields: [Conflict.Field]) -> [String: String] {
    Dictionary(fields.map { ($0.column, $0.value.description) }) { $1 }
}
