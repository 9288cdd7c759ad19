import ArgumentParser
import Foundation
import StoreInspection
import SystemPackage
import ToolSupport
import UbiquityContainers
import UbiquityStores

/// Runs `ubcontrol store list`.
struct StoreListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the files of a store: one for each account, and those of this device.",
        discussion: """
            Prints one line for each file: its purpose, its account, its records, its unsent data, and its path. The command writes nothing. Exit \
            status 0, also if there are none, and 1 if a file cannot be read or a store of this device is gone: it is named, and the others are \
            listed.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "The path that the app gave its store, or a directory with stores.",
            discussion: "By default all that this device's apps have opened.",
            valueName: "path"),
        completion: .file())
    var path: String?

    @OptionGroup var home: HomeOptions

    @Flag(
        help: """
            Print a JSON object a line: file, and either fault or place, account, container, content, peer, epoch, bytes, records, unpublished, \
            isNoted, isGathered, isPaused, isAttached, request, quarantined, held, conflicts, undeclared.
            """)
    var json = false

    func run() async throws {
        var isWhole = true
        func say(_ fault: String, of file: FilePath) throws {
            isWhole = false
            if json { try printJSON(Fault(file: file.string, fault: fault)) } else { print("\(file): \(fault)".printable) }
        }
        for store in try stores() {
            let files = InspectedStore.files(at: store)
            if files.isEmpty, path == nil { try say("its files are gone", of: store) }
            for file in files {
                do {
                    let summary = try InspectedStore.look(at: file) { try $0.summary() }
                    if json { try printJSON(summary) } else { print(line(summary).printable) }
                } catch {
                    try say("\(error)", of: file)
                }
            }
        }
        if !isWhole { throw ExitCode(1) }
    }

    /// Returns the named stores, or the known stores, each once.
    private func stores() throws -> [FilePath] {
        if let path { return [FilePath(path)] }
        let paths = try home.deviceHome.knownStores.map(\.path)
        return paths.indices.filter { $0 == 0 || paths[$0] != paths[$0 - 1] }.map { FilePath(paths[$0]) }
    }

    private func line(_ store: StoreSummary) -> String {
        var parts = [
            store.account.isEmpty ? store.place : "\(store.place) of \(store.account)", "\(store.content) in \(store.container)",
            counted(store.records, "record"),
        ]
        if store.unpublished > 0 || store.isNoted { parts.append("not all has gone out") }
        if store.isPaused { parts.append("paused") }
        if let request = store.request { parts.append("to \(request) with the app's next exchange") }
        return "\(parts.joined(separator: "; ")): \(store.file)"
    }

    private struct Fault: Encodable {
        var file: String
        var fault: String
    }
}

/// Runs `ubcontrol store state`.
struct StoreStateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state", abstract: "Show the state of a store file.", discussion: "The command writes nothing, and may run beside the app."
    )

    @OptionGroup var store: StoreArgument

    @Flag(
        help: """
            Print a JSON object: file, place, account, container, content, peer, epoch, bytes, records, unpublished (logs that have not gone out), \
            isNoted (saves that are in no log yet), isGathered (the account's content has been read once), isPaused, isAttached, request (the app's \
            task for its next exchange), quarantined, held, conflicts, undeclared (tables that the app declares neither as synced nor as local).
            """)
    var json = false

    func run() async throws {
        let summary = try store.look { try $0.summary() }
        if json { return try printJSON(summary) }
        let lines = [
            ("file", summary.file), ("place", summary.place), ("account", summary.account.isEmpty ? "none" : summary.account),
            ("container", summary.container), ("content", summary.content), ("peer", summary.peer), ("epoch", "\(summary.epoch)"),
            ("bytes", "\(summary.bytes)"), ("records", "\(summary.records)"), ("logs to go out", "\(summary.unpublished)"),
            ("writes in no log yet", summary.isNoted ? "yes" : "no"), ("gathered", summary.isGathered ? "yes" : "no"),
            ("paused", summary.isPaused ? "yes" : "no"), ("asked for", summary.request ?? "nothing"), ("quarantined files", "\(summary.quarantined)"),
            ("held records", "\(summary.held)"), ("conflicts", "\(summary.conflicts)"),
            ("undeclared tables", summary.undeclared.isEmpty ? "none" : summary.undeclared.joined(separator: ", ")),
        ]
        for (name, value) in lines { print("\(name): \(value)".printable) }
    }
}
