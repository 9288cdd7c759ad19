internal import Foundation
internal import Subprocess
internal import Synchronization
public import SystemPackage
internal import Waiting

/// Runs the package's programs, which are in the directory of the calling program.
public enum Tool {
    /// Returns the path of a program, such as `ubwatch`.
    public static func path(_ name: String) -> FilePath {
        if name.hasPrefix("/") { return FilePath(name) }
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return FilePath(own).removingLastComponent().appending(name)
    }

    /// The result of a program that has ended.
    public struct Outcome: Sendable {
        /// The exit status, or nil if a signal ended it.
        public var status: Int32?
        /// The signal that ended it, if one did.
        public var signal: Int32?
        /// Its standard output, unless the output was read line by line.
        public var output = ""
        /// Its standard error.
        public var errors: String
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: variables to add to this process's.
    ///   - limit: the longest time it may run, measured in the time of a quiet machine; nil for no limit. After the
    ///     limit it is killed.
    /// - Returns: status and output.
    /// - Throws: an error when the program cannot be started, or has not ended within its limit.
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
    /// The lines of its standard output as they arrive; for one reader.
    public let lines: AsyncStream<String>
    /// Its process identifier.
    public let identifier: Int32
    private let running: Task<Tool.Outcome, any Error>

    /// The usual limit for a program, measured in the time of a quiet machine.
    public static let usualLimit = Duration.seconds(600)

    /// The greatest number of bytes kept of standard error, and of a line.
    private static let limit = 64 << 20

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: variables to add to this process's.
    ///   - limit: the longest time it may run, measured in the time of a quiet machine; nil for no limit. After the
    ///     limit it is killed, its lines end, and ``end()`` throws.
    /// - Throws: an error when the program cannot be started.
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
        // The program never started; the task has the error.
        _ = try await running.value
        identifier = 0
    }

    /// Sends a signal.
    public func signal(_ number: Int32) { kill(identifier, number) }

    /// Waits until it has ended and its output is closed.
    public func end() async throws -> Tool.Outcome { try await running.value }

    /// Sends SIGTERM and waits for the end.
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

    /// Checks whether the program was killed.
    ///
    /// - Throws: ``Overdue`` if it was killed.
    func check() throws {
        if let error = overdue.withLock({ $0 }) { throw error }
    }
}
