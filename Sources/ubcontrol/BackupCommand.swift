import ArgumentParser
import SystemPackage
import ToolSupport
import UbiquityStores

/// Runs `ubcontrol store backup`.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store's SQLite file, with all that is in it.",
        discussion: """
            It may run beside the app: the copy is of one moment, looked through, and put in its place only then. It is one file, which is put back by \
            ending the app, removing the store's file and those beside it that end in -wal and -shm, and copying the backup to the file's place. \
            Where the store has published anything since the backup, it takes a new identifier when it is opened; nothing that was published is lost. \
            Where the command is ended early, a file beside FILE with -draft- in its name may be deleted. \
            Exit status 0 where the backup is there, 1 where it is not.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("Where to; nothing may be there.", valueName: "file"), completion: .file())
    var target: String

    @Flag(help: "Print a JSON object: bytes.")
    var json = false

    func run() async throws {
        let backup = try TerminalProgress.showing { progress in
            try store.open(readOnly: true).backup(to: FilePath(target)) { progress.show(part: $0) }
        }
        if json { try printJSON(backup) } else { print("Wrote \(target): \(counted(Int(backup.bytes), "byte")).") }
    }
}
