import CLinux
import Glibc
import SystemPackage

/// Writes a directory as a zip file whose entries are stored, not compressed.
///
/// The format is PKWARE's APPNOTE 6.3, with its Zip64 records where sizes, offsets or the number of entries require
/// them. Modes and symbolic links are stored as Info-ZIP stores them; sockets, pipes and devices have no content and
/// are left out.
struct StoredZip {
    private let file: FileDescriptor
    private var offset: Int64 = 0
    private var directory: [UInt8] = []
    private var count: UInt64 = 0
    private var buffer = [UInt8](repeating: 0, count: 1 << 18)

    /// Writes the zip of a directory.
    ///
    /// - Parameters:
    ///   - source: the directory; the entries' names begin with its name.
    ///   - file: an empty file that is open for writing.
    /// - Throws: `Errno` of the call that failed.
    static func write(_ source: FilePath, to file: FileDescriptor) throws {
        var zip = StoredZip(file: file)
        try zip.add(source, as: Array(source.lastComponent?.bytes ?? []))
        try zip.finish()
    }

    private init(file: FileDescriptor) {
        self.file = file
    }

    // MARK: Entries

    private mutating func add(_ path: FilePath, as name: [UInt8]) throws {
        var status = Glibc.stat()
        guard path.withPlatformString({ lstat($0, &status) }) == 0 else { throw Errno(rawValue: errno) }
        switch status.st_mode & S_IFMT {
        case S_IFDIR:
            var entry = Entry(name: name + [UInt8(ascii: "/")], status: status, offset: offset)
            try begin(&entry, expecting: 0)
            try end(entry)
            for child in try path.sortedChildren() { try add(path.appending(child), as: name + [UInt8(ascii: "/")] + child.bytes) }
        case S_IFLNK:
            var entry = Entry(name: name, status: status, offset: offset)
            try begin(&entry, expecting: Int64(status.st_size))
            try append(&entry, path.symbolicLinkBytes()[...])
            try end(entry)
        case S_IFREG:
            var entry = Entry(name: name, status: status, offset: offset)
            try begin(&entry, expecting: Int64(status.st_size))
            let source = try FileDescriptor.open(path, .readOnly, options: [.noFollow, .closeOnExec])
            try source.closeAfter {
                while true {
                    let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
                    if count == 0 { break }
                    try append(&entry, buffer[..<count])
                }
            }
            try end(entry)
        default: break
        }
    }

    private struct Entry {
        let name: [UInt8]
        let mode: UInt32
        let modified: Int64
        let offset: Int64
        var size: Int64 = 0
        var crc = CRC32()
        /// Whether the header has room for a size of more than 32 bits.
        var isLarge = false

        init(name: [UInt8], status: Glibc.stat, offset: Int64) {
            self.name = name
            mode = status.st_mode
            modified = withUnsafePointer(to: status) { clinux_modified($0) } / 1_000_000_000
            self.offset = offset
        }
    }

    /// Writes a header that ``end(_:)`` corrects, because size and checksum are known only after the content is read.
    private mutating func begin(_ entry: inout Entry, expecting size: Int64) throws {
        // This margin keeps a file that grows during the read below the limit of its header.
        entry.isLarge = size >= 1 << 31
        try put(header(of: entry))
    }

    private mutating func append(_ entry: inout Entry, _ bytes: ArraySlice<UInt8>) throws {
        bytes.withUnsafeBytes { entry.crc.update($0) }
        entry.size += Int64(bytes.count)
        guard entry.isLarge || entry.size < Int64(UInt32.max) else { throw Errno.fileTooLarge }
        try put(bytes)
    }

    private mutating func end(_ entry: Entry) throws {
        try file.writeAll(toAbsoluteOffset: entry.offset, header(of: entry))
        directory += central(of: entry)
        count += 1
    }

    private mutating func put(_ bytes: some Sequence<UInt8>) throws {
        offset += Int64(try file.writeAll(bytes))
    }

    // MARK: Records

    private func header(of entry: Entry) -> [UInt8] {
        var bytes = Record(0x0403_4b50)
        bytes.put16(entry.isLarge ? 45 : 20)
        common(of: entry, &bytes)
        var extra = Record()
        if entry.isLarge {
            extra.put16(1)
            extra.put16(16)
            extra.put64(UInt64(entry.size))
            extra.put64(UInt64(entry.size))
        }
        extra.putTime(entry.modified)
        bytes.put16(UInt16(extra.bytes.count))
        return bytes.bytes + entry.name + extra.bytes
    }

    private func central(of entry: Entry) -> [UInt8] {
        var bytes = Record(0x0201_4b50)
        bytes.put16(3 << 8 | 45)
        bytes.put16(entry.isLarge ? 45 : 20)
        common(of: entry, &bytes)
        let isFar = entry.offset >= Int64(UInt32.max)
        var extra = Record()
        if entry.isLarge || isFar {
            extra.put16(1)
            extra.put16((entry.isLarge ? 16 : 0) + (isFar ? 8 : 0))
            if entry.isLarge {
                extra.put64(UInt64(entry.size))
                extra.put64(UInt64(entry.size))
            }
            if isFar { extra.put64(UInt64(entry.offset)) }
        }
        extra.putTime(entry.modified)
        bytes.put16(UInt16(extra.bytes.count))
        bytes.put16(0)
        bytes.put16(0)
        bytes.put16(0)
        bytes.put32(entry.mode << 16 | (entry.mode & S_IFMT == S_IFDIR ? 0x10 : 0))
        bytes.put32(isFar ? .max : UInt32(entry.offset))
        return bytes.bytes + entry.name + extra.bytes
    }

    /// Writes the fields from the flags to the length of the name.
    private func common(of entry: Entry, _ bytes: inout Record) {
        let isUTF8 = String(validating: entry.name, as: UTF8.self) != nil
        bytes.put16(isUTF8 ? 1 << 11 : 0)
        bytes.put16(0)
        bytes.putDOSTime(entry.modified)
        bytes.put32(entry.crc.value)
        bytes.put32(entry.isLarge ? .max : UInt32(entry.size))
        bytes.put32(entry.isLarge ? .max : UInt32(entry.size))
        bytes.put16(UInt16(entry.name.count))
    }

    private mutating func finish() throws {
        let start = offset
        try put(directory)
        let size = UInt64(directory.count)
        if count >= UInt64(UInt16.max) || start >= Int64(UInt32.max) || size >= UInt64(UInt32.max) {
            let place = offset
            var record = Record(0x0606_4b50)
            record.put64(44)
            record.put16(3 << 8 | 45)
            record.put16(45)
            record.put32(0)
            record.put32(0)
            record.put64(count)
            record.put64(count)
            record.put64(size)
            record.put64(UInt64(start))
            record.put32(0x0706_4b50)
            record.put32(0)
            record.put64(UInt64(place))
            record.put32(1)
            try put(record.bytes)
        }
        var record = Record(0x0605_4b50)
        record.put32(0)
        record.put16(UInt16(clamping: count))
        record.put16(UInt16(clamping: count))
        record.put32(UInt32(clamping: size))
        record.put32(UInt32(clamping: start))
        record.put16(0)
        try put(record.bytes)
    }

    /// A record with little-endian fields.
    private struct Record {
        var bytes: [UInt8] = []

        init() {}
        init(_ signature: UInt32) { put32(signature) }

        private mutating func put(_ value: some FixedWidthInteger) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }
        mutating func put16(_ value: UInt16) { put(value) }
        mutating func put32(_ value: UInt32) { put(value) }
        mutating func put64(_ value: UInt64) { put(value) }

        /// Writes the extended timestamp of Info-ZIP, in seconds since 1970.
        mutating func putTime(_ seconds: Int64) {
            put16(0x5455)
            put16(5)
            bytes.append(1)
            put(Int32(clamping: seconds))
        }

        /// Writes MS-DOS time and date in UTC; the format covers 1980 to 2107.
        mutating func putDOSTime(_ seconds: Int64) {
            var time = time_t(max(315_532_800, min(seconds, 4_354_819_198)))
            var parts = tm()
            gmtime_r(&time, &parts)
            put16(UInt16(parts.tm_hour << 11 | parts.tm_min << 5 | parts.tm_sec / 2))
            put16(UInt16((parts.tm_year - 80) << 9 | (parts.tm_mon + 1) << 5 | parts.tm_mday))
        }
    }
}

extension FilePath.Component {
    fileprivate var bytes: [UInt8] {
        withPlatformString { name in Array(UnsafeRawBufferPointer(start: name, count: strlen(name))) }
    }
}

extension FilePath {
    /// Returns the names in a directory, in the order of their bytes; see readdir(3).
    fileprivate func sortedChildren() throws -> [Component] {
        guard let directory = withPlatformString({ opendir($0) }) else { throw Errno(rawValue: errno) }
        defer { closedir(directory) }
        var names: [Component] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                guard errno == 0 else { throw Errno(rawValue: errno) }
                return names.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { Component(platformString: $0) }
            }
            if let name, name.kind == .regular { names.append(name) }
        }
    }

    /// Returns the destination of a symbolic link; see readlink(2).
    fileprivate func symbolicLinkBytes() throws -> [UInt8] {
        try withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
            let count = withPlatformString { readlink($0, buffer.baseAddress!, buffer.count) }
            guard count >= 0 else { throw Errno(rawValue: errno) }
            return Array(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count]))
        }
    }
}
