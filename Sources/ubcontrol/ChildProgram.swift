import CLinux
import Foundation
import Glibc
import SystemPackage

/// Other programs that the setup runs.
enum ChildProgram {
    /// Returns the path of a program on the `PATH`; nil if there is none.
    static func path(_ name: String, environment: [String: String] = ProcessInfo.processInfo.environment) -> FilePath? {
        (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").filter { $0.hasPrefix("/") }
            .map { FilePath(String($0)).appending(name) }.first { $0.withPlatformString { access($0, X_OK) } == 0 }
    }

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments.
    ///   - environment: variables to add to this process's.
    ///   - input: its standard input; at most what a pipe holds.
    ///   - isShown: whether it writes to this process's output; otherwise its output is returned.
    /// - Returns: its exit status, or -1 after a signal, and what it wrote to standard output and standard error.
    /// - Throws: an error when it cannot be started.
    static func run(
        _ program: FilePath, _ arguments: [String], environment: [String: String] = [:], input: String = "", isShown: Bool = false
    ) async throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = URL(filePath: program.string)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        if !isShown {
            process.standardOutput = stdout
            process.standardError = stdout
        }
        let (ended, ending) = AsyncStream.makeStream(of: Int32.self)
        process.terminationHandler = { process in
            ending.yield(process.terminationReason == .exit ? process.terminationStatus : -1)
            ending.finish()
        }
        try process.run()
        try? stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try? stdin.fileHandleForWriting.close()
        let output = isShown ? Data() : (try? stdout.fileHandleForReading.readToEnd()) ?? Data()
        var status: Int32 = -1
        for await end in ended { status = end }
        return (status, String(decoding: output, as: UTF8.self))
    }

    /// Starts a program that goes on when this process and its terminal have ended; see posix_spawn(3).
    ///
    /// - Parameters:
    ///   - program: its path.
    ///   - arguments: its arguments.
    ///   - log: the file to which its output is appended.
    /// - Returns: its process.
    /// - Throws: `Errno`.
    static func startDetached(_ program: FilePath, _ arguments: [String], log: FilePath) throws(Errno) -> Int32 {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        _ = log.withPlatformString { posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, $0, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO)
        // No pipe that this process has inherited stays open in a program that outlives it.
        for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
            if let number = Int32(name), number > 2 { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID is 0x80. No signal is blocked or ignored.
        posix_spawnattr_setflags(&attributes, Int16(0x80 | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var words = ([program.string] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let error = program.withPlatformString { posix_spawn(&process, $0, &actions, &attributes, &words, clinux_environment()) }
        guard error == 0 else { throw Errno(rawValue: error) }
        return process
    }

    /// Whether a program that this process has started has ended.
    static func hasEnded(_ process: Int32) -> Bool { waitpid(process, nil, WNOHANG) == process }
}
