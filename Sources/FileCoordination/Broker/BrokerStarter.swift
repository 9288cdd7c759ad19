import CLinux
import Foundation
import Glibc
package import SystemPackage

/// Finds and starts the resident broker.
package enum BrokerStarter {
    /// Returns the path of the program `ubiquityd`.
    ///
    /// If `$UBIQUITY_BROKER` is set, it is the program's path; an empty value means that no program is started.
    /// Otherwise the program is next to the running program, in a `libexec`, or on the `PATH`.
    ///
    /// - Parameter environment: the environment.
    /// - Returns: nil if there is no program, so that a client must host the broker.
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

    /// Starts the resident broker, and returns when it listens.
    ///
    /// - Parameters:
    ///   - program: `ubiquityd`.
    ///   - place: the place where it listens.
    ///   - lock: the lock file with the starting lock, which the broker inherits.
    /// - Returns: its process, or nil if it could not start; see posix_spawn(3).
    static func start(_ program: FilePath, at place: BrokerPlace, lock: FileDescriptor) -> Int32? {
        var ends: [CInt] = [0, 0]
        guard clinux_pipe(&ends) == 0 else { return nil }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Two steps, because one descriptor may have the other's number. The broker closes all others that it inherits,
        // so that it keeps no pipe of this process open.
        let (lockNumber, readyNumber): (CInt, CInt) = (3, 4)
        posix_spawn_file_actions_adddup2(&actions, lock.rawValue, 198)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 199)
        posix_spawn_file_actions_adddup2(&actions, 198, lockNumber)
        posix_spawn_file_actions_adddup2(&actions, 199, readyNumber)
        for standard: CInt in 0...2 { posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // With POSIX_SPAWN_SETSID no terminal's signals reach the broker. No signal is blocked or ignored.
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
            // The broker ended before it was ready.
            waitpid(process, nil, 0)
            return nil
        }
    }
}
