internal import Foundation
package import Logging
internal import Synchronization

/// The level of the log; it may change at any time, and a query costs one load.
package final class LogState: Sendable {
    /// The state of this process.
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
    /// The greater of the two levels.
    private let present: Atomic<Int>
    private let contents: Atomic<Bool>
    private let sql: Atomic<Bool>

    package init(_ settings: LogSettings) {
        levels = Mutex(Levels(own: settings.level))
        present = Atomic(settings.level.rawValue)
        contents = Atomic(settings.showsContents)
        sql = Atomic(settings.tracesSQL)
    }

    /// The level that the process itself sets.
    package var own: UbiquityLog.Level {
        get { levels.withLock { $0.own } }
        set { change { $0.own = newValue } }
    }

    /// The level that `ubcontrol` requests from all processes that coordinate files.
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

    /// The level in swift-log's terms.
    package var threshold: Logger.Level {
        switch present.load(ordering: .relaxed) {
        case 0: .warning
        case 1: .info
        case 2: .debug
        default: .trace
        }
    }
}
