import ArgumentParser
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// The options that every decision of a moderator has.
struct ModerationOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The reason, which everybody can read.", valueName: "text"))
    var reason: String?

    @Flag(help: "Withdraw the decision, so that what it hid is shown again.")
    var undo = false

    @Flag(help: "Print a JSON object: store, subject, reason, isWithdrawn.")
    var json = false

    func validate() throws {
        if undo, reason != nil { throw ValidationError("--undo withdraws a decision, which needs no --reason.") }
    }

    /// Enters or withdraws a decision in a store file; the app publishes it with its next exchange.
    func decide(_ subject: Moderation.Subject, in argument: StoreArgument) throws {
        let store = try argument.open(readOnly: false)
        try Moderation.decide(subject, reason: reason, isWithdrawn: undo, in: store)
        if json {
            try printJSON(Report(store: store.file.string, subject: subject.text, reason: reason, isWithdrawn: undo))
        } else {
            print("Decided here. The app publishes it with its next exchange, at once if it runs.")
        }
    }

    private struct Report: Encodable {
        var store: String
        var subject: String
        var reason: String?
        var isWithdrawn: Bool
    }
}

/// Runs `ubcontrol public block`.
struct PublicBlockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "block",
        abstract: "Hide all records of an account on every device.",
        discussion: """
            This device's account must hold the role \(Moderation.role). Nothing of the account's is deleted: with --undo it is shown again. The \
            account goes on writing, and nobody shows it.
            """
    )

    @OptionGroup var store: StoreArgument

    @OptionGroup var account: AccountArgument

    @OptionGroup var options: ModerationOptions

    func run() async throws { try options.decide(.account(account.identifier), in: store) }
}

/// Runs `ubcontrol public veto`.
struct PublicVetoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "veto",
        abstract: "Hide a record of an account on every device.",
        discussion: """
            This device's account must hold the role \(Moderation.role). The record is named as `ubcontrol store record` and `ubwatch` name it, such \
            as score/t:ACCOUNT/t:ID. It is not deleted: with --undo it is shown again, as its account has it by then.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The record, which belongs to an account.", valueName: "record"))
    var record: String

    @OptionGroup var options: ModerationOptions

    func run() async throws {
        guard let identity = ObjectID(text: record) else {
            throw ValidationError("“\(record)” is no name of a record, such as score/t:ACCOUNT/t:ID.")
        }
        try options.decide(.record(identity), in: store)
    }
}

/// Runs `ubcontrol public moderation`.
struct PublicModerationCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "moderation",
        abstract: "List the blocked accounts and the vetoed records.",
        discussion: "`ubcontrol store held` lists the records that they hide. Exit status 0, also if there are none."
    )

    @OptionGroup var store: StoreArgument

    @Flag(help: "Print a JSON object a line: kind (account or record), subject, reason.")
    var json = false

    func run() async throws {
        for decision in try store.look({ try Moderation.decisions(in: $0) }) {
            let kind = if case .account = decision.subject { "account" } else { "record" }
            if json {
                try printJSON(Report(kind: kind, subject: decision.subject.text, reason: decision.reason))
            } else {
                print("\(kind)  \(decision.subject.text)\(decision.reason.map { "  \($0)" } ?? "")".printable)
            }
        }
    }

    private struct Report: Encodable {
        var kind: String
        var subject: String
        var reason: String?
    }
}
