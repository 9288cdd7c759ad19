import Foundation
import Glibc
import SystemPackage
import Testing
import ToolProcesses
import Waiting

/// The ported program in another process, which can be told to go on.
final class Ported {
    let tool: RunningTool
    private let input: FileDescriptor
    private var isOpen = true
    private var lines: LimitedSequence<AsyncStream<String>>.AsyncIterator

    convenience init(_ scene: BrokerScene, _ arguments: String...) async throws {
        try await self.init(scene.directory, scene.environment, arguments)
    }

    init(_ directory: FilePath, _ environment: [String: String], _ arguments: [String]) async throws {
        let pipe = directory.appending("pipe-\(UUID().uuidString.prefix(8))")
        try #require(mkfifo(pipe.string, 0o600) == 0)
        // Open at both ends, so that nobody waits for the other.
        input = FileDescriptor(rawValue: open(pipe.string, O_RDWR | O_CLOEXEC))
        let words = arguments.map { "'\($0)'" }.joined(separator: " ")
        tool = try await RunningTool("/bin/sh", ["-c", "exec \(Tool.path("ported")) \(words) < \(pipe)"], environment: environment)
        lines = tool.lines.limited("a line of the program").makeAsyncIterator()
    }

    deinit { close() }

    func say(_ line: String) throws { _ = try input.writeAll(Array("\(line)\n".utf8)) }

    /// The next lines, in this order; a change may be told without need.
    func expect(_ expected: String..., at line: Int = #line) async throws {
        for expected in expected {
            var next = try await lines.next()
            while let told = next, told != expected, told.hasPrefix("changed") { next = try await lines.next() }
            #expect(next == expected, "of line \(line)")
        }
    }

    /// The next lines, until one, which is the last.
    func until(_ last: String) async throws -> [String] {
        var told: [String] = []
        while told.last != last { told.append(try #require(try await lines.next(), "it ended after \(told)")) }
        return told
    }

    /// Ends its input, and returns its outcome with the lines that nobody has read.
    func end() async throws -> Tool.Outcome {
        close()
        var rest = ""
        while let line = try await lines.next() { rest += "\(line)\n" }
        var outcome = try await tool.end()
        outcome.output = rest
        return outcome
    }

    private func close() {
        if isOpen { try? input.close() }
        isOpen = false
    }
}
