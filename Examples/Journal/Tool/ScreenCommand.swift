import ArgumentParser
import JournalModel
import UnixSignals

/// Runs `journal` without a subcommand.
struct ScreenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "screen", abstract: "Show the journal on the terminal, with each change as it arrives, until q or ctrl-C.",
        discussion: "The keys are listed by journal --help, and on the screen by ?.")

    @OptionGroup var place: Place

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup, .sigwinch)
        let journal = try await place.open()
        guard let terminal = FullScreen() else {
            try await journal.close()
            throw Failure("The screen needs a terminal; without one use a subcommand, such as: journal list")
        }
        await ScreenProgram(journal, terminal).run(signals)
        terminal.restore()
        try await journal.close()
    }
}
