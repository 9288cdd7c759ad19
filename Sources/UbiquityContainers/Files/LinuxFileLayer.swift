internal import CLinux
package import Foundation
internal import Glibc
package import SystemPackage

/// The file layer of the Linux kernel.
package struct LinuxFileLayer: FileLayer {
    package init() {}

    package func silence(of directory: FilePath) -> Date? { DirectoryProbe.silence(of: directory) }

    package func names(in directory: FilePath) throws(Errno) -> [String] {
        try list(directory, flags: 0)
    }

    package func directoryNames(in directory: FilePath) throws(Errno) -> [String]? {
        do {
            // A link in the last component is ENOTDIR, as is anything else that is no directory (open(2), O_DIRECTORY).
            return try list(directory, flags: O_NOFOLLOW)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch .notDirectory {
            return nil
        }
    }

    private func list(_ directory: FilePath, flags: Int32) throws(Errno) -> [String] {
        let descriptor = open(directory.string, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        guard let stream = fdopendir(descriptor) else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(validatingCString: $0) }
            }
            // A name that is not UTF-8 does not belong to this package.
            if let name, name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw Errno(rawValue: errno) }
        return names
    }

    package func read(_ file: FilePath, limit: Int) throws(Errno) -> [UInt8] {
        let descriptor = open(file.string, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Errno(rawValue: errno) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw Errno.invalidArgument }
        guard status.st_size <= limit else { throw Errno.fileTooLarge }
        var bytes: [UInt8] = []
        var failure: Errno?
        bytes = [UInt8](unsafeUninitializedCapacity: Int(status.st_size)) { buffer, count in
            while count < buffer.count {
                let got = Glibc.read(descriptor, buffer.baseAddress! + count, buffer.count - count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = Errno(rawValue: errno) }
                if got <= 0 { return }
                count += got
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func size(of file: FilePath) throws(Errno) -> Int64 {
        var status = stat()
        guard lstat(file.string, &status) == 0 else { throw Errno(rawValue: errno) }
        return Int64(status.st_size)
    }

    package func kind(of path: FilePath) throws(Errno) -> FileKind? {
        var status = stat()
        if lstat(path.string, &status) != 0 {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Errno(rawValue: errno)
        }
        return switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        default: .other
        }
    }

    package func makeDirectory(_ path: FilePath) throws(Errno) {
        if mkdir(path.string, 0o755) == 0 { return }
        let error = Errno(rawValue: errno)
        if error == .fileExists, try kind(of: path) == .directory { return }
        throw error
    }

    package func writeNew(_ file: FilePath, _ bytes: [UInt8]) throws(Errno) { try writeNew(file, bytes, syncing: true) }

    /// Writes a new file.
    ///
    /// - Parameters:
    ///   - file: the path, at which nothing may be.
    ///   - bytes: the content.
    ///   - syncing: whether the content is durable at the return. Otherwise it may be empty or cut off after a loss of
    ///     power.
    /// - Throws: `Errno`; nothing is at the path then, unless it was there before.
    package func writeNew(_ file: FilePath, _ bytes: [UInt8], syncing: Bool) throws(Errno) {
        let descriptor = open(file.string, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        var written = 0
        while written < bytes.count {
            let put = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress! + written, $0.count - written) }
            if put < 0, errno == EINTR { continue }
            guard put >= 0 else {
                let error = Errno(rawValue: errno)
                unlink(file.string)
                throw error
            }
            written += put
        }
        guard !syncing || fsync(descriptor) == 0 else {
            let error = Errno(rawValue: errno)
            unlink(file.string)
            throw error
        }
    }

    package func renameNew(_ from: FilePath, to: FilePath) throws(Errno) {
        guard clinux_rename_new(AT_FDCWD, from.string, AT_FDCWD, to.string) != 0 else { return }
        // File systems without RENAME_NOREPLACE (NFS, some FUSE) return EINVAL. link(2) also refuses an existing name.
        guard errno == EINVAL || errno == ENOSYS else { throw Errno(rawValue: errno) }
        guard link(from.string, to.string) == 0 else { throw Errno(rawValue: errno) }
        unlink(from.string)
    }

    package func renameOver(_ from: FilePath, to: FilePath) throws(Errno) {
        guard rename(from.string, to.string) == 0 else { throw Errno(rawValue: errno) }
    }

    package func syncDirectory(_ directory: FilePath) throws(Errno) {
        try sync(directory, flags: O_RDONLY | O_DIRECTORY, by: fsync)
    }

    package func syncFile(_ file: FilePath) throws(Errno) {
        // This syncs content and size; fdatasync(2) leaves out only the times.
        try sync(file, flags: O_RDONLY | O_NOFOLLOW, by: fdatasync)
    }

    private func sync(_ path: FilePath, flags: Int32, by call: (Int32) -> Int32) throws(Errno) {
        let descriptor = open(path.string, flags | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        defer { close(descriptor) }
        guard call(descriptor) == 0 else { throw Errno(rawValue: errno) }
    }

    package func remove(_ file: FilePath) throws(Errno) {
        guard unlink(file.string) != 0, errno != ENOENT else { return }
        throw Errno(rawValue: errno)
    }

    package func removeDirectory(_ directory: FilePath) throws(Errno) {
        guard rmdir(directory.string) != 0, errno != ENOENT else { return }
        throw Errno(rawValue: errno)
    }
}
