import CLinux
import Foundation
import Glibc
package import SystemPackage

/// Finds and starts the resident broker.
package enum BrokerStarter {
    /// Where the program `ubiquityd` is.
    ///
    /// `$UBIQUITY_BROKER`, when it is set, is the program's path, or empty where none is to be started. Else it lies beside the running
    /// program, in a `libexec`, or on the `PATH`.
    ///
    /// - Parameter environment: the environment.
    /// - Returns: nil when there is none, so that a client has to be the host.
    package static func program(environment: [String: String] = ProcessInfo.processInfo.environment) -> FilePath? {
        if let path = environment["UBIQUITY_BROKER"] { return path.isEmpty ? nil : FilePath(path) }
        var places: [FilePath] = []
        if let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            let directory = FilePath(own).removingLastComponent()
            places += [directory, directory.removingLastComponent().appending("libexec")]
        }
        places += ["/usr/local/libexec", "/usr/libexec"]
        places += (environment["PATH"] ?? "").split(separator: ":").filter { $0.hasPrefix("/") }.map { FilePath(String($0)) }
        return places.map { $0.appending("ubiquityd") }.first { $0.withPlatformString { access($0, X_OK) } == 0 }
    }

    /// Starts the resident broker, and returns once it listens.
    ///
    /// - Parameters:
    ///   - program: `ubiquityd`.
    ///   - place: where it is to listen.
    ///   - lock: the lock file with the starting lock, which the broker inherits.
    /// - Returns: its process, or nil when it could not start; see posix_spawn(3).
    static func start(_ program: FilePath, at place: BrokerPlace, lock: FileDescriptor) -> Int32? {
        var ends: [CInt] = [0, 0]
        guard clinux_pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // In two steps, for one of them may have the other's number. What else it inherits it closes, so that it keeps no pipe of this process's open.
        let (lockNumber, readyNumber): (CInt, CInt) = (3, 4)
        posix_spawn_file_actions_adddup2(&actions, lock.rawValue, 198)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 199)
        posix_spawn_file_actions_adddup2(&actions, 198, lockNumber)
        posix_spawn_file_actions_adddup2(&actions, 199, readyNumber)
        for standard: CInt in 0...2 { posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID, so that no terminal's signals reach it, and no signal is blocked or ignored.
        posix_spawnattr_setflags(&attributes, Int16(0x80 | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        let words = [
            program.string, "--directory", place.directory.string, "--lock-descriptor", "\(lockNumber)", "--ready-descriptor", "\(readyNumber)",
        ]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let error = program.withPlatformString { posix_spawn(&process, $0, &actions, &attributes, &arguments, clinux_environment()) }
        close(ends[1])
        guard error == 0 else { return nil }
        var ready: UInt8 = 0
        while true {
            let count = read(ends[0], &ready, 1)
            if count == 1 { return process }
            if count < 0, errno == EINTR { continue }
            // It ended without having got ready.
            waitpid(process, nil, 0)
            return nil
        }
    }
}
