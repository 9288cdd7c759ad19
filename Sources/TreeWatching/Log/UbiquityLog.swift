package import Logging

/// What this package writes to the log, and how much of it.
///
/// Each line is one message and begins with `Ubiquity:`. It goes to what the app has given to swift-log's `LoggingSystem.bootstrap`, and else to standard error. What
/// records hold is in no line, unless ``showsContents`` says so.
///
/// The environment, a launch argument and the app say how much is written; the last of these that says anything counts:
///
/// ```
/// UBIQUITY_LOG_LEVEL=2 myapp
/// myapp -UbiquityLogLevel 2
/// ```
/// ```swift
/// UbiquityLog.level = 2
/// ```
public enum UbiquityLog {
    /// How much is written.
    public enum Level: Int, Sendable, CaseIterable, Comparable, ExpressibleByIntegerLiteral {
        /// 0: what keeps something from working, or may one day.
        case faults = 0
        /// 1: also each change of a store's file, of accounts and containers, and what is suspended, set aside or removed.
        case transitions = 1
        /// 2: also each exchange: what has gone out, come in, been written down anew or trimmed, how much, and how long that took.
        case exchanges = 2
        /// 3: also each file that is taken or passed over, and why; each coordinated access; each batch of changes that is noticed.
        case everything = 3

        /// A level by its number; a greater one is the greatest, a negative one the least.
        public init(integerLiteral number: Int) { self.init(clamping: number) }

        /// The same for a number that comes from elsewhere.
        public init(clamping number: Int) { self = Level(rawValue: min(max(number, 0), 3))! }

        /// Whether a level writes less than another.
        public static func < (one: Level, other: Level) -> Bool { one.rawValue < other.rawValue }
    }

    /// How much is written, from now on, by whichever thread.
    ///
    /// `ubcontrol log-level` may ask for more of every process that coordinates files; it takes nothing away.
    public static var level: Level {
        get { LogState.shared.own }
        set { LogState.shared.own = newValue }
    }

    /// Whether keys and values of records may be written; so only if this says so, or `UBIQUITY_LOG_CONTENTS=1` in the environment.
    public static var showsContents: Bool {
        get { LogState.shared.showsContents }
        set { LogState.shared.showsContents = newValue }
    }

    /// Whether the SQL statements that run are written, of the stores that are opened from then on, whatever the level is; `UBIQUITY_SQL_DEBUG=1` in the environment says so too.
    ///
    /// They are written without what is bound to them, and with `?` in the place of literals, unless ``showsContents`` says otherwise.
    public static var tracesSQL: Bool {
        get { LogState.shared.tracesSQL }
        set { LogState.shared.tracesSQL = newValue }
    }

    /// The arguments that are the app's: all but this package's own.
    ///
    /// An app that refuses what it does not know, such as one on swift-argument-parser, parses these:
    ///
    /// ```swift
    /// @main struct MyApp: AsyncParsableCommand {
    ///     static func main() async { await main(UbiquityLog.appArguments()) }
    /// ```
    ///
    /// - Parameter arguments: those of the command line, behind the program's name, unless given.
    /// - Returns: the arguments without `-UbiquityLogLevel` and its value; what stands behind `--` is left as it is.
    public static func appArguments(_ arguments: [String] = Array(CommandLine.arguments.dropFirst())) -> [String] {
        LogSettings.split(arguments).others
    }

    /// A log that writes where somebody says.
    ///
    /// - Parameters:
    ///   - handler: gets each line.
    ///   - state: says how much is written.
    /// - Returns: the log.
    package static func logger(writingTo handler: any LogHandler, _ state: LogState = .shared) -> Logger {
        Logger(label: label) { _ in UbiquityLogHandler(state: state, destination: .handler(handler)) }
    }

    /// The same where somebody takes whole lines, which are those of standard error.
    package static func logger(writingLinesTo write: @escaping @Sendable (String) -> Void, _ state: LogState = .shared) -> Logger {
        Logger(label: label) { _ in UbiquityLogHandler(state: state, destination: .lines(write)) }
    }

    /// Writes a line, whatever the level is.
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
