internal import CLinux
internal import Glibc
package import SystemPackage

/// The file system of a path, and its free space.
package struct FileSystemFacts: Sendable, Hashable {
    /// The type of the file system, from statfs(2).
    package var type: UInt32
    /// The size in bytes.
    package var size: UInt64
    /// The bytes that an unprivileged user can still write, within the user's quota.
    package var available: UInt64
    /// The greatest number of files; 0 if there is no limit.
    package var files: UInt64
    package var freeFiles: UInt64
    /// Whether names that differ only in case are one name here.
    package var foldsCase: Bool

    package init(type: UInt32, size: UInt64, available: UInt64, files: UInt64 = 0, freeFiles: UInt64 = 0, foldsCase: Bool = false) {
        self.type = type
        self.size = size
        self.available = available
        self.files = files
        self.freeFiles = freeFiles
        self.foldsCase = foldsCase
    }

    /// Asks the kernel; nil if there is nothing at the path, or it cannot be inspected.
    package init?(at path: FilePath) {
        var facts = clinux_filesystem()
        guard path.withPlatformString({ clinux_statfs($0, &facts) }) == 0 else { return nil }
        self.init(
            type: UInt32(truncatingIfNeeded: facts.type), size: facts.size, available: facts.available, files: facts.files,
            freeFiles: facts.free_files)
        let descriptor = path.withPlatformString { open($0, O_RDONLY | O_NONBLOCK | O_CLOEXEC) }
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        foldsCase = Self.foldingCase.contains(type) || clinux_folds_case(descriptor) == 1
        var limit: UInt64 = 0
        var used: UInt64 = 0
        if clinux_quota(descriptor, geteuid(), &limit, &used) == 0, limit > 0 { available = min(available, limit - min(limit, used)) }
    }

    /// The name of a file system whose files are on another machine; nil for a local one.
    ///
    /// The kernel does not report changes that other machines make there, and locks may work on one machine only.
    package var network: String? { Self.networks[type] }

    // From statfs(2) and the kernel's include/uapi/linux/magic.h.
    private static let networks: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x0102_1997: "9P",
        0x00C3_6400: "Ceph", 0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    ]
    /// The types of FAT, exFAT, CIFS and SMB.
    private static let foldingCase: Set<UInt32> = [0x4D44, 0x2011_BAB0, 0xFF53_4D42, 0xFE53_4D42, 0x517B]
    /// Whether it is FUSE, such as sshfs; some FUSE file systems are local.
    package var isFUSE: Bool { type == 0x6573_5546 }
}
