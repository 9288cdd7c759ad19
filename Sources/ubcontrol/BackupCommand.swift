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
            The command may run beside the app: the copy shows one moment, is checked, and only then gets its name. It is one file. To put it back, \
            end the app, remove the store's file and the files beside it that end in -wal and -shm, and copy the backup to the file's place. If the \
            store has published anything since the backup, it takes a new identifier when it is opened; no published data is lost. If the command \
            is interrupted, you may delete the file beside FILE with -draft- in its name. Exit status 0 if the backup was written, otherwise 1.
            """
    )

    @OptionGroup var store: StoreArgument

    @Argument(help: ArgumentHelp("The path of the backup, which must not exist.", valueName: "file"), completion: .file())
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
