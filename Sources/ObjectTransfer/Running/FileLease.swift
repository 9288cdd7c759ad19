internal import CLinux
internal import Glibc
internal import SystemPackage

/// Leases of the files of a document, fcntl(2): while they stand, nobody has opened one in a way that they exclude.
struct FileLeases: Sendable {
    private let leases: [FileLease]

    /// The most files of a package that is evicted: each needs a descriptor, of which a process has 1,024.
    static let most = 500

    /// Takes leases for writing, so that no other program has a file open.
    ///
    /// - Throws: ``DocumentDisk/Fault`` if a program has one open.
    static func excludingAll(_ files: [FilePath]) throws -> FileLeases {
        var leases: [FileLease] = []
        for file in files {
            guard let lease = FileLease(file, writing: true) else {
                let error = Errno(rawValue: errno)
                FileLeases(leases: leases).end()
                switch error {
                case .noSuchFileOrDirectory: throw DocumentDisk.Fault("it is not here")
                case .resourceTemporarilyUnavailable: throw DocumentDisk.Fault("another program has it open")
                case .permissionDenied, .notPermitted: throw DocumentDisk.Fault("it belongs to another user (\(error))")
                default: throw DocumentDisk.Fault("its file system does not tell whether a program has it open (\(error))")
                }
            }
            leases.append(lease)
        }
        return FileLeases(leases: leases)
    }

    /// Takes leases for reading, so that no other program has a file open to write, as far as there are descriptors and the file
    /// system has leases.
    ///
    /// - Throws: ``DocumentDisk/Fault`` if a program has one open to write.
    static func excludingWriters(_ files: [FilePath]) throws -> FileLeases {
        var leases: [FileLease] = []
        for file in files.prefix(most) {
            if let lease = FileLease(file, writing: false) {
                leases.append(lease)
            } else if Errno(rawValue: errno) == .resourceTemporarilyUnavailable {
                FileLeases(leases: leases).end()
                throw DocumentDisk.Fault("another program has it open to write")
            }
        }
        return FileLeases(leases: leases)
    }

    /// The open files, in order.
    var files: [FileDescriptor] { leases.map { FileDescriptor(rawValue: $0.descriptor) } }

    /// Whether no lease was broken.
    var stand: Bool { leases.allSatisfy { clinux_has_lease($0.descriptor, $0.isForWriting ? 1 : 0) != 0 } }

    func end() { for lease in leases { close(lease.descriptor) } }
}

/// The lease of one file.
private struct FileLease: Sendable {
    let descriptor: Int32
    let isForWriting: Bool

    init?(_ file: FilePath, writing: Bool) {
        isForWriting = writing
        descriptor = open(file.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        guard clinux_lease(descriptor, writing ? 1 : 0) == 0 else {
            let error = errno
            close(descriptor)
            errno = error
            return nil
        }
        clinux_keep_access_time(descriptor)
    }
}
