import Foundation
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// A shell in a terminal of its own: tmux(1), with a server of its own.
///
/// A second client, in tmux's control mode, tells of each thing that is drawn; the screen is then looked at.
struct TestTerminal: Sendable {
    private let socket: String
    /// Something has been drawn since the last look.
    private let drawn: AsyncStream<Void>
    private let drawing: AsyncStream<Void>.Continuation
    private static let tmux = "/usr/bin/tmux"

    private init(socket: String) {
        self.socket = socket
        (drawn, drawing) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs a body with a terminal, in which a shell waits for commands.
    static func with(columns: Int = 80, rows: Int = 24, _ body: (TestTerminal) async throws -> Void) async throws {
        let terminal = TestTerminal(socket: "ubiquity-test-\(UUID().uuidString)")
        try await terminal.tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "PS1='$ ' exec /bin/sh", ";", "set-option", "-g", "status",
            "off", ";", "set-option", "-g", "window-size", "manual", ";", "resize-window", "-x", "\(columns)", "-y", "\(rows)")
        do {
            try await terminal.watched { try await body(terminal) }
        } catch {
            _ = try? await terminal.tmux("kill-server")
            throw error
        }
    }

    /// Runs a body while the second client tells what is drawn, and ends the server, with which that client ends.
    private func watched(_ body: () async throws -> Void) async throws {
        // The client ends with its input: a pipe that it holds open itself never ends.
        let pipe = FileManager.default.temporaryDirectory.appending(path: socket).path
        try #require(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        let client = try await RunningTool("/bin/sh", ["-c", "exec \(Self.tmux) -L \(socket) -C attach-session <> \(pipe)"])
        let telling = Task { for await _ in client.lines { drawing.yield() } }
        try await body()
        try await tmux("kill-server")
        _ = try await client.end()
        await telling.value
    }

    @discardableResult
    private func tmux(_ arguments: String...) async throws -> String {
        let outcome = try await Tool.run(Self.tmux, ["-L", socket] + arguments)
        try #require(outcome.status == 0, "tmux \(arguments): \(outcome.errors)")
        return outcome.output
    }

    /// Types a line, and the enter key behind it.
    func type(_ line: String) async throws {
        try await tmux("send-keys", "-l", line)
        try await press("Enter")
    }

    /// Presses keys, by tmux's names: `Enter`, `Escape`, `PageDown`, `C-z`, or a character.
    func press(_ keys: String...) async throws { for key in keys { try await tmux("send-keys", key) } }

    /// Types text without an enter key.
    func write(_ text: String) async throws { try await tmux("send-keys", "-l", text) }

    func resize(columns: Int, rows: Int) async throws { try await tmux("resize-window", "-x", "\(columns)", "-y", "\(rows)") }

    /// What it shows now, a row a line, without the blanks at their ends.
    func screen(withStyles: Bool = false) async throws -> [String] {
        let text = withStyles ? try await tmux("capture-pane", "-p", "-e") : try await tmux("capture-pane", "-p")
        return text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    /// Waits until it shows something, or the test's time limit ends it.
    ///
    /// - Parameters:
    ///   - what: what is waited for, for the message where it does not come.
    ///   - condition: is asked of the rows.
    /// - Returns: the rows that it is true of.
    /// - Throws: where it does not come.
    @discardableResult
    func shows(_ what: String, _ condition: ([String]) -> Bool) async throws -> [String] {
        var rows: [String] = []
        let looks = drawn.limited().makeAsyncIterator()
        repeat {
            rows = try await screen()
            // A look may fall into the middle of a drawing; a second one that shows the same does not.
            if condition(rows), try await screen() == rows { return rows }
        } while (try? await looks.next()) != nil
        try #require(Bool(false), "no \(what) on this screen:\n\(rows.joined(separator: "\n"))")
        return rows
    }

    /// Waits until a text stands anywhere on it.
    @discardableResult
    func shows(_ text: String) async throws -> [String] { try await shows("“\(text)”") { $0.contains { $0.contains(text) } } }
}
