import Logging
import Synchronization
import Testing

@testable import TreeWatching

/// What is logged, how much of it, and how its lines look.
struct LogTests {
    /// Keeps what it gets.
    private final class Lines: LogHandler {
        let lines = Mutex<[String]>([])
        var metadata: Logger.Metadata {
            get { [:] }
            set {}
        }
        // An app's backend at its default; how much is written is not its to say.
        var logLevel: Logger.Level {
            get { .error }
            set {}
        }
        subscript(metadataKey _: String) -> Logger.Metadata.Value? {
            get { nil }
            set {}
        }
        func log(event: LogEvent) { lines.withLock { $0.append("\(event.level) \(event.message)") } }
        func take() -> [String] {
            lines.withLock { lines in
                defer { lines = [] }
                return lines
            }
        }
    }

    private static func settings(_ environment: [String: String] = [:], _ arguments: String...) -> LogSettings {
        LogSettings(environment: environment, arguments: arguments)
    }

    private static func writeOne(ofEach logger: Logger) {
        logger.warning("0")
        logger.info("1")
        logger.debug("2")
        logger.trace("3")
    }

    @Test("S-124: the environment sets the level, a launch argument passes over it, and neither is asked for more than 3")
    func sources() {
        #expect(Self.settings().level == 0)
        #expect(Self.settings(["UBIQUITY_LOG_LEVEL": "2"]).level == 2)
        #expect(Self.settings(["UBIQUITY_LOG_LEVEL": "2"], "-UbiquityLogLevel", "3").level == 3)
        #expect(Self.settings(["UBIQUITY_LOG_LEVEL": "9"]).level == 3 && Self.settings(["UBIQUITY_LOG_LEVEL": "-1"]).level == 0)
        #expect(Self.settings(["UBIQUITY_LOG_LEVEL": "1"], "--", "-UbiquityLogLevel", "3").level == 1)
        let unclear = Self.settings(["UBIQUITY_LOG_LEVEL": "loud"], "-UbiquityLogLevel", "2")
        #expect(unclear.level == 2 && unclear.faults == ["UBIQUITY_LOG_LEVEL says “loud”, which is not a level: give a number from 0 to 3."])
    }

    @Test("contents and SQL are written only where the environment asks for them, and 0 does not")
    func switches() {
        for name in ["UBIQUITY_LOG_CONTENTS", "UBIQUITY_SQL_DEBUG"] {
            for (value, isOn) in [("1", true), ("yes", true), ("0", false), ("", false)] {
                let settings = Self.settings([name: value])
                #expect([settings.showsContents, settings.tracesSQL] == [isOn && name.hasSuffix("CONTENTS"), isOn && name.hasSuffix("DEBUG")])
            }
        }
    }

    @Test("an app's own parser gets all arguments but the launch argument and its value")
    func appArguments() {
        #expect(UbiquityLog.appArguments(["add", "-UbiquityLogLevel", "3", "Milk"]) == ["add", "Milk"])
        #expect(UbiquityLog.appArguments(["add", "--", "-UbiquityLogLevel", "3"]) == ["add", "--", "-UbiquityLogLevel", "3"])
        // Without a value it is somebody's mistake, and the app's parser says so.
        #expect(UbiquityLog.appArguments(["add", "-UbiquityLogLevel"]) == ["add", "-UbiquityLogLevel"])
    }

    @Test("S-124: the level changes at run time, for loggers that are in use, and what is above it is not even made up")
    func runTime() {
        let (lines, state) = (Lines(), LogState(Self.settings()))
        let logger = UbiquityLog.logger(writingTo: lines, state)
        for (level, expected) in [(0, 1), (1, 2), (2, 3), (3, 4), (0, 1)] {
            state.own = UbiquityLog.Level(clamping: level)
            Self.writeOne(ofEach: logger)
            #expect(lines.take().count == expected)
        }
        var isMadeUp = false
        func text() -> String {
            isMadeUp = true
            return ""
        }
        logger.info("\(text())")
        #expect(!isMadeUp)
        // The public one is the process's.
        let before = UbiquityLog.level
        UbiquityLog.level = 2
        #expect(LogState.shared.threshold == .debug && UbiquityLog.level == .exchanges)
        UbiquityLog.level = before
    }

    @Test("what others ask for adds to what the process wants, and takes nothing away")
    func asked() {
        let state = LogState(Self.settings(["UBIQUITY_LOG_LEVEL": "2"]))
        state.asked = 3
        #expect(state.threshold == .trace && state.own == 2)
        state.asked = 0
        #expect(state.threshold == .debug)
    }

    @Test("S-126: a message that an app's backend gets begins with Ubiquity:, and is one line, whatever stands in it")
    func foreignBackend() {
        let lines = Lines()
        UbiquityLog.logger(writingTo: lines, LogState(Self.settings())).warning("a\nb\r\t\u{1B}[31m\u{2028}c")
        #expect(lines.take() == [#"warning Ubiquity: a\nb\r\t\u{1b}[31m\u{2028}c"#])
    }

    @Test("S-126: a line of our own begins with Ubiquity:, and says when, which process, and how grave it is")
    func ownLines() throws {
        let lines = Mutex<[String]>([])
        let logger = UbiquityLog.logger(writingLinesTo: { line in lines.withLock { $0.append(line) } }, LogState(Self.settings()))
        logger.error("a\nb", metadata: ["key": "c\nd"])
        let line = try #require(lines.withLock { $0.first })
        let form = try Regex(#"^Ubiquity: \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[\d+\] error a\\nb key=c\\nd\n$"#)
        #expect(line.wholeMatch(of: form) != nil, "\(line)")
    }

    @Test("facts reach a backend as metadata, and are not repeated in lines of text, where other metadata is shown")
    func facts() throws {
        let lines = Mutex<[String]>([])
        var logger = UbiquityLog.logger(writingLinesTo: { line in lines.withLock { $0.append(line) } }, LogState(Self.settings()))
        logger[metadataKey: LogFact.content.key] = "Notes"
        logger[metadataKey: "app"] = "7"
        logger.error("a", metadata: .facts([.event: "suspended", .path: "/a b"]))
        let line = try #require(lines.withLock { $0.first })
        #expect(line.hasSuffix("error a app=7\n"), "\(line)")
        #expect(LogFact.allCases.allSatisfy { $0.key.hasPrefix("ubiquity.") && LogFact.isKey($0.key) } && !LogFact.isKey("ubiquity.own"))
    }
}
