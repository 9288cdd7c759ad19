internal import Foundation
internal import Glibc
internal import Logging
internal import Synchronization

/// Adds `Ubiquity:` to each message, formats it as a line, and passes it on.
struct UbiquityLogHandler: LogHandler {
    /// The destination of lines.
    enum Destination: Sendable {
        /// The handler that the app has passed to swift-log, otherwise standard error.
        case app
        /// A given handler.
        case handler(any LogHandler)
        /// A closure that receives whole lines.
        case lines(@Sendable (String) -> Void)
    }

    let state: LogState
    let destination: Destination
    var metadata: Logger.Metadata = [:]

    init(state: LogState, destination: Destination) {
        (self.state, self.destination) = (state, destination)
    }

    /// The level is shared; ``UbiquityLog/level`` sets it.
    var logLevel: Logger.Level {
        get { state.threshold }
        set {}
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        switch destination {
        case .app:
            if let handler = Self.bootstrapped { pass(event, to: handler) } else { line(event).writeToStandardError() }
        case .handler(let handler): pass(event, to: handler)
        case .lines(let write): write(line(event).description)
        }
    }

    private func line(_ event: LogEvent) -> LogLine {
        // The text says what this package's own facts do.
        let facts = metadata.merging(event.metadata ?? [:]) { $1 }.filter { !LogFact.isKey($0.key) }
            .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
        return LogLine(level: event.level, text: event.message.description + facts.joined())
    }

    private func pass(_ event: LogEvent, to handler: any LogHandler) {
        var event = event
        if !metadata.isEmpty { event.metadata = metadata.merging(event.metadata ?? [:]) { $1 } }
        event.message = "Ubiquity: \(LogLine.escaped(event.message.description))"
        handler.log(event: event)
    }

    private static let known = Mutex<(any LogHandler)?>(nil)

    /// The app's swift-log handler, which the app may set after a store is open; nil for swift-log's own handler, whose
    /// lines begin with the time.
    private static var bootstrapped: (any LogHandler)? {
        known.withLock { known in
            if known == nil {
                let handler = Logger(label: UbiquityLog.label).handler
                if !(handler is StreamLogHandler) { known = handler }
            }
            return known
        }
    }
}

/// One line of the log, as written to standard error and files.
struct LogLine: CustomStringConvertible {
    let level: Logger.Level
    let text: String

    private static let writing = Mutex(())

    /// The line with its end: the time, the process, the severity, and the message.
    var description: String {
        let time = Date().formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
        return "Ubiquity: \(time)Z [\(getpid())] \(level) \(Self.escaped(text))\n"
    }

    /// Writes the line in one piece; ignores a failure, because no other output exists.
    func writeToStandardError() {
        let line = Array(description.utf8)
        Self.writing.withLock { _ in
            var rest = line[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { write(STDERR_FILENO, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Returns a text as one line without control characters that affect a terminal.
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            switch scalar {
            case "\n": line += "\\n"
            case "\r": line += "\\r"
            case "\t": line += "\\t"
            case _ where isControl(scalar): line += "\\u{\(String(scalar.value, radix: 16))}"
            default: line.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }
}
