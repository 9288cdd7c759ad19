internal import Foundation
internal import Synchronization
public import SystemPackage

/// The package's programs, which lie beside the program that asks.
public enum Tool {
    /// The path of a program, such as `ubwatch`.
    public static func path(_ name: String) -> FilePath {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? CommandLine.arguments[0]
        return FilePath(own).removingLastComponent().appending(name)
    }

    /// What a program that has ended left behind.
    public struct Outcome: Sendable {
        /// The exit status, or the number of the signal that ended it.
        public var status: Int32
        /// Whether a signal ended it.
        public var wasKilled: Bool
        /// What it wrote to standard output.
        public var output: String
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
    /// - Throws: Foundation's error where the program cannot be started.
    public static func run(_ name: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> Outcome {
        let running = try RunningTool(name, arguments, environment: environment)
        var output: [String] = []
        for await line in running.lines { output.append(line) }
        let end = await running.end()
        return Outcome(status: end.status, wasKilled: end.wasKilled, output: output.map { $0 + "\n" }.joined(), errors: end.errors)
    }
}

/// A program that is running.
public final class RunningTool: Sendable {
    private struct State {
        var output = Data()
        var errors = Data()
    }

    /// The lines of its standard output, as they come; for one reader.
    public let lines: AsyncStream<String>
    private let process: Process
    private let state = Mutex(State())
    private let ended: AsyncStream<Void>

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: one of the package's programs, or an absolute path.
    ///   - arguments: its arguments.
    ///   - environment: added to this process's.
    /// - Throws: Foundation's error where the program cannot be started.
    public init(_ name: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        let (lines, continuation) = AsyncStream.makeStream(of: String.self)
        let (ended, ending) = AsyncStream.makeStream(of: Void.self)
        self.lines = lines
        self.ended = ended
        process = Process()
        process.executableURL = URL(filePath: name.hasPrefix("/") ? name : Tool.path(name).string)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        // Three things end before the program is done with: both pipes, and the process itself.
        let pending = PendingEnds(3) { ending.finish() }
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                continuation.finish()
                pending.end()
                return
            }
            for line in self?.takeLines(data) ?? [] { continuation.yield(line) }
        }
        errors.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            guard !data.isEmpty else {
                handle.readabilityHandler = nil
                pending.end()
                return
            }
            self?.state.withLock { $0.errors += data }
        }
        process.terminationHandler = { _ in pending.end() }
        try process.run()
    }

    /// Its process identifier.
    public var identifier: Int32 { process.processIdentifier }

    /// Sends a signal.
    public func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits until it has ended and all its output has been read.
    public func end() async -> (status: Int32, wasKilled: Bool, errors: String) {
        for await _ in ended {}
        let errors = state.withLock { String(decoding: $0.errors, as: UTF8.self) }
        return (process.terminationStatus, process.terminationReason == .uncaughtSignal, errors)
    }

    /// Asks it to end with SIGTERM, and waits.
    @discardableResult
    public func stop() async -> (status: Int32, wasKilled: Bool, errors: String) {
        signal(SIGTERM)
        return await end()
    }

    private func takeLines(_ data: Data) -> [String] {
        state.withLock { state in
            state.output += data
            var lines: [String] = []
            while let newline = state.output.firstIndex(of: UInt8(ascii: "\n")) {
                lines.append(String(decoding: state.output[state.output.startIndex..<newline], as: UTF8.self))
                state.output = Data(state.output[(newline + 1)...])
            }
            return lines
        }
    }
}

/// Counts ends down, and then tells.
private final class PendingEnds: Sendable {
    private let left: Mutex<Int>
    private let done: @Sendable () -> Void

    init(_ count: Int, done: @escaping @Sendable () -> Void) {
        left = Mutex(count)
        self.done = done
    }

    func end() {
        let isLast = left.withLock {
            $0 -= 1
            return $0 == 0
        }
        if isLast { done() }
    }
}
