import ArgumentParser
import Foundation
import Ubiquity

/// Texts on the command line and in the terminal, shared by all devices of an account.
@main
struct Texts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "texts",
        abstract: "Texts that all devices of an account share.",
        discussion: """
            A text is a plain file (.txt, .md) or a text bundle (.textbundle). NAME is a name in the account's container, with or without its \
            extension, or a path with “/”. Sign in first: ubcontrol sign-in ACCOUNT [--containers DIR].
            """,
        subcommands: [
            ListCommand.self, ShowCommand.self, NewCommand.self, EditCommand.self, AppendCommand.self, FollowCommand.self, BrowseCommand.self,
            RenameCommand.self, DeleteCommand.self, ResolveCommand.self,
        ],
        defaultSubcommand: ListCommand.self
    )
}

/// The text that a command is about.
struct NamedText: ParsableArguments {
    @Argument(help: "The text: a name in the container, or a path with “/”.")
    var name: String

    /// Opens the text, runs a body, and closes the text, which saves what has changed.
    @MainActor
    func withDocument(_ body: @MainActor (TextDocument) async throws -> Void) async throws {
        let document = TextDocument(fileURL: try await Shelf.url(of: name))
        try await document.open()
        do {
            try await body(document)
        } catch {
            document.closeWithoutSaving()
            throw error
        }
        try await document.close()
    }
}

/// Runs `texts list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "List the texts, also those that are only on other devices.")

    func run() async throws {
        let texts = try await Shelf.open().list()
        if texts.isEmpty { print("There is no text. Begin one: texts new NAME") }
        for text in texts { print(text.line) }
    }
}

/// Runs `texts show`.
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Print a text; fetches it if it is on another device.")

    @OptionGroup var text: NamedText

    @MainActor
    func run() async throws {
        try await text.withDocument { document in
            print(document.text, terminator: document.text.hasSuffix("\n") || document.text.isEmpty ? "" : "\n")
            if document.state.contains(.inConflict) { note("It is in conflict: texts resolve \"\(text.name)\"") }
        }
    }
}

/// Runs `texts new`.
struct NewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "new", abstract: "Create a text and edit it.")

    @OptionGroup var text: NamedText
    @Option(help: "The text, instead of an editor.")
    var content: String?

    @MainActor
    func run() async throws {
        let document = TextDocument(fileURL: try await Shelf.url(of: text.name))
        guard !FileManager.default.fileExists(atPath: document.fileURL.path(percentEncoded: false)) else {
            throw Shelf.Failure("\(document.fileURL.lastPathComponent) is there already: edit it, or choose another name.")
        }
        let content = if let content { content } else { try await Programs.edit("", named: document.fileURL.editorName) }
        document.edit(content)
        try await rescuing(content, of: document) {
            try await document.save(to: document.fileURL, for: .creating)
            try await document.close()
        }
        print(document.fileURL.lastPathComponent)
    }
}

/// Runs `texts edit`.
struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit", abstract: "Edit a text in $VISUAL, $EDITOR or vi; what another device writes meanwhile is kept as a version.")

    @OptionGroup var text: NamedText

    @MainActor
    func run() async throws {
        try await text.withDocument { document in try await edit(document) }
    }
}

/// Runs a body that saves what a person has written; if it fails, the text is left in a file of its own.
@MainActor
private func rescuing(_ text: String, of document: TextDocument, _ body: @MainActor () async throws -> Void) async throws {
    do {
        try await body()
    } catch {
        let rescue = FileManager.default.temporaryDirectory.appending(path: "rescued-\(UUID().uuidString)-\(document.fileURL.editorName)")
        try Data(text.utf8).write(to: rescue)
        note("What you have written is in \(rescue.path(percentEncoded: false)).")
        throw error
    }
}

/// Lets the person edit an open document.
@MainActor
func edit(_ document: TextDocument) async throws {
    var base = document.text
    let new = try await Programs.edit(base, named: document.fileURL.editorName)
    guard new != base else { return note("Nothing has changed.") }
    try await rescuing(new, of: document) {
        // What others have written meanwhile is in no message yet, perhaps.
        try await document.revert()
        while document.text != base, document.text != new {
            // Somebody else has written it while the editor was open: both stay.
            base = document.text
            try await document.addVersion()
            note("It was changed elsewhere meanwhile. That text is kept as a version: texts resolve \"\(document.fileURL.lastPathComponent)\" --all")
        }
        document.edit(new)
        try await document.save()
    }
    if document.state.contains(.inConflict) { note("It is in conflict: texts resolve \"\(document.fileURL.lastPathComponent)\"") }
}

/// Runs `texts append`.
struct AppendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "append", abstract: "Add a line to a text.")

    @OptionGroup var text: NamedText
    @Argument(help: "The line.")
    var line: String

    @MainActor
    func run() async throws {
        try await text.withDocument { document in document.append(line) }
    }
}

/// Runs `texts rename`.
struct RenameCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rename", abstract: "Rename a text, with its versions.")

    @OptionGroup var text: NamedText
    @Argument(help: "The new name; it keeps its extension.")
    var newName: String

    @MainActor
    func run() async throws {
        try await text.withDocument { document in
            try await document.rename(to: newName)
            print(document.fileURL.lastPathComponent)
        }
    }
}

/// Runs `texts delete`.
struct DeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a text on all devices.")

    @OptionGroup var text: NamedText

    @MainActor
    func run() async throws {
        try await text.withDocument { document in try await document.delete() }
    }
}

extension TextDocument {
    /// Adds a line.
    func append(_ line: String) { edit(text + (text.isEmpty || text.hasSuffix("\n") ? "" : "\n") + line + "\n") }
}

extension URL {
    /// A name for a copy in an editor, which chooses its mode by the extension.
    var editorName: String { pathExtension == "textbundle" ? deletingPathExtension().lastPathComponent + ".md" : lastPathComponent }
}

/// Tells the person something that is no output.
func note(_ text: String) { FileHandle.standardError.write(Data("\(text)\n".utf8)) }
