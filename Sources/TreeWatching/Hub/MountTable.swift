import CLinux
import Glibc

/// Tells when a file system is mounted or unmounted, for that raises no inotify event above it, and a lazy unmount none below it either.
enum MountTable {
    /// Calls back at each change, from a thread of its own that sleeps otherwise, until the body returns false.
    ///
    /// Where there is no /proc nothing is told; see proc(5) on polling `mountinfo`.
    static func watch(_ body: @escaping @Sendable () -> Bool) {
        let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        guard table >= 0 else { return }
        HubThread.start {
            var descriptor = pollfd(fd: table, events: Int16(POLLPRI), revents: 0)
            while true {
                let count = clinux_poll(&descriptor, 1, -1)
                if count < 0, errno == EINTR { continue }
                guard count > 0, Int32(descriptor.revents) & (POLLPRI | POLLERR) != 0, body() else { break }
            }
            close(table)
        }
    }
}
