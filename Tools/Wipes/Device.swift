import Foundation
import Synchronization
import SystemPackage
import ToolProcesses

/// A running device, observed from outside.
final class Device: Sendable {
    let name: String
    private let tool: RunningTool
    private let state = Mutex(State())
    private let reading: Mutex<Task<Void, Never>?> = Mutex(nil)

    private struct State {
        var lines: [String] = []
        var waiters: [(isMet: @Sendable ([String]) -> Bool, continuation: CheckedContinuation<Bool, Never>)] = []
        var isAtEnd = false
    }

    init(_ name: String, home: FilePath, pace: Int) async throws {
        self.name = name
        tool = try await RunningTool("ubiquity-wipes", ["device", "--home", home.string, "--name", name, "--pace", String(pace)], limit: nil)
        let task = Task { [tool, weak self] in
            for await line in tool.lines { self?.heard(line) }
            self?.heard(nil)
        }
        reading.withLock { $0 = task }
        try await wait("is ready") { $0.contains("ready") }
    }

    private func heard(_ line: String?) {
        let met = state.withLock { state in
            if let line { state.lines.append(line) } else { state.isAtEnd = true }
            let met = state.waiters.filter { $0.isMet(state.lines) || state.isAtEnd }.map { ($0.continuation, $0.isMet(state.lines)) }
            state.waiters.removeAll { $0.isMet(state.lines) || state.isAtEnd }
            return met
        }
        for (continuation, isMet) in met { continuation.resume(returning: isMet) }
    }

    /// Waits until its output satisfies a condition.
    func wait(_ what: String, within limit: Duration = .seconds(120), until isMet: @escaping @Sendable ([String]) -> Bool) async throws {
        let alarm = Task { [weak self] in
            try await Task.sleep(for: limit)
            self?.giveUp()
        }
        defer { alarm.cancel() }
        let isIn = await withCheckedContinuation { continuation in
            let now: Bool? = state.withLock { state in
                if isMet(state.lines) { return true }
                if state.isAtEnd { return false }
                state.waiters.append((isMet, continuation))
                return nil
            }
            if let now { continuation.resume(returning: now) }
        }
        guard isIn else {
            let others = lines.filter { !$0.hasPrefix("saved") }.suffix(6).map { String($0.prefix(200)) }
            // A process that has ended reports the reason; a hanging process is asked for it.
            tool.signal(SIGABRT)
            let errors = try await tool.end().errors
            throw Trouble("\(name) does not come to where it \(what) after \(saved.count) saves; else it printed \(others) \(errors)")
        }
    }

    /// Ends all waits.
    private func giveUp() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.continuation.resume(returning: false) }
    }

    var lines: [String] { state.withLock { $0.lines } }
    /// The keys that it has saved durably.
    var saved: Set<String> { Set(values(of: "saved")) }
    /// The events that it has received.
    var events: [String] { values(of: "event") }

    private func values(of word: String) -> [String] {
        lines.filter { $0.hasPrefix(word + " ") }.map { String($0.dropFirst(word.count + 1)) }
    }

    /// Waits until this many more saves are durable.
    func waitForSaves(_ count: Int) async throws {
        let goal = lines.count { $0.hasPrefix("saved ") } + count
        try await wait("has saved \(goal) times") { lines in lines.count { $0.hasPrefix("saved ") } >= goal }
    }

    func rest() async throws {
        tool.signal(SIGUSR1)
        try await wait("rests") { $0.contains("rests") }
    }

    /// Exchanges; returns the keys that it holds afterwards, and whether the exchange was possible.
    func settle() async throws -> (keys: Set<String>, isSettled: Bool) {
        let before = lines.count { $0.hasPrefix("holds") }
        tool.signal(SIGUSR2)
        try await wait("has exchanged") { lines in lines.count { $0.hasPrefix("holds") } > before }
        let last = lines.last { $0.hasPrefix("holds") }!
        let outcome = lines.last { $0.hasPrefix("settled") || $0.hasPrefix("unsettled") }!
        return (Set(last.split(separator: " ").dropFirst().map(String.init)), outcome == "settled")
    }

    func end() async throws {
        let outcome = try await tool.stop()
        guard outcome.status == 0 else {
            throw Trouble("\(name) ended with \(outcome.status ?? -1), signal \(outcome.signal ?? 0): \(outcome.errors)")
        }
    }

    func kill() { tool.signal(SIGKILL) }
}

/// A violation of a rule.
struct Trouble: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
