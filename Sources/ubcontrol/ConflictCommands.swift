import ArgumentParser
import Foundation
import Rainbow
import SystemPackage
import ToolSupport
import UbiquityContainers

/// Groups the commands about versions of documents in conflict.
struct ConflictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflict",
        abstract: "List, compare and resolve versions of documents in conflict.",
        discussion: """
            If two devices change a document at once, one content gets its name, and the other one lies beside it as a version in conflict. A version \
            has a number among all that --all lists, 1 for the newest, and an id. A number may change when versions appear or go; an id does not.

            For conflicting values of records, see `ubcontrol store conflicts`.
            """,
        subcommands: [ConflictListCommand.self, ConflictShowCommand.self, ConflictResolveCommand.self],
        defaultSubcommand: ConflictListCommand.self
    )
}

/// Runs `ubcontrol conflict list`.
struct ConflictListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the documents with unresolved versions in conflict.",
        discussion: """
            Prints the path of each document, and below it a line for each version: its number, time, size, device and id. A package counts as one \
            document. Links are not followed. Hidden files, directories named .nosync, CoreData and .ubiquity are skipped. The command opens no \
            document.

            Exit status 0, also if there are none; 1 if a directory cannot be listed, with the reason; 64 if a path is in no container; 3 if the \
            container is gone.

                ubcontrol conflict list
                ubcontrol conflict list --container CONTAINER --all --json
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Documents, or directories with documents.", discussion: "By default each container of the signed-in account.", valueName: "path"),
        completion: .file())
    var paths: [String] = []

    @Option(
        help: ArgumentHelp("The container to look in.", valueName: "identifier"),
        completion: .custom { words, _, _ in
            HomeOptions.home(in: words).map { ((try? KnownContainer.list(in: $0)) ?? []).map(\.identifier.description) } ?? []
        })
    var container: String?

    @Flag(help: "Also list the versions that are resolved, and those that an app has kept on this device.")
    var all = false

    @OptionGroup var home: HomeOptions

    @Flag(
        help: """
            Print a JSON object a line for each document: path, container, isHere, versions (number, id, state, which is unresolved, resolved or \
            kept, date, size, device, path).
            """)
    var json = false

    func run() async throws {
        let scope = try ConflictScope(home.deviceHome, only: container)
        var walk = ConflictWalk(includesSettled: all)
        try TerminalProgress.showing { progress in
            var count = 0
            for (container, root) in try scope.roots(paths) {
                walk.look(below: root, in: container) {
                    count += 1
                    progress.show(count, "directory")
                }
            }
        }
        var isEmpty = true
        for item in walk.items.sorted(by: { $0.path.string < $1.path.string }) {
            let versions = try await item.versions().filter { all || $0.state == .unresolved }
            if versions.isEmpty { continue }
            isEmpty = false
            if json {
                try printJSON(
                    Line(path: item.path.string, container: item.container.identifier.description, isHere: item.isHere, versions: versions))
            } else {
                print("\(item.path.string.printable.bold)\(item.isHere ? "" : "  (not on this device)")")
                for version in versions { print("  \(version.line)") }
            }
        }
        if isEmpty, !json { print(all ? "No document has other versions." : "No document has unresolved versions in conflict.") }
        for (directory, error) in walk.failures {
            printError("Error: \(directory) cannot be listed (\(error)); check its owner and mode.".printable)
        }
        if !walk.failures.isEmpty { throw ToolExit.failure }
    }

    private struct Line: Encodable {
        var path: String
        var container: String
        var isHere: Bool
        var versions: [ConflictVersion]
    }
}
