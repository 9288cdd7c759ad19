internal import Foundation
package import Logging

/// The log of one store's file: each line says whose it is.
///
/// What is logged is not made up where nobody wants it.
package struct StoreLog: Sendable {
    package let logger: Logger
    package let name: String

    package init(logger: Logger, name: String) {
        self.logger = logger
        self.name = name
    }

    /// What keeps something from working; level 0.
    func fault(_ text: @autoclosure () -> String) { logger.error("\(name): \(text())") }

    /// What has changed about the store; level 1.
    func transition(_ text: @autoclosure () -> String) { logger.info("\(name): \(text())") }

    /// What has gone out or come in; level 2.
    func exchange(_ text: @autoclosure () -> String) { logger.debug("\(name): \(text())") }

    /// What was looked at on the way, and why it was taken or not; level 3.
    func detail(_ text: @autoclosure () -> String) { logger.trace("\(name): \(text())") }
}

extension ContinuousClock.Instant {
    /// How long ago this was, for people.
    var elapsed: String { "\(Int64((ContinuousClock.now - self) / .milliseconds(1))) ms" }
}

/// A number with what is counted.
///
/// - Parameters:
///   - number: how many.
///   - thing: what, in the singular.
/// - Returns: such as “1 log”, “2 logs”.
package func counted(_ number: some BinaryInteger, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }
