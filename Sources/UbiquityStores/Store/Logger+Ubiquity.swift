internal import Foundation
package import Logging

extension Logger {
    /// The log of this package: `UBIQUITY_LOG_LEVEL` sets its level, from 0, as it is unless set (warnings and errors), over 1 (each change of a store's file) to 3 (everything).
    package static let ubiquity: Logger = {
        var logger = Logger(label: "Ubiquity")
        logger.logLevel =
            switch ProcessInfo.processInfo.environment["UBIQUITY_LOG_LEVEL"].flatMap(Int.init) ?? 0 {
            case ..<1: .warning
            case 1: .info
            case 2: .debug
            default: .trace
            }
        return logger
    }()
}
