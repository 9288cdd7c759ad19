import ArgumentParser
import Foundation
import ToolSupport
import UbiquityStores

/// Runs `ubcontrol store duplicates`.
struct DuplicatesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "duplicates",
        abstract: "List the records that have become one, with their values.",
        discussion: """
            Prints one line for the visible record, and a line for each record that it represents, in the order of their keys. Records become one \
            because of a uniqueness rule of the app, or because the records that identify them became one. Exit status 0, also if there are none.
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
        abstract: "List the live records that are not shown.",
        discussion: """
            Prints one line for each record: its name, the missing record that it refers to, and its values. It appears again as soon as that \
            record does, and no device deletes it meanwhile. Exit status 0, also if there are none.
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
        abstract: "List the records that show another value than the written one, because another record holds it.",
        discussion: """
            Prints one line for each record and column: the written value, the record that holds it by an exclusive rule of the app, and the value \
            shown instead. The written value appears again as soon as no other record holds it. Exit status 0, also if there are none.
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
