internal import StoreFormat
internal import SystemPackage

extension LogHeader {
    /// Reads only the header of a log file, whose changes can be long; nil if it is not a log, or cannot be read.
    ///
    /// The file's name is not checked.
    ///
    /// - Parameter file: its path; a symbolic link is not followed.
    init?(inFileAt file: FilePath) {
        guard let descriptor = try? FileDescriptor.open(file, .readOnly, options: [.noFollow, .nonBlocking, .closeOnExec]) else { return nil }
        defer { try? descriptor.close() }
        var bytes: [UInt8] = []
        var end = 4096
        while bytes.count < end {
            guard end <= LogFile.limit, let more = try? Self.read(end - bytes.count, at: Int64(bytes.count), descriptor), !more.isEmpty else { break }
            bytes += more
            // The list of news can make the header longer than the first piece.
            guard let whole = LogFile.headerEnd(of: bytes) else { return nil }
            end = whole
        }
        guard let whole = LogFile.headerEnd(of: bytes), whole <= bytes.count else { return nil }
        guard let header = try? LogHeader(decoding: bytes[(LogFile.magic.count + 4)..<whole]) else { return nil }
        self = header
    }

    private static func read(_ count: Int, at offset: Int64, _ descriptor: FileDescriptor) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, got in
            got = try descriptor.read(fromAbsoluteOffset: offset, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }
}
