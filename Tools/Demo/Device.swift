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
        /// The kind of the file in use from then on: `local`, `fallback` or `account`.
        var place: String?
        var account: String?
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

    /// Returns the notes in this device's file; with `isReading`, after the container has been read.
    nonisolated func list(reading isReading: Bool = false) async throws -> [Note] {
        let output = try await run("notes", ["list", "--json"] + (isReading ? [] : ["--offline"]))
        return try JSONDecoder().decode([Note].self, from: Data(output.utf8))
    }

    /// Returns the titles of the notes in this device's file.
    nonisolated func titles() async throws -> [String] { try await list().map(\.title) }

    /// The output of `notes where --json`.
    struct Place: Decodable, Sendable {
        var place: String
        var account: String?
        var unpublished: Int
    }

    /// Returns which file the notes are in.
    nonisolated func place() async throws -> Place {
        try JSONDecoder().decode(Place.self, from: Data(await run("notes", ["where", "--json", "--offline"]).utf8))
    }

    /// Signs in to an account, and waits until the running program shows the account's own file.
    func signIn(to account: String, in containers: FilePath) async throws {
        let count = lines.count
        try await run("ubcontrol", ["sign-in", account, "--containers", containers.string])
        try await wait(for: "the account's file") { lines in
            lines.dropFirst(count).contains { $0.event == "moved" && $0.place == "account" && $0.account == account }
        }
    }

    /// Signs out, and waits until the running program shows the local file.
    func signOut() async throws {
        let count = lines.count
        try await run("ubcontrol", ["sign-out"])
        try await wait(for: "the local file") { $0.dropFirst(count).contains { $0.event == "moved" && $0.place == "local" } }
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
    func wait(for what: String, within limit: Duration = .seconds(300), _ condition: @Sendable ([RunLine]) -> Bool) async throws {
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

    /// Waits until a condition holds, and checks it after each line that the running program prints.
    func until(_ what: String, within limit: Duration = .seconds(300), _ condition: @Sendable (Device) async throws -> Bool) async throws {
        let deadline = ContinuousClock.now + limit
        while true {
            let count = lines.count
            if try await condition(self) { return }
            try await wait(for: what, within: deadline - .now) { $0.count > count }
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
