internal import Foundation
package import Logging
package import TreeWatching

/// The log of one store's file.
///
/// Each line names the store, in its text and in its metadata.
///
/// Neither is built unless its level is logged.
package struct StoreLog: Sendable {
    package let logger: Logger
    package let name: String

    /// The metadata of every line.
    let facts: [LogFact: String]

    package init(logger: Logger, name: String, facts: [LogFact: String] = [:]) {
        self.logger = logger
        self.name = name
        self.facts = facts
    }

    /// Logs a fault that keeps something from working: level 0.
    func fault(_ text: @autoclosure () -> String, _ facts: @autoclosure () -> [LogFact: String] = [:]) { write(.error, text, facts) }

    /// Logs something that works, but hardly as the app means it: level 0.
    func warning(_ text: @autoclosure () -> String) { logger.warning("\(name): \(text())") }

    /// Logs a change of the store's state: level 1.
    func transition(_ text: @autoclosure () -> String, _ facts: @autoclosure () -> [LogFact: String] = [:]) { write(.info, text, facts) }

    /// Logs what has gone out or come in: level 2.
    func exchange(_ text: @autoclosure () -> String, _ facts: @autoclosure () -> [LogFact: String] = [:]) { write(.debug, text, facts) }

    /// Logs what was examined, and why it was taken or not: level 3.
    func detail(_ text: @autoclosure () -> String, _ facts: @autoclosure () -> [LogFact: String] = [:]) { write(.trace, text, facts) }

    private func write(_ level: Logger.Level, _ text: () -> String, _ facts: () -> [LogFact: String]) {
        logger.log(level: level, "\(name): \(text())", metadata: .facts(self.facts.merging(facts()) { $1 }))
    }
}

extension ContinuousClock.Instant {
    /// The time since this instant, for display.
    var elapsed: String { "\(milliseconds) ms" }

    /// The time since this instant, in milliseconds.
    var milliseconds: Int64 { Int64((ContinuousClock.now - self) / .milliseconds(1)) }
}

/// Returns a number with the counted thing.
///
/// - Parameters:
///   - number: the number.
///   - thing: the thing, in the singular.
/// - Returns: for example “1 log” or “2 logs”.
package func counted(_ number: some BinaryInteger, _ thing: String) -> String { "\(number) \(thing)\(number == 1 ? "" : "s")" }
