internal import ArgumentParser

/// A duration as a person types it: a number with ms, s, m, h or d; seconds without a unit.
package struct DurationArgument: ExpressibleByArgument {
    /// The duration.
    package let value: Duration
    /// The duration as typed.
    package let defaultValueDescription: String

    /// Reads a duration.
    ///
    /// Returns nil if the text is none.
    package init?(argument: String) {
        defaultValueDescription = argument
        let digits = argument.prefix { $0.isNumber || $0 == "." }
        guard let number = Double(digits), number > 0, number < 1e6 else { return nil }
        switch argument.dropFirst(digits.count) {
        case "ms": value = .seconds(number / 1000)
        case "", "s": value = .seconds(number)
        case "m", "min": value = .seconds(number * 60)
        case "h": value = .seconds(number * 3600)
        case "d": value = .seconds(number * 86400)
        default: return nil
        }
        if value < .nanoseconds(1) { return nil }
    }
}
