internal import Dispatch
internal import Foundation
internal import Synchronization

/// The progress of a command: a bar, a count, or the elapsed time, on standard error if that is a terminal.
package final class TerminalProgress: Sendable {
    private struct State {
        var shown = ""
        var next = ContinuousClock.now
        var isEnded = false
    }

    private let isShown: Bool
    private let state = Mutex(State())

    /// The shortest time between two drawings.
    private static let pause = Duration.milliseconds(100)

    private init(besideOutput: Bool) { isShown = isatty(STDERR_FILENO) == 1 && !(besideOutput && isatty(STDOUT_FILENO) == 1) }

    /// Runs a body that shows its progress, and erases the progress at its end.
    ///
    /// - Parameters:
    ///   - besideOutput: whether the body writes to standard output meanwhile: on a terminal nothing is shown then,
    ///     because progress would mix with the lines.
    ///   - body: shows its progress.
    /// - Returns: the result of the body.
    package static func showing<Result>(besideOutput: Bool = false, _ body: (TerminalProgress) throws -> Result) rethrows -> Result {
        let progress = TerminalProgress(besideOutput: besideOutput)
        defer { progress.end() }
        return try body(progress)
    }

    /// Runs an async body that shows its progress.
    nonisolated(nonsending) package static func awaiting<Result>(
        _ body: nonisolated(nonsending) (TerminalProgress) async throws -> Result
    ) async rethrows -> Result {
        let progress = TerminalProgress(besideOutput: false)
        defer { progress.end() }
        return try await body(progress)
    }

    /// Runs a body without measurable progress, and shows its activity and, each second, the elapsed time.
    ///
    /// - Parameters:
    ///   - what: the activity, such as “checking the store”.
    ///   - body: the work.
    /// - Returns: the result of the body.
    package static func showing<Result>(_ what: String, _ body: () throws -> Result) rethrows -> Result {
        let progress = TerminalProgress(besideOutput: false)
        let clock = progress.count(seconds: what)
        defer {
            clock?.cancel()
            progress.end()
        }
        return try body()
    }

    /// Runs an async body without measurable progress, and shows its activity and the elapsed time.
    nonisolated(nonsending) package static func awaiting<Result>(
        _ what: String, _ body: nonisolated(nonsending) () async throws -> Result
    ) async rethrows -> Result {
        let progress = TerminalProgress(besideOutput: false)
        let clock = progress.count(seconds: what)
        defer {
            clock?.cancel()
            progress.end()
        }
        return try await body()
    }

    /// Shows a part of the whole, from 0 to 1.
    package func show(part: Double) { show { ProgressBar.text(part: part) } }

    /// Shows how many are done, if the total is unknown.
    package func show(_ count: Int, _ thing: String) { show { counted(count, thing) } }

    /// Shows what is being done.
    package func show(_ activity: String) { show { activity } }

    /// Shows how many of a total are done.
    package func show(_ count: Int, of total: Int, _ thing: String) {
        show { total > 0 ? "\(ProgressBar.text(part: Double(count) / Double(total)))  \(count) of \(counted(total, thing))" : counted(count, thing) }
    }

    private func count(seconds what: String) -> (any DispatchSourceTimer)? {
        guard isShown else { return nil }
        show { what }
        let (timer, begun) = (DispatchSource.makeTimerSource(queue: .global()), ContinuousClock.now)
        timer.setEventHandler { [weak self] in self?.show { "\(what), \(Int(begun.duration(to: .now) / .seconds(1))) s" } }
        timer.schedule(deadline: .now() + .seconds(1), repeating: .seconds(1))
        timer.resume()
        return timer
    }

    /// Erases the progress; nothing is shown any more.
    private func end() {
        state.withLock { state in
            // Go to the start of the line, and erase the rest of it (ECMA-48, CSI 0 K).
            if !state.shown.isEmpty { writeError("\r\u{1B}[K") }
            state = State(isEnded: true)
        }
    }

    private func show(_ text: () -> String) {
        guard isShown else { return }
        state.withLock { state in
            guard !state.isEnded, ContinuousClock.now >= state.next else { return }
            let text = text()
            guard text != state.shown else { return }
            state = State(shown: text, next: .now + Self.pause)
            writeError("\r\(text)\u{1B}[K")
        }
    }
}

/// A bar of a fixed width, with a percentage.
enum ProgressBar {
    private static let width = 30

    /// Returns the bar as text.
    ///
    /// - Parameter part: from 0 to 1; other values count as the nearer end.
    /// - Returns: such as `[###......] 30 %`.
    static func text(part: Double) -> String {
        let part = part.isFinite ? min(max(part, 0), 1) : 0
        let done = Int(part * Double(width))
        return "[\(String(repeating: "#", count: done))\(String(repeating: ".", count: width - done))] \(Int(part * 100)) %"
    }
}
