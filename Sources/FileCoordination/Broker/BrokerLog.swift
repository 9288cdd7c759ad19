import Glibc
import Logging
import Synchronization
import SystemPackage
import TreeWatching

/// A broker's log, with the severities of syslog(3): a level includes everything that is at least as severe.
package struct BrokerLog: Sendable {
    /// The severity of a message.
    enum Severity: Int {
        case critical = 2
        case error, warning, notice, information, debug
    }

    /// The valid levels.
    package static let levels = 0...7
    /// The default level.
    package static let standard = Severity.warning.rawValue

    var level: Int
    let logger: Logger

    /// Writes a line if the level includes it; otherwise it does not build the text.
    func callAsFunction(_ severity: Severity, _ text: @autoclosure () -> String) {
        guard severity.rawValue <= level else { return }
        let priority: Logger.Level =
            switch severity {
            case .critical: .critical
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .information: .info
            case .debug: .debug
            }
        logger.log(level: priority, "broker: \(text().prefix(Self.longest))")
    }

    /// The longest line, because a client's claims may be long.
    private static let longest = 2000
}

extension UbiquityLog.Level {
    /// Makes the log of a process at a broker's level.
    init(broker level: Int) {
        switch level {
        case ...4: self = .faults
        case 5: self = .transitions
        case 6: self = .exchanges
        default: self = .everything
        }
    }
}

/// The log file beside the socket, for a broker without another log; this file and the one before it have a limited
/// size.
package final class BrokerLogFile: Sendable {
    private struct State {
        var file: FileDescriptor?
        var size: Int64 = 0
    }

    /// The file's name; the name of the file before it ends in `.1`.
    package static let name = "broker.log"
    /// The size limit of one file in bytes; the file is in memory.
    private static let limit: Int64 = 4 << 20

    private let path: FilePath
    private let state = Mutex(State())

    /// Writes into a place from now on.
    package init(in place: BrokerPlace) {
        path = place.directory.appending(Self.name)
    }

    /// Appends a line; a line that cannot be written is lost.
    package func write(_ line: String) {
        state.withLock { state in
            if state.size > Self.limit {
                try? state.file?.close()
                state.file = nil
                rename(path.string, path.string + ".1")
            }
            if state.file == nil {
                state.file = try? FileDescriptor.open(
                    path, .writeOnly, options: [.append, .create, .closeOnExec, .noFollow], permissions: [.ownerReadWrite])
                state.size = (try? state.file?.seek(offset: 0, from: .end)) ?? 0
            }
            guard let written = try? state.file?.writeAll(line.utf8) else { return }
            state.size += Int64(written)
        }
    }
}
