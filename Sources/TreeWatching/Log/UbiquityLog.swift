package import Logging

/// Controls this package's log.
///
/// Each line is one message and begins with `Ubiquity:`. It goes to the handler that the app has passed to swift-log's
/// `LoggingSystem.bootstrap`, and otherwise to standard error. No line contains data of records unless
/// ``showsContents`` allows it.
///
/// The environment, a launch argument and the app can set the level; the last of these that is set has precedence:
///
/// ```
/// UBIQUITY_LOG_LEVEL=2 myapp
/// myapp -UbiquityLogLevel 2
/// ```
/// ```swift
/// UbiquityLog.level = 2
/// ```
public enum UbiquityLog {
    /// The level of the log.
    public enum Level: Int, Sendable, CaseIterable, Comparable, ExpressibleByIntegerLiteral {
        /// 0: failures, and conditions that may cause failures.
        case faults = 0
        /// 1: also each change of a store's file, of accounts and of containers, and each suspension, quarantine or
        /// removal.
        case transitions = 1
        /// 2: also each exchange: its published, imported, rewritten and trimmed data, with size and duration.
        case exchanges = 2
        /// 3: also each file that is used or skipped, with the reason; each coordinated access; each batch of detected
        /// changes.
        case everything = 3

        /// Makes a level from its number; a number outside the range gives the nearest level.
        public init(integerLiteral number: Int) { self.init(clamping: number) }

        /// Makes a level from any number; a number outside the range gives the nearest level.
        public init(clamping number: Int) { self = Level(rawValue: min(max(number, 0), 3))! }

        /// Returns whether a level writes less than another.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    /// The level of the log, which any thread may change.
    ///
    /// `ubcontrol log-level` can raise the level of every process that coordinates files; it never lowers it.
    public static var level: Level {
        get { LogState.shared.own }
        set { LogState.shared.own = newValue }
    }

    /// Whether the log may contain keys and values of records; only this property, or `UBIQUITY_LOG_CONTENTS=1` in the
    /// environment, allows it.
    public static var showsContents: Bool {
        get { LogState.shared.showsContents }
        set { LogState.shared.showsContents = newValue }
    }

    /// Whether to log the SQL statements of stores opened from now on, at any level; `UBIQUITY_SQL_DEBUG=1` in the
    /// environment has this effect too.
    ///
    /// The statements are logged without bound values, and with `?` in place of literals, unless ``showsContents`` is
    /// true.
    public static var tracesSQL: Bool {
        get { LogState.shared.tracesSQL }
        set { LogState.shared.tracesSQL = newValue }
    }

    /// Returns the app's arguments: all except this package's own.
    ///
    /// An app that rejects unknown arguments, such as one with swift-argument-parser, parses these:
    ///
    /// ```swift
    /// @main struct MyApp: AsyncParsableCommand {
    ///     static func main() async { await main(UbiquityLog.appArguments()) }
    /// ```
    ///
    /// - Parameter arguments: the arguments of the command line, after the program's name; by default those of the
    ///   process.
    /// - Returns: the arguments without `-UbiquityLogLevel` and its value; arguments after `--` are unchanged.
    public static func appArguments(_ arguments: [String] = Array(CommandLine.arguments.dropFirst())) -> [String] {
        LogSettings.split(arguments).others
    }

    /// Makes a log that writes to a handler.
    ///
    /// - Parameters:
    ///   - handler: receives each line.
    ///   - state: supplies the level.
    /// - Returns: the log.
    package static func logger(writingTo handler: any LogHandler, _ state: LogState = .shared) -> Logger {
        Logger(label: label) { _ in UbiquityLogHandler(state: state, destination: .handler(handler)) }
    }

    /// Makes a log that passes whole lines, formatted as on standard error, to a closure.
    package static func logger(writingLinesTo write: @escaping @Sendable (String) -> Void, _ state: LogState = .shared) -> Logger {
        Logger(label: label) { _ in UbiquityLogHandler(state: state, destination: .lines(write)) }
    }

    /// Writes a line at any level.
    package static func write(_ text: String) {
        let event = LogEvent(level: .debug, message: "\(text)", metadata: nil, source: nil, file: #fileID, function: #function, line: #line)
        Logger.ubiquity.handler.log(event: event)
    }

    static let label = "Ubiquity"
}

extension Logger {
    /// The log of this package; see ``UbiquityLog``.
    package static let ubiquity = Logger(label: UbiquityLog.label) { _ in UbiquityLogHandler(state: .shared, destination: .app) }
}
