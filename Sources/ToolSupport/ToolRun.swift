package import ArgumentParser
internal import Foundation

extension AsyncParsableCommand {
    /// Runs a tool's command line, reports errors, and ends the process.
    ///
    /// An invalid command line is answered with the usage of the nearest command, and with a suggestion. An error of a
    /// running command is reported in one line that begins with `Error:`.
    ///
    /// - Parameters:
    ///   - arguments: the words after the tool's name.
    ///   - status: the exit status for an error without its own status; nil for 1.
    package static func runTool(_ arguments: [String], status: @Sendable (any Error) -> ExitCode? = { _ in nil }) async {
        let parsed: any ParsableCommand
        do {
            parsed = try await asyncParseAsRoot(arguments)
        } catch {
            end(parsing: error, arguments)
        }
        do {
            var command = parsed
            if var waiting = command as? any AsyncParsableCommand { try await waiting.run() } else { try command.run() }
        } catch {
            end(running: error, arguments, status)
        }
    }
}

extension ParsableCommand {
    /// Runs a tool's command line as `AsyncParsableCommand.runTool(_:status:)` does.
    package static func runTool(_ arguments: [String]) {
        let parsed: any ParsableCommand
        do {
            parsed = try parseAsRoot(arguments)
        } catch {
            end(parsing: error, arguments)
        }
        do {
            var command = parsed
            try command.run()
        } catch {
            end(running: error, arguments, { _ in nil })
        }
    }

    fileprivate static func end(parsing error: any Error, _ arguments: [String]) -> Never {
        // Help, versions and completions are errors too.
        let code = exitCode(for: error)
        guard code != .success, let hint = CommandSuggestion(for: arguments, of: Self.self) else { exit(withError: error) }
        writeError("\(fullMessage(for: error))\n\(hint.text)\n")
        exit(withError: code)
    }

    fileprivate static func end(running error: any Error, _ arguments: [String], _ status: (any Error) -> ExitCode?) -> Never {
        let code: ExitCode
        switch error {
        case is CleanExit, is ExitCode: exit(withError: error)
        case let refusal as Refusal: code = refusal.status
        case is ValidationError: code = ToolExit.usage
        // Help is a separate command, whose result is its text.
        case _ where exitCode(for: error) == .success: exit(withError: error)
        default: code = status(error) ?? ToolExit.failure
        }
        let message = error is ValidationError ? self.message(for: error) : text(of: error)
        writeError("Error: \(message.printableLines)\n")
        // A word that was parsed as a container may have been meant as a command.
        if code == ToolExit.usage, let hint = CommandSuggestion(for: arguments, of: Self.self) { writeError("\(hint.text)\n") }
        exit(withError: code)
    }

    private static func text(of error: any Error) -> String { (error as? any LocalizedError)?.errorDescription ?? String(describing: error) }
}
