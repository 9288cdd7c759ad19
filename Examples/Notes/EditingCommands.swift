import ArgumentParser
import Foundation
import GRDB
import SwiftCSV
import SystemPackage
import Ubiquity

/// Runs `notes add`.
struct AddCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "add", abstract: "Add a note and print its identifier.")

    @Argument(help: "The title.")
    var text: String

    @Option(help: "The body.")
    var body: String?

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let note = Note(id: newIdentifier(), title: text, body: body, created: timestamp())
        try await notebook.saving { db in try note.insert(db) }
        print(note.id)
    }
}

/// Runs `notes edit`.
struct EditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "edit", abstract: "Change a note's title or body.")

    @Argument(help: "The note's identifier.")
    var id: String

    @Option(help: "The new title.")
    var title: String?

    @Option(help: "The new body.")
    var body: String?

    @OptionGroup var notebook: Notebook

    func validate() throws {
        if title == nil, body == nil { throw ValidationError("Nothing to change: give --title, --body, or both.") }
    }

    func run() async throws {
        let found = try await notebook.saving { [id, title, body] db in
            guard var note = try Note.fetchOne(db, key: id) else { return false }
            // Only changed columns are written; the others keep their authors.
            return try note.updateChanges(db) {
                if let title { $0.title = title }
                if let body { $0.body = body }
            } || true
        }
        if !found { throw NoSuchNote(id: id) }
    }
}

/// Runs `notes rm`.
struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "rm", abstract: "Remove a note.")

    @Argument(help: "The note's identifier.")
    var id: String

    @OptionGroup var notebook: Notebook

    func run() async throws {
        if try await !notebook.saving({ [id] db in try Note.deleteOne(db, key: id) }) { throw NoSuchNote(id: id) }
    }
}

/// Runs `notes import`.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Add the rows of a CSV file, in one save.",
        discussion: "The first line names the columns: title, and optionally id, body, created. A row with an existing id replaces that note."
    )

    @Argument(help: "The file.", completion: .file(extensions: ["csv"]))
    var file: String

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let notes = try read()
        try await notebook.saving { db in
            for note in notes { try note.upsert(db) }
        }
        print("Imported \(notes.count) notes.")
    }

    private func read() throws -> [Note] {
        let rows: [[String: String]]
        do {
            rows = try CSV<Named>(url: URL(filePath: file)).rows
        } catch {
            throw UnreadableFile(path: file, reason: (error as NSError).localizedDescription)
        }
        return try rows.enumerated().map { index, row in
            guard let title = row["title"] else { throw UnreadableFile(path: file, reason: "row \(index + 1) has no “title”") }
            return Note(
                id: row["id"].flatMap { $0.isEmpty ? nil : $0 } ?? newIdentifier(), title: title, body: row["body"].flatMap { $0.isEmpty ? nil : $0 },
                created: row["created"].flatMap { $0.isEmpty ? nil : $0 } ?? timestamp())
        }
    }
}

/// Runs `notes seed`.
struct SeedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "seed",
        abstract: "Fill the notebook from a database, once for all devices of the account.",
        discussion: "The database must have the table “note”, like a plain copy of a notebook.")

    @Argument(help: "The database.", completion: .file(extensions: ["sqlite"]))
    var file: String

    @Option(help: "The seed's name: records seeded under this name are not seeded again.")
    var token: String

    @Flag(help: "Remove the file once its notes are in the notebook.")
    var remove = false

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        let obstacle = await store.reachAccount()
        let seeding = try await store.seed(from: SeedFile(FilePath(file), isRemovedAfterwards: remove), token: token)
        await store.publish(after: obstacle)
        try await store.close()
        print(seeding.wasComplete ? "“\(token)” has been seeded before." : "Seeded \(seeding.seeded) notes, passed over \(seeding.skipped).")
    }
}

/// Runs `notes clear`.
struct ClearCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear",
        abstract: "Remove every note, on all devices of the account.",
        discussion: "A device sets aside its unsent changes: see ubcontrol kept."
    )

    @Flag(help: "Confirm the removal of everything.")
    var yes = false

    @OptionGroup var notebook: Notebook

    func validate() throws {
        if !yes { throw ValidationError("This removes every note on all devices: add --yes.") }
    }

    func run() async throws {
        let store = try await notebook.openAccount()
        let removal = try await store.removeUbiquitousContent(.removeEverythingOnAllDevices(contentName: Notebook.contentName))
        // This removes unneeded files from the container, because the program may not run again for long. If it fails,
        // everything is removed anyway.
        try? await store.settled()
        try await store.close()
        print(
            "Removed every note.\(removal.kept.map { " \($0.changes) changes that no device had read are kept: ubcontrol kept show \($0.id)" } ?? "")"
        )
    }
}

/// An error for an identifier that names no note on this device.
struct NoSuchNote: Error, CustomStringConvertible {
    var id: String
    var description: String { "No note has the identifier “\(id)”; list them with: notes list" }
}

/// An error for an unusable file of the user.
struct UnreadableFile: Error, CustomStringConvertible {
    var path: String
    var reason: String
    var description: String { "\(path) cannot be imported: \(reason)" }
}
