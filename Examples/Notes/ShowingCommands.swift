import ArgumentParser
import Foundation
import GRDB
import Ubiquity
import UnixSignals

/// Runs `notes list`.
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the notes on this device.",
        discussion: "Changes of other devices are imported first, unless --offline is given."
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

/// Runs `notes run`.
struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Exchange notes with the other devices until interrupted.",
        discussion: "Prints “ready”, then a line for each import: how many notes were inserted, updated and deleted."
    )

    @Flag(help: "Print a JSON object a line.")
    var json = false

    @OptionGroup var notebook: Notebook

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
        let store = try await notebook.open(exchangesAutomatically: true)
        let notices = store.notices
        let printing = Task { [json] in
            for await notice in notices { Line(notice).print(json: json) }
        }
        Line(event: "ready").print(json: json)
        for await _ in signals { break }
        printing.cancel()
        try await store.close()
    }
}

/// One line of the output of `notes run`.
struct Line: Encodable {
    var event: String
    var inserted: Int?
    var updated: Int?
    var deleted: Int?
    var reason: String?

    init(event: String) { self.event = event }

    init(_ notice: StoreNotice) {
        switch notice {
        case .didImport(let changes):
            event = "imported"
            inserted = changes.inserted.count
            updated = changes.updated.count
            deleted = changes.deleted.count
        case .didSuspend(let missing):
            event = "suspended"
            reason = ContainerAttachment.detached(missing).description
        case .didResume: event = "resumed"
        case .didFill(let tables):
            event = "filled"
            reason = tables.sorted().joined(separator: ", ")
        case .didRollBaseline(let number):
            event = "rolled"
            reason = "baseline \(number)"
        case .didChangeInAnotherProcess(let changes):
            event = "changed"
            // Another process may have changed thousands of records.
            reason = changes.map { "\(Set($0.changes.compactMap(\.record)).count) notes by another process of this device" }
        case .didTakeNewIdentifier(let peer):
            event = "renewed"
            reason = "this store continues as \(peer), because another copy of it is in use"
        case .didAdopt(let count, let total, let isDone):
            event = isDone ? "adopted" : "adopting"
            reason = "\(count) of \(total) records that were here before"
        case .didRemoveContent(let removal):
            event = "removed"
            reason = "the notebook was removed on all devices; \(removal.kept?.changes ?? 0) changes that no device had read are set aside"
        case .willChange, .didChange, .didSetAside, .didChangeRights, .didRejectSaves:
            // These events cannot occur, because this store stays with one account in its own container.
            event = "moved"
        case .didQuarantine(let log):
            event = "quarantined"
            reason = "\(log.peer)/\(log.file): \(log.reason)"
        case .didFindConflicts(let count):
            event = "conflicts"
            reason = "\(count) of the values written apart lost to others"
        case .didBreakChecks(let broken):
            event = "broken"
            reason = broken.map { "\($0.record): \($0.reason)" }.joined(separator: "; ")
        }
    }

    /// Prints the line at once, also into a pipe.
    func print(json: Bool) {
        var text: String
        if json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            text = String(decoding: (try? encoder.encode(self)) ?? Data(), as: UTF8.self)
        } else {
            text = event
            if let inserted, let updated, let deleted { text += " \(inserted) inserted, \(updated) updated, \(deleted) deleted" }
            if let reason { text += ": \(reason)" }
        }
        FileHandle.standardOutput.write(Data((text + "\n").utf8))
    }
}
