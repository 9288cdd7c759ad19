internal import Foundation
package import Logging

/// The log of one store's file.
///
/// Each line names the store.
///
/// A message is not built unless its level is logged.
package struct StoreLog: Sendable {
    package let logger: Logger
    package let name: String

    package init(logger: Logger, name: String) {
        self.logger = logger
        self.name = name
    }

    /// Logs a fault that keeps something from working: level 0.
    func fault(_ text: @autoclosure () -> String) { logger.error("\(name): \(text())") }

    /// Logs a change of the store's state: level 1.
    func transition(_ text: @autoclosure () -> String) { logger.info("\(name): \(text())") }

    /// Logs what has gone out or come in: level 2.
    func exchange(_ text: @autoclosure () -> String) { logger.debug("\(name): \(text())") }

    /// Logs what was examined, and why it was taken or not: level 3.
    func detail(_ text: @autoclosure () -> String) { logger.trace("\(name): \(text())") }
}

extension ContinuousClock.Instant {
    /// The time since this instant, for display.
    var elapsed: String { "\(Int64((ContinuousClock.now - self) / .milliseconds(1))) ms" }
}

/// Returns a number with the counted thing.
///
/// - Parameters:
///   - number: the number.
///   - thing: the thing, in the singular.
/// - Returns: for example “1 log” or “2 logs”.
package func counted(_ number: some BinaryInteger, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }
