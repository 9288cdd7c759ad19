import Glibc
import Logging
import Synchronization
import SystemPackage
import TreeWatching

/// What a broker tells of itself, by the severities of syslog(3): at a level all that is as grave, or graver.
package struct BrokerLog: Sendable {
    /// How grave something is.
    enum Severity: Int {
        case critical = 2
        case error, warning, notice, information, debug
    }

    /// The levels that there are.
    package static let levels = 0...7
    /// The level unless somebody wants another.
    package static let standard = Severity.warning.rawValue

    var level: Int
    let logger: Logger

    /// Writes a line, where the level has it written; else the text is not made up.
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

    /// What a client holds may be long.
    private static let longest = 2000
}

extension UbiquityLog.Level {
    /// What a process logs of its own at a level of the broker's.
    init(broker level: Int) {
        switch level {
        case ...4: self = .faults
        case 5: self = .transitions
        case 6: self = .exchanges
        default: self = .everything
        }
    }
}

/// The file into which a broker writes that nobody listens to, beside its socket; it and the one before it do not grow beyond a limit.
package final class BrokerLogFile: Sendable {
    private struct State {
        var file: FileDescriptor?
        var size: Int64 = 0
    }

    /// The file's name; the one before ends in `.1`.
    package static let name = "broker.log"
    /// How many bytes one file gets; it lies in memory.
    private static let limit: Int64 = 4 << 20

    private let path: FilePath
    private let state = Mutex(State())

    /// Writes into a place from now on.
    package init(in place: BrokerPlace) {
        path = place.directory.appending(Self.name)
    }

    /// Adds a line; what cannot be written is lost.
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
