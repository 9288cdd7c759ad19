internal import CLinux
internal import Foundation
internal import Glibc
package import SystemPackage

/// Other programs that a tool runs; see posix_spawn(3).
///
/// A program gets its standard streams and no other descriptor, so what it leaves running keeps none of this process.
package enum ChildProgram {
    /// Returns the path of a program on the `PATH`; nil if there is none.
    package static func path(_ name: String, environment: [String: String] = ProcessInfo.processInfo.environment) -> FilePath? {
        (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { FilePath(String($0)).appending(name) }.first { $0.withPlatformString { access($0, X_OK) } == 0 }
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments.
    ///   - environment: variables to add to this process's.
    ///   - input: its standard input; at most what a pipe holds, 64 KiB.
    ///   - isShown: whether it writes to this process's output; otherwise its output is returned.
    /// - Returns: its exit status, or -1 after a signal, and what it wrote to standard output and standard error.
    /// - Throws: `Errno` when it cannot be started.
    package static func run(
        _ program: FilePath, _ arguments: [String], environment: [String: String] = [:], input: String = "", isShown: Bool = false
    ) throws(Errno) -> (status: Int32, output: String) {
        let (stdin, stdout) = (try pipe(), try pipe())
        defer { for end in [stdin.reading, stdout.reading] { close(end) } }
        var written: Set = [stdin.writing, stdout.writing]
        defer { for end in written { close(end) } }
        let process = try spawn(program, arguments, environment: environment) { actions in
            posix_spawn_file_actions_adddup2(&actions, stdin.reading, STDIN_FILENO)
            guard !isShown else { return }
            posix_spawn_file_actions_adddup2(&actions, stdout.writing, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, stdout.writing, STDERR_FILENO)
        }
        close(stdout.writing)
        // SIGPIPE is ignored in a process that uses SwiftNIO; a program that does not read gets nothing.
        if !input.isEmpty { _ = Array(input.utf8).withUnsafeBytes { write(stdin.writing, $0.baseAddress!, $0.count) } }
        close(stdin.writing)
        written = []
        var (output, buffer) = ([UInt8](), [UInt8](repeating: 0, count: 4096))
        while true {
            let count = read(stdout.reading, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            output += buffer.prefix(count)
        }
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        // WIFEXITED and WEXITSTATUS of wait(2).
        return (status & 0x7F == 0 ? status >> 8 & 0xFF : -1, String(decoding: output, as: UTF8.self))
    }

    /// Starts a program that goes on when this process and its terminal have ended.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments.
    ///   - log: the file to which its output is appended.
    /// - Returns: its process.
    /// - Throws: `Errno`.
    package static func startDetached(_ program: FilePath, _ arguments: [String], log: FilePath) throws(Errno) -> Int32 {
        // POSIX_SPAWN_SETSID.
        try spawn(program, arguments, flags: 0x80) { actions in
            posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
            _ = log.withPlatformString { posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, $0, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
            posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        }
    }

    /// Whether a program that this process has started has ended.
    package static func hasEnded(_ process: Int32) -> Bool { waitpid(process, nil, WNOHANG) == process }

    private static func pipe() throws(Errno) -> (reading: Int32, writing: Int32) {
        var ends: [CInt] = [0, 0]
        guard clinux_pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ program: FilePath, _ arguments: [String], environment: [String: String] = [:], flags: Int32 = 0,
        streams: (inout posix_spawn_file_actions_t) -> Void
    ) throws(Errno) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        streams(&actions)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            if let number = Int32(name), number > 2 { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // No signal is blocked or ignored.
        posix_spawnattr_setflags(&attributes, Int16(flags | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        var words = ([program.string] + arguments).map { strdup($0) } + [nil]
        var values = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + values { free(word) } }
        var process: pid_t = 0
        let error = program.withPlatformString { posix_spawn(&process, $0, &actions, &attributes, &words, &values) }
        guard error == 0 else { throw Errno(rawValue: error) }
        return process
    }
}
