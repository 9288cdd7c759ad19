import ArgumentParser
import FileCoordination
import ToolSupport

/// Runs `ubcontrol log-level`.
struct LogLevelCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-level",
        abstract: "Show or set how much the broker, and the programs that are connected to it, log.",
        discussion: """
            Levels by syslog(3)'s numbers: 0 to 2 only errors that end the broker, 3 errors, 4 warnings, which is the default, 5 its start and end, \
            6 clients that come and go, 7 each message. The broker writes to broker.log in its directory, $XDG_RUNTIME_DIR/ubiquity, or to standard \
            error if systemd or a person has started it.

            Programs that coordinate files log more with it: at 5 as with UBIQUITY_LOG_LEVEL=1, at 6 as with 2, at 7 as with 3; never less than \
            their own settings. The level lasts until the system restarts, also for later brokers. There are no agents beside the broker: each app \
            does its own work.

                ubcontrol log-level 7
                ubcontrol log-level

            Exit status 0, 64 for another number, 69 when the broker does not answer.
            """)

    @Argument(
        help: ArgumentHelp("From 0 to 7; without it, the command shows the level.", valueName: "level"),
        completion: .list((BrokerLog.levels).map(String.init)))
    var level: Int?

    @Flag(help: "Print a JSON object: level, isRunning.")
    var json = false

    func validate() throws {
        if let level, !BrokerLog.levels.contains(level) { throw ValidationError("\(level) is not a level: give a number from 0 to 7.") }
    }

    func run() throws {
        let (present, isRunning) = try reachingBroker { try BrokerControl().logLevel(level) }
        if json { return try printJSON(Report(level: present, isRunning: isRunning)) }
        print("\(present)\(isRunning ? "" : "; no broker runs, the next one starts with it")")
    }

    private struct Report: Encodable {
        var level: Int
        var isRunning: Bool
    }
}
