import ArgumentParser
import Foundation
import SystemPackage
import ToolSupport
import TreeWatching

/// Runs `ubwatch wait`.
struct WaitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until this device's stores hold what a container has, or until it is quiet.",
        discussion: """
            current    the stores of this device hold every log that any log, receipt or baseline in the container names, also where that log itself \
            has not arrived, and nothing of theirs waits to go out
            imported   what lies in the container now is in the stores of this device
            quiet      nothing has changed in the container for a while

            What other devices have not sent, or what nothing here names, nobody here can know of. Somebody else has to do the work: the app, or the \
            synchroniser; this waits for it, woken by changes of files, and writes nothing. The stores are those that the device home knows, and \
            those of --store; one of these that is not there yet is waited for.

            Exit status 0 as soon as it is so; 4 where it was not so in time, with what is waited for on standard error; 3 where the container is \
            gone; 1 where it cannot be read, or no store of this device is known; 64 for wrong usage, or where it is no container.

            EXAMPLES
            ubwatch wait --until current --timeout 60 ~/Sync/alice/org.example.notes && notes list
            ubwatch wait --until imported --store ~/Notes.sqlite ~/Sync/alice/org.example.notes
            ubwatch wait --until quiet --quiet-for 10s --timeout 5m ~/Sync/alice/org.example.notes
            """
    )

    @OptionGroup var arguments: WatchArguments

    @Option(help: ArgumentHelp("What to wait for: current, imported or quiet.", valueName: "goal"))
    var until: WaitGoal

    @Option(help: ArgumentHelp("How long to wait at most, in seconds or such as 500ms, 5m; without it, for ever.", valueName: "duration"))
    var timeout: EventsDuration?

    @Option(help: ArgumentHelp("With --until quiet: how long nothing may have changed.", valueName: "duration"))
    var quietFor = EventsDuration(argument: "5s")!

    @Flag(help: "Print a JSON object at the end: goal, outcome (reached, timedOut, gone or hopeless), path, seconds, reasons.")
    var json = false

    /// What `--json` prints.
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
            outcome = try await Waiter(goal: until, reader: reader, pause: quietFor.value, deadline: timeout.map { begun + $0.value }).run()
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
