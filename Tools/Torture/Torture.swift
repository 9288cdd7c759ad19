import ArgumentParser

/// Runs stress tests, and checks the invariants.
@main
struct Torture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "torture", abstract: "Run stress tests for a while, and check the invariants.",
        subcommands: [CoordinationTorture.self, Participant.self, WorkerCommand.self, Claimer.self])
}
