internal import Foundation
internal import Subprocess
internal import Synchronization
public import SystemPackage

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
    /// - Returns: status and output.
    /// - Throws: an error where the program cannot be started.
    public static func run(_ name: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        let running = try await RunningTool(name, arguments, environment: environment)
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

    /// The most that is kept of standard error, and the longest line.
    private static let limit = 64 << 20

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: added to this process's.
    /// - Throws: an error where the program cannot be started.
    public init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) async throws {
        let (lines, printed) = AsyncStream.makeStream(of: String.self)
        let (started, starting) = AsyncStream.makeStream(of: Int32.self)
        let values = Dictionary(uniqueKeysWithValues: environment.map { (Environment.Key(stringLiteral: $0.key), Optional($0.value)) })
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
                for try await line in execution.standardOutput.strings() { printed.yield(line) }
            }
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
