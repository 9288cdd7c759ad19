import ArgumentParser
import Foundation
import GRDB
import Ubiquity

/// Runs `notes list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the notes on this device.",
        discussion: """
            Changes of other devices are imported first, unless --offline is given. While nobody is signed in, these are the notes of this device.
            """
    )

    @Flag(help: "Print a JSON array of notes.")
    var json = false

    @Flag(help: "Do not read the container.")
    var offline = false

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        if !offline {
            do {
                try await store.settled()
                if case .fallback(let account)? = await store.place { warn("\(Unread(account)) Here are the notes saved on this device since then.") }
            } catch let error as UbiquitousStoreError where [.suspended, .paused, .fileSystem].contains(error.code) {
                warn("\(error)")
            }
        }
        let notes = try await store.read { db in try Note.order(Column("id")).fetchAll(db) }
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
            print(String(decoding: try encoder.encode(notes), as: UTF8.self))
        } else {
            for note in notes { print(printable("\(note.id)  \(note.title)\(note.body.map { ": \($0)" } ?? "")")) }
        }
        try await store.close()
    }
}

/// Runs `notes status`.
struct StatusCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "status", abstract: "Show the state of this device's store.")

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let store = try await notebook.open()
        // The status knows the waiting changes only after an exchange; a container that is gone is reported below.
        try? await store.settled()
        let status = try await store.status()
        let notes = try await store.read { db in try Note.fetchCount(db) }
        print("\(status.peer), epoch \(status.epoch): notes: \(notes), logs not published: \(status.unpublished)")
        print("place: \(NotebookPlace(await store.place).text)")
        if let text = status.delivery?.text { print(text) }
        if let obstacle = status.delivery?.obstacle { print(obstacle) }
        if let reason = status.suspended { print("suspended: \(ContainerAttachment.detached(reason))") }
        if status.isPaused { print("paused") }
        if let failure = status.failure { print("failed: \(failure)") }
        for peer in status.waiting { print("waiting: log \(peer.sequence) of \(peer.peer): \(peer.reason)") }
        for log in status.quarantined { print("unusable: \(log.peer)/\(log.file): \(log.reason)") }
        try await store.close()
    }
}
