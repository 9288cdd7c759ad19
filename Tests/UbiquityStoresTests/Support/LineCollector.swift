import Foundation
import Logging
import Synchronization
import TreeWatching
import UbiquityContainers
import Waiting

/// Keeps the lines that are logged.
final class LineCollector: Sendable {
    private struct Handler: LogHandler {
        let collector: LineCollector
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { collector.add(event.message.description) }
    }

    private let lines = Mutex<[String]>([])
    private let stream = AsyncStream.makeStream(of: Void.self)
    private let level: Int

    init(level: Int) { self.level = level }

    var logger: Logger {
        UbiquityLog.logger(
            writingTo: Handler(collector: self), LogState(LogSettings(environment: ["UBIQUITY_LOG_LEVEL": "\(level)"], arguments: [])))
    }

    private func add(_ line: String) {
        lines.withLock { $0.append(line) }
        stream.continuation.yield()
    }

    var all: [String] { lines.withLock { $0 } }

    /// The peer that the line names which says that a file is in use; a line about its change may come before.
    func peer(of file: String) -> PeerIdentifier? {
        let line = all.first { $0.contains("Using") && $0.contains(file) }
        return line.flatMap { line in PeerIdentifier(line.dropFirst("Ubiquity: ".count).prefix { $0 != ":" }) }
    }

    /// The lines that say which file is in use, once there are so many.
    func using(_ count: Int) async throws -> [String] {
        func found() -> [String] { all.filter { $0.contains("Using") } }
        if found().count < count {
            for try await _ in stream.stream.limited("\(count) lines on files in use") where found().count >= count { break }
        }
        return found()
    }
}
