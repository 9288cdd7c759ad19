internal import Foundation
internal import Glibc
package import SystemPackage

/// The entry at a path, and this user's permissions.
package struct PathFacts: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case nothing
        case directory
        case file
        /// A symbolic link with this text.
        case link(FilePath)
        /// A socket, pipe or device.
        case other
        /// It cannot be inspected.
        case hidden(Errno)
    }

    package var path: FilePath
    package var kind: Kind
    /// The permission bits of chmod(2).
    package var mode: UInt32 = 0
    package var owner: UInt32 = 0
    /// For a directory: whether it can be listed and entered.
    package var isReadable = false
    /// For a directory: whether entries can be created and removed.
    package var isWritable = false

    package init(path: FilePath, kind: Kind, mode: UInt32 = 0, owner: UInt32 = 0, isReadable: Bool = false, isWritable: Bool = false) {
        self.path = path
        self.kind = kind
        self.mode = mode
        self.owner = owner
        self.isReadable = isReadable
        self.isWritable = isWritable
    }

    /// Inspects a path with lstat(2), readlink(2) and, for the effective user, faccessat(2).
    package init(at path: FilePath) {
        self.init(path: path, kind: .nothing)
        var status = stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else {
            if errno != ENOENT, errno != ENOTDIR { kind = .hidden(Errno(rawValue: errno)) }
            return
        }
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFDIR: .directory
            case S_IFREG: .file
            case S_IFLNK: .link(Self.text(of: path))
            default: .other
            }
        mode = status.st_mode & 0o7777
        owner = status.st_uid
        let passing = kind == .directory ? X_OK : 0
        isReadable = path.withPlatformString { faccessat(AT_FDCWD, $0, R_OK | passing, AT_EACCESS) } == 0
        isWritable = path.withPlatformString { faccessat(AT_FDCWD, $0, W_OK | passing, AT_EACCESS) } == 0
    }

    /// Inspects a directory that may lie in a file system that does not answer.
    ///
    /// - Parameter path: the directory. Blocks for two seconds at most.
    package init(answeringAt path: FilePath) {
        if LinuxFileLayer().silence(of: path) != nil {
            self.init(path: path, kind: .hidden(.timedOut))
        } else {
            self.init(at: path)
        }
    }

    /// Whether its file system does not answer.
    package var isSilent: Bool { kind == .hidden(.timedOut) }

    /// Whether users other than the owner may read it.
    package var isOpenToReaders: Bool { mode & 0o077 != 0 }
    /// Whether users other than the owner may write it.
    package var isOpenToWriters: Bool { mode & 0o022 != 0 }

    /// Returns the text of a symbolic link; empty if it cannot be read.
    package static func text(of link: FilePath) -> FilePath {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
            let count = link.withPlatformString { readlink($0, buffer.baseAddress!, Int(PATH_MAX)) }
            guard count >= 0 else { return "" }
            buffer[count] = 0
            return FilePath(platformString: buffer.baseAddress!)
        }
    }

    /// Returns a path without symbolic links; nil if there is nothing at the path.
    package static func real(_ path: FilePath) -> FilePath? {
        guard let real = path.withPlatformString({ realpath($0, nil) }) else { return nil }
        defer { free(real) }
        return FilePath(platformString: real)
    }

    /// Returns an absolute path without `.` and `..`; a relative path is based on the working directory.
    package static func absolute(_ path: FilePath) -> FilePath {
        let absolute = path.isRelative ? FilePath(FileManager.default.currentDirectoryPath).pushing(path) : path
        return absolute.lexicallyNormalized()
    }

    /// Returns an absolute path in which the links of the existing part are resolved.
    package static func resolved(_ path: FilePath) -> FilePath {
        var path = absolute(path)
        var missing: [FilePath.Component] = []
        while true {
            if let real = real(path) { return missing.reversed().reduce(real) { $0.appending($1) } }
            guard let last = path.lastComponent else { return path }
            missing.append(last)
            path.removeLastComponent()
        }
    }
}
