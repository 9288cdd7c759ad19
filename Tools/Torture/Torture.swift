import ArgumentParser

/// Does its worst, and checks that what must hold has held.
@main
struct Torture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture", abstract: "Do the worst for a while, and check that what must hold has held.",
        subcommands: [CoordinationTorture.self, Participant.self, WorkerCommand.self, Claimer.self])
}
