internal import Foundation
package import Logging
internal import SystemPackage

/// Sends log messages to systemd's journal, with their facts as fields.
///
/// | field | content |
/// |---|---|
/// | `MESSAGE` | the message |
/// | `PRIORITY` | the severity, by syslog(3) |
/// | `SYSLOG_IDENTIFIER` | the program |
/// | `CODE_FILE`, `CODE_LINE`, `CODE_FUNC` | where the program logs |
/// | `UBIQUITY_…` | each fact of the message, such as `UBIQUITY_ACCOUNT` |
package struct JournalLog: LogHandler {
    private let socket: JournalSocket
    private let identifier: String
    /// Receives a message that the journal's socket does not take.
    private let spare: @Sendable (String) -> Void

    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    /// The level for loggers of other packages; `UbiquityLog.level` decides about ours.
    package var logLevel = Logger.Level.info

    /// Makes a handler.
    ///
    /// - Parameters:
    ///   - identifier: the program's name.
    ///   - socket: the journal's socket.
    ///   - spare: receives a line, with its line end, that the socket does not take; by default it writes the line to
    ///     standard error, which the journal reads too.
    package init(_ identifier: String, socket: JournalSocket = JournalSocket(), spare: @escaping @Sendable (String) -> Void = { writeError($0) }) {
        (self.identifier, self.socket, self.spare) = (identifier, socket, spare)
    }

    /// Makes a handler if standard error of this process is the journal; otherwise returns nil.
    package static func ofThisProcess(_ identifier: String) -> JournalLog? {
        JournalSocket.isStream(ProcessInfo.processInfo.environment["JOURNAL_STREAM"]) ? JournalLog(identifier) : nil
    }

    /// Sends the logs of this process to the journal with fields, if its standard error is the journal.
    ///
    /// Otherwise they go to standard error as lines. Call it once, before anything is logged.
    package static func begin(_ identifier: String) {
        guard let log = ofThisProcess(identifier) else { return }
        LoggingSystem.bootstrap { _ in log }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let entry = entry(event)
        guard socket.send(entry) != nil else { return }
        // systemd reads the priority of a line from its beginning; sd-daemon(3).
        let text = facts(event).reduce(event.message.description) { "\($0) \($1.key)=\($1.value)" }
        spare("<\(Self.priority(event.level))>\(text.printable)\n")
    }

    /// The entry of a message.
    package func entry(_ event: LogEvent) -> JournalEntry {
        var entry = JournalEntry()
        entry.add("MESSAGE", event.message.description)
        entry.add("PRIORITY", "\(Self.priority(event.level))")
        entry.add("SYSLOG_IDENTIFIER", identifier)
        entry.add("CODE_FILE", event.file)
        entry.add("CODE_LINE", "\(event.line)")
        entry.add("CODE_FUNC", event.function)
        for (key, value) in facts(event) { entry.add(key, value, prefix: "UBIQUITY_") }
        return entry
    }

    /// The facts of a message by their keys: those of the handler, of the message, and its error.
    private func facts(_ event: LogEvent) -> [(key: String, value: String)] {
        var facts = (metadataProvider?.get() ?? [:]).merging(metadata) { $1 }.merging(event.metadata ?? [:]) { $1 }
        if let error = event.error { facts["error"] = "\(error)" }
        return facts.sorted { $0.key < $1.key }.map { (Self.name($0.key), "\($0.value)") }
    }

    /// The key without this package's prefix, which the field's name has anyway.
    private static func name(_ key: String) -> String { key.hasPrefix("ubiquity.") ? String(key.dropFirst("ubiquity.".count)) : key }

    /// The number of syslog(3) for a level.
    private static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }
}
