import ArgumentParser
import Foundation
import JournalModel
import Ubiquity

/// A journal on the command line and on the terminal, for the signed-in account.
@main
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "A journal with tags and attachments, for the signed-in account.",
        discussion: """
            Without a subcommand, and on a terminal, it shows a screen that follows what other devices write. Its keys:

            \(JournalView.keys.map { "  \($0.keys.padding(toLength: 18, withPad: " ", startingAt: 0))\($0.meaning)" }.joined(separator: "\n"))

            POST is the identifier of a post, or its beginning, as the list shows it. While no account is signed in, posts are kept on this device; \
            they join the account's posts after a sign-in. Sign in with: ubcontrol sign-in ACCOUNT [--containers DIR].

            Exit status: 0 it is done; 1 it could not be done, and the reason is printed; 64 the command line is wrong.
            """,
        subcommands: [
            ScreenCommand.self, AddCommand.self, ListCommand.self, SearchCommand.self, ShowCommand.self, EditCommand.self, TagCommand.self,
            AttachCommand.self, ExportAttachmentCommand.self, PinCommand.self, MoveCommand.self, RemoveCommand.self,
        ],
        defaultSubcommand: ScreenCommand.self
    )

    /// The library reads `-UbiquityLogLevel 3`.
    static func main() async { await main(UbiquityLog.appArguments()) }
}

/// A failed command, with its remedy.
struct Failure: Error, CustomStringConvertible {
    let description: String

    /// Other devices have written the names in it, so it is made safe on a terminal.
    init(_ description: String) { self.description = JournalView.printable(description) }
}

/// The option of every subcommand.
struct Place: ParsableArguments {
    @Option(name: .long, help: ArgumentHelp("The device home.", valueName: "dir"))
    var home: String?

    func open() async throws -> Journal { try await Journal.open(home: home.map { DeviceHome(FilePath($0)) }) }

    /// Opens the journal, takes in what other devices have written, runs a body, and sends what the body has written.
    func withJournal(_ body: (Journal) async throws -> Void) async throws {
        let journal = try await open()
        await exchange(journal)
        do {
            try await body(journal)
        } catch {
            try? await journal.close()
            throw error
        }
        await exchange(journal)
        try await journal.close()
    }

    /// Exchanges as far as possible; a save is stored, whatever the result.
    private func exchange(_ journal: Journal) async {
        do {
            try await journal.store.settled()
        } catch {
            FileHandle.standardError.write(Data("On this device only: \(error)\n".utf8))
        }
    }
}

extension Journal {
    /// Returns the post whose identifier begins with a word.
    func post(_ word: String) async throws -> PostEntry {
        let found = try await posts().filter { $0.id.hasPrefix(word.lowercased()) }
        if found.count == 1 { return found[0] }
        throw Failure(
            found.isEmpty
                ? "No post has the identifier “\(word)”; list the posts with: journal list"
                : "\(found.count) posts have identifiers that begin with “\(word)”; give more of it.")
    }

    /// Applies an edit, or fails with the reason.
    func save(_ edit: PostEdit) async throws {
        if let refusal = try await apply(edit).refusal { throw Failure("\(refusal) Run the command again.") }
    }
}

/// Prints posts, for people or for programs.
func printPosts(_ posts: [PostEntry], asJSON: Bool) throws {
    guard asJSON else {
        for post in posts { print("\(post.id.prefix(8)) \(JournalView.line(post))") }
        return
    }
    try printJSON(posts)
}

/// Prints a value as JSON: keys sorted, times in ISO 8601.
func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
}
