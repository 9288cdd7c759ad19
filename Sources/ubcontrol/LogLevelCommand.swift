import ArgumentParser
import FileCoordination
import ToolSupport

/// Runs `ubcontrol log-level`.
struct LogLevelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or set how much the broker, and the programs that are connected to it, log.",
        discussion: """
            By syslog(3)'s numbers: 0 to 2 nothing but what ends the broker, 3 errors, 4 warnings, which is the level unless it is set, 5 when it begins and \
            ends, 6 who comes and goes, 7 each message. The broker writes to broker.log in its directory, $XDG_RUNTIME_DIR/ubiquity, or to standard error \
            where systemd or a person has started it.

            Programs that coordinate files log more with it: at 5 as with UBIQUITY_LOG_LEVEL=1, at 6 as with 2, at 7 as with 3; never less than they want \
            themselves. It lasts until the system is started anew, for later brokers too. No agents run beside the broker: what an app does, it does itself.

                ubcontrol log-level 7
                ubcontrol log-level

            Exit status 0, 64 for another number, 69 when the broker does not answer.
            """)

    @Argument(
        help: ArgumentHelp("From 0 to 7; none only shows it.", valueName: "level"), completion: .list((BrokerLog.levels).map(String.init)))
    var level: Int?

    @Flag(help: "Print a JSON object: level, isRunning.")
    var json = false

    func validate() throws {
        if let level, !BrokerLog.levels.contains(level) { throw ValidationError("\(level) is no level: give a number from 0 to 7.") }
    }

    func run() throws {
        let (present, isRunning) = try reachingBroker { try BrokerControl().logLevel(level) }
        if json { return try printJSON(Report(level: present, isRunning: isRunning)) }
        print("\(present)\(isRunning ? "" : "; no broker runs, the next one begins with it")")
    }

    private struct Report: Encodable {
        var level: Int
        var isRunning: Bool
    }
}
