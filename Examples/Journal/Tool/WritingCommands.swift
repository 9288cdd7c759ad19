import ArgumentParser
import JournalModel

/// Runs `journal add`.
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a post, and print its identifier.")

    @Argument(help: "The title.")
    var title: String

    @Option(help: "The text.")
    var body = ""

    @Option(name: .customLong("tag"), help: "A tag; it may be given several times.")
    var tags: [String] = []

    @OptionGroup var place: Place

    func run() async throws {
        let edit = PostEdit(creating: PostContents(title: title, body: body, tags: tags))
        try await place.withJournal { journal in try await journal.save(edit) }
        print(edit.post)
    }
}

/// Runs `journal edit`.
struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change the title or the text of a post.")

    @Argument(help: "The post.")
    var post: String

    @Option(help: "The new title.")
    var title: String?

    @Option(help: "The new text.")
    var body: String?

    @OptionGroup var place: Place

    func validate() throws {
        if title == nil, body == nil { throw ValidationError("Nothing to change: give --title, --body, or both.") }
    }

    func run() async throws {
        try await place.withJournal { journal in
            try await journal.change(post) {
                if let title { $0.title = title }
                if let body { $0.body = body }
            }
        }
    }
}

/// Runs `journal tag`.
struct TagCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "tag", abstract: "Give a post tags, or take them away.")

    @Argument(help: "The post.")
    var post: String

    @Argument(help: "The names of the tags.")
    var names: [String]

    @Flag(help: "Take the tags away.")
    var remove = false

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in
            try await journal.change(post) { contents in
                let names = Tag.normalized(names)
                contents.tags = remove ? contents.tags.filter { !names.contains($0) } : Tag.normalized(contents.tags + names)
            }
        }
    }
}

/// Runs `journal pin`.
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "pin", abstract: "Pin a post at the end of the pinned ones.")

    @Argument(help: "The post.")
    var post: String

    @Flag(help: "Unpin the post.")
    var off = false

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in _ = try await journal.setPinned(!off, journal.post(post).id) }
    }
}

/// Runs `journal move`.
struct MoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move a pinned post among the pinned ones, by a number of places; by default one place up.")

    @Argument(help: "The post.")
    var post: String

    @Option(help: "The number of places to move it up.")
    var up: Int?

    @Option(help: "The number of places to move it down.")
    var down: Int?

    @OptionGroup var place: Place

    func validate() throws {
        if up != nil, down != nil { throw ValidationError("Give --up or --down, not both.") }
        if min(up ?? 1, down ?? 1) < 1 { throw ValidationError("Move a post by at least one place.") }
    }

    func run() async throws {
        try await place.withJournal { journal in
            let entry = try await journal.post(post)
            guard entry.isPinned else { throw Failure("Only pinned posts have an order; pin it first with: journal pin \(post)") }
            _ = try await journal.move(entry.id, by: down ?? -(up ?? 1))
        }
    }
}

/// Runs `journal rm`.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rm", abstract: "Remove a post and its attachments, on all devices.")

    @Argument(help: "The post.")
    var post: String

    @OptionGroup var place: Place

    func run() async throws {
        try await place.withJournal { journal in _ = try await journal.remove(journal.post(post).id) }
    }
}

extension Journal {
    /// Changes the contents of a post.
    fileprivate func change(_ word: String, _ body: (inout PostContents) -> Void) async throws {
        let entry = try await post(word)
        var after = entry.contents
        body(&after)
        try await save(PostEdit(post: entry.id, before: entry.contents, after: after))
    }
}
