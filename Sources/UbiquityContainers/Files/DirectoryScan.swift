internal import Glibc
package import SystemPackage

/// Scans directories with up to a hundred thousand entries, without making strings of names, and with one look at a
/// file if its size is needed.
package enum DirectoryScan {
    /// An entry during the scan.
    package struct Entry {
        /// The name, valid only during the call; it need not be UTF-8.
        package let name: UnsafeRawBufferPointer
        package let kind: FileKind
        /// The size in bytes; 0 if sizes are not requested, or the entry is not a file.
        package let size: Int64
    }

    /// Scans a directory without following links, and skips entries that disappear meanwhile.
    ///
    /// - Parameters:
    ///   - directory: the directory.
    ///   - sizes: whether to find sizes, which costs one system call for each file.
    ///   - body: receives each entry except `.` and `..`, in no particular order.
    /// - Throws: `Errno` when the directory cannot be listed.
    package static func forEach(in directory: FilePath, sizes: Bool = false, _ body: (Entry) -> Void) throws(Errno) {
        let descriptor = directory.withPlatformString { open($0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) }
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        guard let stream = fdopendir(descriptor) else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            throw error
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let type = Int32(entry.pointee.d_type)
            // The offset of the name in struct dirent; Swift takes the length of the longest name for the length of the
            // field.
            let start = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \dirent.d_name)!
            let text = start.assumingMemoryBound(to: CChar.self)
            let length = strlen(text)
            if length <= 2, text[0] == 0x2E, length == 1 || text[1] == 0x2E { continue }
            var kind = kind(type)
            var size: Int64 = 0
            // Some file systems report no types.
            if kind == nil || sizes && kind == .file {
                var status = stat()
                guard fstatat(descriptor, text, &status, AT_SYMLINK_NOFOLLOW) == 0 else { continue }
                switch status.st_mode & S_IFMT {
                case S_IFREG: (kind, size) = (.file, Int64(status.st_size))
                case S_IFDIR: kind = .directory
                default: kind = .other
                }
            }
            body(Entry(name: UnsafeRawBufferPointer(start: start, count: length), kind: kind!, size: size))
        }
        guard errno == 0 else { throw Errno(rawValue: errno) }
    }

    /// Returns the kind for DT_DIR, DT_REG and DT_UNKNOWN of readdir(3).
    private static func kind(_ type: Int32) -> FileKind? {
        switch type {
        case 4: .directory
        case 8: .file
        case 0: nil
        default: .other
        }
    }
}

extension DirectoryScan.Entry {
    /// The name as text; nil if it is not text, and so not a name of this package.
    package var text: String? { String(validating: name, as: UTF8.self) }
}
