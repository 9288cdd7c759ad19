internal import CLinux
internal import Glibc
package import SystemPackage

/// What a path lies on, and what room there is.
package struct FileSystemFacts: Sendable, Hashable {
    /// The number that statfs(2) gives to this kind of file system.
    package var type: UInt32
    /// In bytes.
    package var size: UInt64
    /// What an unprivileged user can still write, in bytes, the user's quota included.
    package var available: UInt64
    /// How many files there can be; 0 where that is not limited.
    package var files: UInt64
    package var freeFiles: UInt64
    /// Whether names that differ in case only are one name here.
    package var foldsCase: Bool

    package init(type: UInt32, size: UInt64, available: UInt64, files: UInt64 = 0, freeFiles: UInt64 = 0, foldsCase: Bool = false) {
        self.type = type
        self.size = size
        self.available = available
        self.files = files
        self.freeFiles = freeFiles
        self.foldsCase = foldsCase
    }

    /// Asks the kernel; nil where nothing is at the path, or it cannot be looked at.
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

    /// The name of a file system whose files another machine keeps; nil for one of this machine.
    ///
    /// The kernel tells no process here of changes that another machine makes there, and locks may hold on one machine only.
    package var network: String? { Self.networks[type] }

    // statfs(2) and the kernel's include/uapi/linux/magic.h.
    private static let networks: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x0102_1997: "9P",
        0x00C3_6400: "Ceph", 0x7375_7245: "Coda", 0x0BD0_0BD0: "Lustre", 0x0116_1970: "GFS2", 0x7461_636F: "OCFS2",
    ]
    /// FAT, exFAT, CIFS, SMB.
    private static let foldingCase: Set<UInt32> = [0x4D44, 0x2011_BAB0, 0xFF53_4D42, 0xFE53_4D42, 0x517B]
    /// FUSE: sshfs and the like, but also local ones.
    package var isFUSE: Bool { type == 0x6573_5546 }
}
