import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import TreeWatching

/// Runs `ubwatch wait`.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until this device's stores hold all data of a container, or until the container is quiet.",
        discussion: """
            current    the stores of this device hold every log that any log, receipt or baseline in the container names, even if that log itself \
            has not arrived, and they have nothing to publish
            imported   the stores of this device hold everything that is in the container now
            quiet      nothing has changed in the container for a while

            The command cannot know about changes that other devices have not sent and that no file here names. The app or the synchroniser does \
            the work; the command waits for changes of files, and writes nothing. The stores are the ones that the device home knows, and those of \
            --store; the command waits for a store of --store that does not exist yet.

            Exit status 0 as soon as the goal is reached; 4 if it was not reached in time, with the missing parts on standard error; 3 if the \
            container is gone; 1 if it cannot be read, or no store of this device is known; 64 for wrong usage, or if it is not a container.

            EXAMPLES
            ubwatch wait --until current --timeout 60 ~/Sync/alice/org.example.notes && notes list
            ubwatch wait --until imported --store ~/Notes.sqlite ~/Sync/alice/org.example.notes
            ubwatch wait --until quiet --quiet-for 10s --timeout 5m ~/Sync/alice/org.example.notes
            """
    )

    @OptionGroup var arguments: WatchArguments

    @Option(help: ArgumentHelp("The goal: current, imported or quiet.", valueName: "goal"))
    var until: WaitGoal

    @Option(help: ArgumentHelp("The longest wait, in seconds or such as 500ms, 5m; by default without limit.", valueName: "duration"))
    var timeout: DurationArgument?

    @Option(help: ArgumentHelp("With --until quiet: the time without changes.", valueName: "duration"))
    var quietFor = DurationArgument(argument: "5s")!

    @Flag(help: "Print a JSON object at the end: goal, outcome (reached, timedOut, gone or hopeless), path, seconds, reasons.")
    var json = false

    /// The output of `--json`.
    private struct Output: Encodable {
        var goal: WaitGoal
        var outcome: String
        var path: String
        var seconds: Double
        var reasons: [String]
    }

    func run() async throws {
        let reader = arguments.reader(items: nil, troubles: 0)
        let begun = ContinuousClock.now
        let outcome: Waiter.Outcome
        do {
            let deadline = timeout.map { begun + $0.value }
            let waiter = Waiter(
                goal: until, reader: reader, pause: quietFor.value, deadline: deadline, showsIdentifiers: json || arguments.verbose)
            outcome = try await waiter.run()
        } catch let error as TreeWatchingError {
            throw Refusal(error.message.printable, status: ToolExit.failure)
        }
        let (word, reasons, exit): (String, [String], ExitCode?) =
            switch outcome {
            case .reached: ("reached", [], nil)
            case .timedOut(let reasons): ("timedOut", reasons, ToolExit.timedOut)
            case .gone(let words): ("gone", [words], ToolExit.gone)
            case .hopeless(let words): ("hopeless", [words], ToolExit.failure)
            }
        if json {
            let seconds = begun.duration(to: .now) / .seconds(1)
            print(try jsonLine(Output(goal: until, outcome: word, path: reader.path.string, seconds: seconds, reasons: reasons)))
        } else {
            if outcome == .reached { print(until.rawValue) }
            if case .timedOut = outcome { printError("Not \(until.rawValue) in time:") }
            for reason in reasons { printError("\(exit == ToolExit.timedOut ? "  " : "")\(reason.printable)") }
        }
        if let exit { throw exit }
    }
}
