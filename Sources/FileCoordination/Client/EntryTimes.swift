import CLinux
import Glibc
import SystemPackage

/// The times at which the entries of a directory last changed, at any depth.
enum EntryTimes {
    /// Looks for an entry that has changed in a span of time; a removed or renamed entry counts by its directory.
    ///
    /// - Parameters:
    ///   - directory: the directory, which itself does not count.
    ///   - span: nanoseconds since 1970, by the kernel's clock of file times.
    /// - Returns: true for the first such entry that is found; false if the directory is not there.
    static func hasChange(below directory: FilePath, in span: ClosedRange<Int64>) -> Bool {
        var pending = [directory.withPlatformString { Array(UnsafeBufferPointer(start: $0, count: strlen($0))) }]
        while let path = pending.popLast() {
            // A directory that is gone counts by the one that contained it.
            guard let stream = opendir(path + [0]) else { continue }
            defer { closedir(stream) }
            while let entry = readdir(stream) {
                let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.bindMemory(to: CChar.self).prefix { $0 != 0 }) }
                if name == [0x2E] || name == [0x2E, 0x2E] { continue }
                var status = Glibc.stat()
                guard fstatat(dirfd(stream), name + [0], &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
                if span.contains(clinux_changed(&status)) { return true }
                if status.st_mode & S_IFMT == S_IFDIR { pending.append(path + [0x2F] + name) }
            }
        }
        return false
    }
}
