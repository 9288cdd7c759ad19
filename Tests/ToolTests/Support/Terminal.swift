import Foundation
import SystemPackage
import ToolProcesses

/// Runs a program on a terminal of its own, where somebody types.
///
/// - Parameters:
///   - command: the program, and its arguments.
///   - answer: what is typed when it asks; nil for nothing.
///   - environment: added to this process's.
/// - Returns: how it ended; what it wrote to either stands in the output, as the terminal got it.
/// - Throws: an error where it cannot be started.
func onTerminal(_ command: [String], typing answer: String? = nil, environment: [String: String] = [:]) async throws -> Tool.Outcome {
    // pty(7): a child with a terminal; what it writes is copied until it has ended.
    let script = """
        import os, pty, sys
        child, terminal = pty.fork()
        if child == 0:
            os.execv(sys.argv[2], sys.argv[2:])
        written = b''
        asked = sys.argv[1] == ''
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
            if not asked and b' to continue: ' in written:
                asked = True
                os.write(terminal, sys.argv[1].encode() + b'\\n')
        status = os.waitpid(child, 0)[1]
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
        sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 99)
        """
    let words = [Tool.path(command[0]).string] + command.dropFirst()
    return try await Tool.run("/usr/bin/python3", ["-c", script, answer ?? ""] + words, environment: environment)
}
