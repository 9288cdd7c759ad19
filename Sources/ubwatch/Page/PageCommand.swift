import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// A command that the page runs for a person: one of the package's own programs, or one of the desktop's.
enum PageCommand {
    /// The result of a command.
    struct Outcome: Sendable {
        /// Whether it ended with status 0.
        var isDone: Bool
        /// What it printed.
        var text: String
    }

    /// Runs a program that lies beside this one, or is found by `PATH`.
    ///
    /// - Parameter command: the program's name, and its arguments.
    /// - Returns: how it ended, or why it could not be run.
    static func run(_ command: [String]) async -> Outcome {
        guard let program = path(command[0]) else { return Outcome(isDone: false, text: "\(command[0]) is not installed.") }
        do {
            let (status, output) = try await blocking { try ChildProgram.run(program, Array(command.dropFirst())) }
            return Outcome(isDone: status == 0, text: output.trimmingCharacters(in: .whitespacesAndNewlines))
        } catch {
            return Outcome(isDone: false, text: "\(program) could not be run: \(error)")
        }
    }

    private static func path(_ name: String) -> FilePath? {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { FilePath($0) }
        if let beside = own?.removingLastComponent().appending(name), FileManager.default.isExecutableFile(atPath: beside.string) { return beside }
        return ChildProgram.path(name)
    }
}
