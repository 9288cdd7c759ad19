internal import Glibc
internal import SystemPackage

/// Holds on to an item on disk, so that it can be found again after a program has moved it without coordination.
///
/// It is a descriptor with O_PATH, which gives no access to the content, and is in nobody's way; proc(5) tells its present path.
final class ItemHold: Sendable {
    private let descriptor: Int32
    private let device: UInt64
    private let inode: UInt64

    /// Takes hold of an item.
    ///
    /// - Returns: nil if there is none.
    init?(_ item: FilePath) {
        // O_PATH has no name in every C library's header.
        let path: Int32 = 0o10000000
        descriptor = item.withPlatformString { open($0, path | O_NOFOLLOW | O_CLOEXEC) }
        var status = Glibc.stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    deinit { close(descriptor) }

    /// Whether the item is at a path.
    func isAt(_ path: FilePath) -> Bool {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else { return false }
        return UInt64(status.st_dev) == device && UInt64(status.st_ino) == inode
    }

    /// Where the item is now; nil if it has been deleted.
    var path: FilePath? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let count = readlink("/proc/self/fd/\(descriptor)", &buffer, Int(PATH_MAX))
        guard count > 0 else { return nil }
        let path = buffer.withUnsafeBufferPointer { FilePath(platformString: $0.baseAddress!) }
        return isAt(path) ? path : nil
    }
}
