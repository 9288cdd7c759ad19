import ArgumentParser
import ToolSupport

/// Runs `ubcontrol setup`.
struct SetupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Connect this device with the user's other devices.",
        discussion: """
            With Syncthing, run `ubcontrol setup syncthing` on one device, and on the other one `ubcontrol setup join` with the code that the first \
            one shows. With a disk that all devices mount, run `ubcontrol setup shared` on each of them; with a cloud, `ubcontrol setup cloud`. Each step says what it did, and the command \
            that undoes it. A command that was interrupted goes on where it was when it is run again.
            """,
        subcommands: [
            SetupSyncthingCommand.self, SetupJoinCommand.self, SetupSharedCommand.self, SetupCloudCommand.self,
            SetupStatusCommand.self, SetupUndoCommand.self,
        ]
    )
}
