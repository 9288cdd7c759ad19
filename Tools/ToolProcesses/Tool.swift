internal import Foundation
internal import Subprocess
internal import Synchronization
public import SystemPackage
internal import Waiting

/// The package's programs, which lie beside the program that asks.
public enum Tool {
    /// The path of a program, such as `ubwatch`.
    public static func path(_ name: String) -> FilePath {
        if name.hasPrefix("/") { return FilePath(name) }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return FilePath(own).removingLastComponent().appending(name)
    }

    /// What a program that has ended left behind.
    public struct Outcome: Sendable {
        /// The exit status, or nil where a signal ended it.
        public var status: Int32?
        /// The signal that ended it, if one did.
        public var signal: Int32?
        /// What it wrote to standard output, where that was not read line by line.
        public var output = ""
        /// What it wrote to standard error.
        public var errors: String
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: added to this process's.
    ///   - limit: how long it may run, in the time of a quiet machine; nil for ever. It is killed then.
    /// - Returns: status and output.
    /// - Throws: an error where the program cannot be started, or has not ended within its limit.
    public static func run(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], limit: Duration? = RunningTool.usualLimit
    ) async throws -> Outcome {
        let running = try await RunningTool(name, arguments, environment: environment, limit: limit)
        var output = ""
        for await line in running.lines { output += line + "\n" }
        var outcome = try await running.end()
        outcome.output = output
        return outcome
    }
}

/// A program that is running.
public final class RunningTool: Sendable {
    /// The lines of its standard output, as they come; for one reader.
    public let lines: AsyncStream<String>
    /// Its process identifier.
    public let identifier: Int32
    private let running: Task<Tool.Outcome, any Error>

    /// How long a program may run that has no reason to run longer, in the time of a quiet machine.
    public static let usualLimit = Duration.seconds(600)

    /// The most that is kept of standard error, and the longest line.
    private static let limit = 64 << 20

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: added to this process's.
    ///   - limit: how long it may run, in the time of a quiet machine; nil for ever. It is killed then, its lines end, and ``end()`` says so.
    /// - Throws: an error where the program cannot be started.
    public init(
        _ name: String, _ arguments: [String], environment: [String: String] = [:], limit: Duration? = RunningTool.usualLimit
    ) async throws {
        let (lines, printed) = AsyncStream.makeStream(of: String.self)
        let (started, starting) = AsyncStream.makeStream(of: Int32.self)
        let values = Dictionary(uniqueKeysWithValues: environment.map { (Environment.Key(stringLiteral: $0.key), Optional($0.value)) })
        let alarm = Alarm("\(name) \(arguments.joined(separator: " "))")
        let running = Task {
            defer {
                printed.finish()
                starting.finish()
            }
            let result = try await Subprocess.run(
                .path(Tool.path(name)), arguments: Arguments(arguments), environment: .inherit.updating(values), input: .none, output: .sequence,
                error: .string(limit: Self.limit)
            ) { execution in
                starting.yield(execution.processIdentifier.value)
                starting.finish()
                let timer = limit.map { alarm.set($0, execution.processIdentifier.value) }
                defer { timer?.cancel() }
                for try await line in execution.standardOutput.strings() {
                    printed.yield(line)
                    alarm.hear(line)
                }
            }
            try alarm.check()
            let errors = result.standardError
            return switch result.terminationStatus {
            case .exited(let status): Tool.Outcome(status: status, signal: nil, errors: errors)
            case .signaled(let signal): Tool.Outcome(status: nil, signal: signal, errors: errors)
            }
        }
        self.lines = lines
        self.running = running
        for await identifier in started {
            self.identifier = identifier
            return
        }
        // It never started: the task has the reason.
        _ = try await running.value
        identifier = 0
    }

    /// Sends a signal.
    public func signal(_ number: Int32) { kill(identifier, number) }

    /// Waits until it has ended and its output is closed.
    public func end() async throws -> Tool.Outcome { try await running.value }

    /// Asks it to end with SIGTERM, and waits.
    @discardableResult
    public func stop() async throws -> Tool.Outcome {
        signal(SIGTERM)
        return try await end()
    }
}

/// Kills a program that runs too long.
private final class Alarm: Sendable {
    private let program: String
    private let last = Mutex("")
    private let overdue = Mutex<Overdue?>(nil)

    init(_ program: String) { self.program = program }

    func hear(_ line: String) { last.withLock { $0 = line } }

    func set(_ limit: Duration, _ process: Int32) -> Task<Void, any Error> {
        Task {
            let time = try await QuietTime.sleep(limit)
            let line = last.withLock { $0 }
            let seen = line.isEmpty ? "" : "as its last line “\(line)”"
            overdue.withLock { $0 = Overdue("the end of \(program)", limit: limit, time: time, seen: seen, place: "A test") }
            kill(process, SIGKILL)
        }
    }

    /// - Throws: ``Overdue`` where it has been killed.
    func check() throws {
        if let error = overdue.withLock({ $0 }) { throw error }
    }
}
