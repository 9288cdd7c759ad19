import Foundation

/// The age of an event in a short form.
enum Age {
    /// Returns the age.
    ///
    /// - Returns: such as `now`, `20 s`, `5 min`, `3 h`, `12 d`; it changes at most every ten seconds.
    static func text(of date: Date, at now: Date) -> String {
        let seconds = Int(now.timeIntervalSince(date))
        return switch seconds {
        // The clocks of devices differ slightly, and wrong ones very much.
        case ..<(-60): "ahead"
        case ..<10: "now"
        case ..<60: "\(seconds / 10 * 10) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
