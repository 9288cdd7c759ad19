import Foundation
import Glibc
package import SystemPackage

extension BrokerPlace {
    /// Returns the user's place: `$XDG_RUNTIME_DIR/ubiquity`, else `/run/user/<uid>/ubiquity`, else one below the
    /// user's home, else `/dev/shm/ubiquity-<uid>`, else one under `$TMPDIR`.
    ///
    /// systemd sets the variable to the second path, so processes with and without the variable meet there. In the
    /// home, only the user can create files. In the last two, another user can take the name first, so they serve only
    /// users without a home. Apart from `$XDG_RUNTIME_DIR`, neither another user nor a process's environment can change
    /// the choice: two places would mean two brokers.
    ///
    /// - Parameters:
    ///   - environment: the environment; by default that of the process.
    ///   - user: the user.
    ///   - home: the user's home; nil if there is none.
    /// - Returns: the place; nothing is created yet.
    package static func standard(
        environment: [String: String] = ProcessInfo.processInfo.environment, user: UInt32 = geteuid(), home: FilePath? = Self.home(of: geteuid())
    ) -> BrokerPlace {
        if let runtime = environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") {
            return BrokerPlace(directory: FilePath(runtime).appending("ubiquity"))
        }
        let runtime = FilePath("/run/user/\(user)")
        if status(of: runtime)?.st_uid == user { return BrokerPlace(directory: runtime.appending("ubiquity")) }
        if let home, isPrivate(home, of: user) {
            return BrokerPlace(directory: home.pushing(".local/state/ubiquity").appending("broker-\(machine)"), below: home)
        }
        if status(of: "/dev/shm") != nil { return BrokerPlace(directory: FilePath("/dev/shm/ubiquity-\(user)")) }
        return BrokerPlace(directory: FilePath(environment["TMPDIR"] ?? "/tmp").appending("ubiquity-\(user)"))
    }

    /// Returns the home of a user from passwd(5), because the variable may differ between the user's processes.
    package static func home(of user: UInt32) -> FilePath? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { buffer in
            var entry = passwd()
            var found: UnsafeMutablePointer<passwd>?
            guard getpwuid_r(user, &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil, let home = entry.pw_dir,
                home.pointee == 0x2F
            else { return nil }
            return FilePath(platformString: home)
        }
    }

    /// Returns whether a directory belongs to a user, and only that user can create files in it.
    private static func isPrivate(_ directory: FilePath, of user: UInt32) -> Bool {
        guard let status = status(of: directory), status.st_uid == user, status.st_mode & 0o022 == 0 else { return false }
        return directory.withPlatformString { faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) } == 0
    }

    /// Returns the result of stat(2); nil if no directory is there.
    private static func status(of path: FilePath) -> Glibc.stat? {
        var status = Glibc.stat()
        guard path.withPlatformString({ stat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        return status
    }

    /// Identifies the machine or container: several may share a home, and processes that cannot see each other need
    /// separate brokers.
    private static let machine: String = {
        let identifier = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        var namespace = Glibc.stat()
        stat("/proc/self/ns/pid", &namespace)
        return "\(identifier.prefix(8).filter(\.isHexDigit))-\(namespace.st_ino)"
    }()
}
