import Glibc
import SystemPackage
import Testing

/// How often directories and the files in them have been opened, as inotify(7) tells.
final class Opens {
    private let descriptor: Int32

    init(of directories: [FilePath]) throws {
        descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
        try #require(descriptor >= 0)
        for directory in directories { try #require(inotify_add_watch(descriptor, directory.string, UInt32(IN_OPEN)) >= 0) }
    }

    deinit { close(descriptor) }

    /// Since the last time that it was asked.
    var count: Int {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        var found = 0
        while true {
            let size = read(descriptor, &buffer, buffer.count)
            guard size > 0 else { return found }
            var offset = 0
            while offset < size {
                // A watch, a mask, a cookie and a length, of four bytes each, and the name.
                let length = buffer[(offset + 12)..<(offset + 16)].enumerated().reduce(0) { $0 + Int($1.element) << (8 * $1.offset) }
                offset += 16 + length
                found += 1
            }
        }
    }
}
