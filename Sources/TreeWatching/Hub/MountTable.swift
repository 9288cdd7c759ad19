import CLinux
import Glibc

/// Reports when a file system is mounted or unmounted: a mount raises no inotify event above it, and a lazy unmount
/// none below it.
enum MountTable {
    /// Calls back at each change, from its own thread, until the body returns false.
    ///
    /// It never calls back without /proc; see proc(5) about polling `mountinfo`.
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
