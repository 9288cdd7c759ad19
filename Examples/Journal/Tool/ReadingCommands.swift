import ArgumentParser
import JournalModel

/// Runs `journal list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the posts: the pinned ones in their order, then the others, the newest first.")

    @Option(help: "List the posts with this tag only.")
    var tag: String?

    @Flag(help: "Print a JSON array.")
    var json = false

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in try printPosts(await journal.posts(tag: tag), asJSON: json) }
    }
}

/// Runs `journal search`.
struct SearchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "search", abstract: "List the posts that have all these words, or words that begin so, in title or text.")

    @Argument(help: "The words.")
    var words: [String]

    @Flag(help: "Print a JSON array.")
    var json = false

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in
            try printPosts(await journal.posts(search: words.joined(separator: " ")), asJSON: json)
        }
    }
}

/// Runs `journal show`.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show a post, with thumbnails of its attachments.")

    @Argument(help: "The post.")
    var post: String

    @Flag(help: "Print a JSON object.")
    var json = false

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in
            let entry = try await journal.post(post)
            if json { return try printJSON(entry) }
            for line in JournalView.post(entry, Int.max) { print(line) }
        }
    }
}
