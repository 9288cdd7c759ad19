import ArgumentParser

/// `ubwatch events`: one line a change.
struct EventsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "events", abstract: "Print every change below a directory, one line each.")
}
