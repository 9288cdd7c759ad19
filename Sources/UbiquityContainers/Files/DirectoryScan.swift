internal import Glibc
package import SystemPackage

/// Goes through directories of which each may have a hundred thousand entries: names are not made strings of, and each file is looked at once where its size is wanted.
package enum DirectoryScan {
    /// An entry while it is gone through.
    package struct Entry {
        /// The name, valid inside the call only; it need not be UTF-8.
        package let name: UnsafeRawBufferPointer
        package let kind: FileKind
        /// In bytes; 0 where sizes are not wanted, and of what is no file.
        package let size: Int64
    }

    /// Goes through a directory; follows no link, and passes over what goes meanwhile.
    ///
    /// - Parameters:
    ///   - directory: the directory.
    ///   - sizes: whether sizes are wanted: that costs a system call a file.
    ///   - body: gets each entry but `.` and `..`, in no order.
    /// - Throws: `Errno` where it cannot be listed.
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
            // Where the name begins in struct dirent; what Swift takes for its length is that of the longest.
            let start = UnsafeRawPointer(entry) + MemoryLayout<dirent>.offset(of: \dirent.d_name)!
            let text = start.assumingMemoryBound(to: CChar.self)
            let length = strlen(text)
            if length <= 2, text[0] == 0x2E, length == 1 || text[1] == 0x2E { continue }
            var kind = kind(type)
            var size: Int64 = 0
            // Some file systems tell no types.
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

    /// By DT_DIR, DT_REG and DT_UNKNOWN of readdir(3).
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
    /// The name as text; nil where it is none, and so none of ours.
    package var text: String? { String(validating: name, as: UTF8.self) }
}
