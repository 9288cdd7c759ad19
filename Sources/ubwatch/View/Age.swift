import Foundation

/// How long ago something was, as short as it can be said.
enum Age {
    /// - Returns: such as `now`, `20 s`, `5 min`, `3 h`, `12 d`; so that it changes every ten seconds at most.
    static func text(of date: Date, at now: Date) -> String {
        let seconds = Int(now.timeIntervalSince(date))
        return switch seconds {
        // Clocks of devices differ a little, and wrong ones a lot.
        case ..<(-60): "ahead"
        case ..<10: "now"
        case ..<60: "\(seconds / 10 * 10) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<86_400: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
