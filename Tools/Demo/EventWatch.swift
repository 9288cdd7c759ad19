import Foundation
import SystemPackage
import ToolProcesses

/// A running `ubwatch events --json`.
actor EventWatch {
    /// A line of its output.
    struct Event: Decodable, Sendable {
        var kind: String
        var path: String
    }

    private let tool: RunningTool
    private var reading: Task<Void, Never>?
    private var seen: [Event] = []
    private var waiters: [CheckedContinuation<Void, Never>] = []

    /// Starts watching, and waits until everything is watched.
    init(_ directory: FilePath) async throws {
        tool = try await RunningTool("ubwatch", ["events", directory.string, "--json"], limit: nil)
        reading = Task { [tool] in
            for await line in tool.lines {
                if let event = try? JSONDecoder().decode(Event.self, from: Data(line.utf8)) { self.take(event) }
            }
            self.wakeAll()
        }
        _ = try await wait { $0.contains { $0.kind == "ready" } }
    }

    func stop() async {
        _ = try? await tool.stop()
        await reading?.value
    }

    /// Waits until the events so far satisfy a condition, and returns them.
    func wait(_ condition: @Sendable ([Event]) -> Bool) async throws -> [Event] {
        try await wait(from: 0, condition)
    }

    /// Waits for the next event that satisfies a condition.
    func waitForNext(_ condition: @Sendable (Event) -> Bool) async throws {
        _ = try await wait(from: seen.count) { $0.contains(where: condition) }
    }

    private func wait(from start: Int, _ condition: ([Event]) -> Bool) async throws -> [Event] {
        let deadline = ContinuousClock.now + .seconds(30)
        let alarm = Task {
            try await Task.sleep(until: deadline, clock: .continuous)
            self.wakeAll()
        }
        defer { alarm.cancel() }
        while !condition(Array(seen[start...])) {
            guard ContinuousClock.now < deadline else { throw Device.Failure(description: "ubwatch did not show the awaited event within 30 s") }
            await withCheckedContinuation { waiters.append($0) }
        }
        return seen
    }

    private func take(_ event: Event) {
        seen.append(event)
        wakeAll()
    }

    private func wakeAll() {
        let woken = waiters
        waiters = []
        for waiter in woken { waiter.resume() }
    }
}
