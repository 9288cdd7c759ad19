import Foundation
import Glibc
package import SystemPackage

extension BrokerPlace {
    /// The user's: `$XDG_RUNTIME_DIR/ubiquity`, else `/run/user/<uid>/ubiquity`, else one below the user's home, else `/dev/shm/ubiquity-<uid>`, else one
    /// under `$TMPDIR`.
    ///
    /// The second is what systemd makes the variable say, so that a process without the variable meets those with it. The third is where nobody else can
    /// make anything. In the last two another user can take the name first, so they are for users without a home of their own. Which of them it is hangs
    /// on nothing that another user, or a process's own environment but for the first, could change: two places would be two brokers.
    ///
    /// - Parameters:
    ///   - environment: the process's own unless given.
    ///   - user: whose place.
    ///   - home: the user's home; nil where there is none.
    /// - Returns: the place; nothing is made yet.
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

    /// The home of a user, by passwd(5): the variable may differ between the user's processes.
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

    /// Whether a directory is a user's, who alone can make something in it, and can.
    private static func isPrivate(_ directory: FilePath, of user: UInt32) -> Bool {
        guard let status = status(of: directory), status.st_uid == user, status.st_mode & 0o022 == 0 else { return false }
        return directory.withPlatformString { faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) } == 0
    }

    /// See stat(2); nil when no directory is there.
    private static func status(of path: FilePath) -> Glibc.stat? {
        var status = Glibc.stat()
        guard path.withPlatformString({ stat($0, &status) }) == 0, status.st_mode & S_IFMT == S_IFDIR else { return nil }
        return status
    }

    /// What tells the machines and containers apart that may share a home: whose processes cannot see each other have brokers of their own.
    private static let machine: String = {
        let identifier = (try? String(contentsOfFile: "/etc/machine-id", encoding: .utf8)) ?? ""
        var namespace = Glibc.stat()
        stat("/proc/self/ns/pid", &namespace)
        return "\(identifier.prefix(8).filter(\.isHexDigit))-\(namespace.st_ino)"
    }()
}
