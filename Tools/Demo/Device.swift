import Foundation
import SystemPackage
import ToolProcesses

/// One of the two devices: its home, with the `notes` program.
actor Device {
    nonisolated let name: String
    nonisolated let home: String
    private var running: RunningTool?
    private var reading: Task<Void, Never>?
    private var lines: [RunLine] = []
    private var waiters: [CheckedContinuation<Void, Never>] = []

    init(name: String, home: FilePath) {
        self.name = name
        self.home = home.string
    }

    /// A line of the output of `notes run --json`.
    struct RunLine: Decodable, Sendable {
        var event: String
        var inserted: Int?
        var updated: Int?
        var deleted: Int?
        var reason: String?
    }

    /// A note in the output of `notes list --json`.
    struct Note: Decodable, Hashable, Sendable {
        var id: String
        var title: String
        var body: String?
        var created: String
    }

    /// A program of the demo failed.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Runs a program for this device and returns its output.
    @discardableResult
    nonisolated func run(_ tool: String, _ arguments: [String]) async throws -> String {
        let outcome = try await Tool.run(tool, arguments + ["--home", home])
        guard outcome.status == 0 else {
            throw Failure(description: "\(tool) \(arguments.joined(separator: " ")): exit status \(outcome.status ?? -1): \(outcome.errors)")
        }
        return outcome.output
    }

    nonisolated func list() async throws -> [Note] {
        let output = try await run("notes", ["list", "--json", "--offline"])
        return try JSONDecoder().decode([Note].self, from: Data(output.utf8))
    }

    /// Starts `notes run`, and waits until it is ready.
    func start() async throws {
        let tool = try await RunningTool("notes", ["run", "--json", "--home", home], limit: nil)
        running = tool
        lines = []
        reading = Task {
            for await line in tool.lines {
                if let line = try? JSONDecoder().decode(RunLine.self, from: Data(line.utf8)) { self.take(line) }
            }
        }
        try await wait(for: "it to be ready") { $0.contains { $0.event == "ready" } }
    }

    func stop() async {
        _ = try? await running?.stop()
        await reading?.value
        running = nil
    }

    /// The lines printed since the last start.
    var printed: [RunLine] { lines }

    /// Waits until the lines printed so far satisfy a condition.
    func wait(for what: String, within limit: Duration = .seconds(30), _ condition: @Sendable ([RunLine]) -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        let alarm = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            self.wakeAll()
        }
        defer { alarm.cancel() }
        while !condition(lines) {
            guard ContinuousClock.now < deadline else { throw Failure(description: "\(name) waited \(limit) for \(what)") }
            await withCheckedContinuation { waiters.append($0) }
        }
    }

    private func take(_ line: RunLine) {
        lines.append(line)
        wakeAll()
    }

    private func wakeAll() {
        let woken = waiters
        waiters = []
        for waiter in woken { waiter.resume() }
    }
}
