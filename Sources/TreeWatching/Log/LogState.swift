internal import Foundation
package import Logging
internal import Synchronization

/// How much of the log is written; it may change at any time, and asking costs a load.
package final class LogState: Sendable {
    /// The process's.
    package static let shared: LogState = {
        let settings = LogSettings(environment: ProcessInfo.processInfo.environment, arguments: Array(CommandLine.arguments.dropFirst()))
        for fault in settings.faults { LogLine(level: .warning, text: fault).writeToStandardError() }
        return LogState(settings)
    }()

    private struct Levels {
        var own: UbiquityLog.Level
        var asked = UbiquityLog.Level.faults
    }

    private let levels: Mutex<Levels>
    /// The greater of the two.
    private let present: Atomic<Int>
    private let contents: Atomic<Bool>
    private let sql: Atomic<Bool>

    package init(_ settings: LogSettings) {
        levels = Mutex(Levels(own: settings.level))
        present = Atomic(settings.level.rawValue)
        contents = Atomic(settings.showsContents)
        sql = Atomic(settings.tracesSQL)
    }

    /// What the process itself wants.
    package var own: UbiquityLog.Level {
        get { levels.withLock { $0.own } }
        set { change { $0.own = newValue } }
    }

    /// What somebody has asked of all processes that coordinate files.
    package var asked: UbiquityLog.Level {
        get { levels.withLock { $0.asked } }
        set { change { $0.asked = newValue } }
    }

    private func change(_ change: (inout Levels) -> Void) {
        levels.withLock { levels in
            change(&levels)
            present.store(max(levels.own, levels.asked).rawValue, ordering: .relaxed)
        }
    }

    package var showsContents: Bool {
        get { contents.load(ordering: .relaxed) }
        set { contents.store(newValue, ordering: .relaxed) }
    }

    package var tracesSQL: Bool {
        get { sql.load(ordering: .relaxed) }
        set { sql.store(newValue, ordering: .relaxed) }
    }

    /// What is written, in swift-log's terms.
    package var threshold: Logger.Level {
        switch present.load(ordering: .relaxed) {
        case 0: .warning
        case 1: .info
        case 2: .debug
        default: .trace
        }
    }
}
