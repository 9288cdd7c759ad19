import Foundation
import Synchronization

/// How far a command has come: a bar, or a count, on standard error where that is a terminal.
final class TerminalProgress: Sendable {
    private struct State {
        var shown = ""
        var next = ContinuousClock.now
    }

    private let isShown = isatty(STDERR_FILENO) == 1
    private let state = Mutex(State())

    /// How often it is drawn at most.
    private static let pause = Duration.milliseconds(100)

    /// Runs a body that shows how far it has come, and wipes that off at its end.
    static func showing<Result>(_ body: (TerminalProgress) throws -> Result) rethrows -> Result {
        let progress = TerminalProgress()
        defer { progress.end() }
        return try body(progress)
    }

    /// The same for a body that waits.
    nonisolated(nonsending) static func showing<Result>(
        awaiting body: nonisolated(nonsending) (TerminalProgress) async throws -> Result
    ) async rethrows -> Result {
        let progress = TerminalProgress()
        defer { progress.end() }
        return try await body(progress)
    }

    /// Shows a part of the whole, from 0 to 1.
    func show(part: Double) { show { ProgressBar.text(part: part) } }

    /// Shows how many have been done of nobody knows how many.
    func show(_ count: Int, _ thing: String) { show { counted(count, thing) } }

    /// Wipes it off.
    func end() {
        state.withLock { state in
            // To the line's beginning, and the rest of it away (ECMA-48, CSI 0 K).
            if !state.shown.isEmpty { writeError("\r\u{1B}[K") }
            state = State()
        }
    }

    private func show(_ text: () -> String) {
        guard isShown else { return }
        state.withLock { state in
            guard ContinuousClock.now >= state.next else { return }
            let text = text()
            guard text != state.shown else { return }
            state = State(shown: text, next: .now + Self.pause)
            writeError("\r\(text)\u{1B}[K")
        }
    }
}

/// A bar of a fixed width, with per cent.
enum ProgressBar {
    private static let width = 30

    /// Draws it.
    ///
    /// - Parameter part: from 0 to 1; what lies outside counts as the end that is nearer.
    /// - Returns: such as `[###......] 30 %`.
    static func text(part: Double) -> String {
        let part = part.isFinite ? min(max(part, 0), 1) : 0
        let done = Int(part * Double(width))
        return "[\(String(repeating: "#", count: done))\(String(repeating: ".", count: width - done))] \(Int(part * 100)) %"
    }
}
