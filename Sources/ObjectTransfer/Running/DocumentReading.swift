internal import CLinux
internal import ContentHashing
internal import FileCoordination
internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// A document that has been read.
package struct ReadDocument: Sendable {
    package var content: DocumentContent
    /// Its stamp when it was read; one that fits nothing if it may change without another stamp.
    package var stamp: DocumentStamp
}

/// Reads documents on this device: their stamps, and their contents cut into pieces; it blocks.
struct DocumentReader {
    /// A file or directory of a document, as lstat(2) describes it.
    private struct Entry {
        var path: String
        var isDirectory: Bool
        var size: Int64
        var modified: Int64
        var changed: Int64
        var inode: UInt64
        var isExecutable: Bool
    }

    /// Why a document does not travel.
    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    /// The most files of a package that travel.
    static let mostFiles = 100_000

    /// Returns the stamp of what is at a path; nil if it is no file and no directory.
    ///
    /// - Throws: ``Fault`` for a package with a link or another special file in it; `Errno`.
    func stamp(of document: FilePath) throws -> DocumentStamp? { try entries(of: document).map { stamp($0) } }

    /// Returns the files of a document.
    func files(of document: FilePath) throws -> [FilePath] {
        try (entries(of: document) ?? []).filter { !$0.isDirectory }.map { $0.path.isEmpty ? document : document.pushing(FilePath($0.path)) }
    }

    /// Returns a stamp that a rename does not change.
    func lastingStamp(of document: FilePath) throws -> DocumentStamp? {
        try entries(of: document).map { entries in
            stamp(
                entries.map { entry in
                    var entry = entry
                    entry.changed = 0
                    return entry
                })
        }
    }

    /// Returns the content of a document, with the stamp that it had before and after.
    ///
    /// - Returns: nil if it is not there.
    /// - Throws: ``Fault``, also if it is changed meanwhile; `Errno`.
    func content(of document: FilePath) throws -> ReadDocument? {
        guard let entries = try entries(of: document) else { return nil }
        let before = stamp(entries)
        let isPackage = entries[0].isDirectory
        var files: [DocumentContent.File] = []
        for entry in entries where !entry.isDirectory {
            let (digest, chunks) = try cut(entry.path.isEmpty ? document : document.pushing(FilePath(entry.path)))
            files.append(.init(path: entry.path, digest: digest, isExecutable: entry.isExecutable, chunks: chunks))
        }
        guard let after = try self.entries(of: document), stamp(after) == before else { throw Fault(description: "it is being changed") }
        let modified = entries.lazy.filter { !$0.isDirectory || entries.count == 1 }.map(\.modified).max() ?? entries[0].modified
        let content = DocumentContent(
            isPackage: isPackage, directories: entries.dropFirst().filter(\.isDirectory).map(\.path), files: files,
            modified: min(max(0, modified / 1_000_000), DocumentContent.times.upperBound))
        if let fault = content.fault() { throw Fault(description: fault) }
        // A change in the tick of the clock in which it was read would leave the stamp as it is, so it is read again then.
        let newest = after.map(\.changed).max() ?? 0
        let isSettled = newest < Int64(Date().timeIntervalSince1970 * 1e9) - 50_000_000
        return ReadDocument(content: content, stamp: isSettled ? before : DocumentStamp(value: 0))
    }

    /// Whether a document has the same files with the same bytes as a content; the files are read by descriptors that are open
    /// already, because an open would end a lease.
    ///
    /// - Parameters:
    ///   - document: the path of the document.
    ///   - content: the content.
    ///   - descriptors: a descriptor for each file of the content, in its order.
    /// - Returns: whether it has.
    /// - Throws: ``Fault``; `Errno`.
    func isSame(_ document: FilePath, as content: DocumentContent, readingBy descriptors: [FileDescriptor]) throws -> Bool {
        guard let entries = try entries(of: document), entries[0].isDirectory == content.isPackage,
            entries.dropFirst().filter(\.isDirectory).map(\.path) == content.directories
        else { return false }
        let files = entries.filter { !$0.isDirectory }
        guard files.elementsEqual(content.files, by: { $0.path == $1.path && $0.size == $1.digest.size && $0.isExecutable == $1.isExecutable })
        else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
        defer { buffer.deallocate() }
        for (file, descriptor) in zip(content.files, descriptors) {
            // A program that saves with a rename has put another file there.
            var status = Glibc.stat()
            guard fstat(descriptor.rawValue, &status) == 0, files.contains(where: { $0.path == file.path && $0.inode == UInt64(status.st_ino) })
            else {
                return false
            }
            let hash = ContentHasher()
            var offset: Int64 = 0
            while true {
                let count = try descriptor.read(fromAbsoluteOffset: offset, into: buffer)
                if count == 0 { break }
                hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                offset += Int64(count)
            }
            guard hash.value == file.digest.hash else { return false }
        }
        return true
    }

    /// Copies a piece of a document to a new file.
    ///
    /// - Throws: ``Fault`` if the bytes there are other ones by now; `Errno`.
    func copy(_ piece: DocumentContent.Chunk, at offset: Int64, of file: FilePath, to target: FilePath) throws {
        let input = try open(file)
        defer { try? input.close() }
        var bytes = [UInt8](repeating: 0, count: Int(piece.size))
        try bytes.withUnsafeMutableBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = try input.read(fromAbsoluteOffset: offset + Int64(done), into: UnsafeMutableRawBufferPointer(rebasing: buffer[done...]))
                if count == 0 { throw Fault(description: "it is being changed") }
                done += count
            }
        }
        guard ContentHash(of: bytes) == piece.hash else { throw Fault(description: "it is being changed") }
        try LinuxFileLayer().writeNew(target, bytes, syncing: false)
    }

    /// Opens a file whose reading does not count as a use: what was not used for the longest time is evicted first.
    private func open(_ file: FilePath) throws -> FileDescriptor {
        let descriptor = try FileDescriptor.open(file, .readOnly, options: [.noFollow, .closeOnExec, .nonBlocking])
        clinux_keep_access_time(descriptor.rawValue)
        return descriptor
    }

    /// The hash of a file, and those of its pieces.
    private func cut(_ file: FilePath) throws -> (FileDigest, [DocumentContent.Chunk]) {
        let descriptor = try open(file)
        defer { try? descriptor.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        let whole = ContentHasher()
        var (piece, chunker) = (ContentHasher(), ContentChunker())
        var (size, length) = (Int64(0), Int64(0))
        var chunks: [DocumentContent.Chunk] = []
        while true {
            let count = try descriptor.read(into: buffer)
            if count == 0 { break }
            size += Int64(count)
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            whole.update(rest)
            while let cut = chunker.cut(rest) {
                piece.update(UnsafeRawBufferPointer(rebasing: rest[..<cut]))
                chunks.append(FileDigest(size: length + Int64(cut), hash: piece.value))
                (piece, length) = (ContentHasher(), 0)
                rest = UnsafeRawBufferPointer(rebasing: rest[cut...])
            }
            piece.update(rest)
            length += Int64(rest.count)
        }
        if length > 0 { chunks.append(FileDigest(size: length, hash: piece.value)) }
        return (FileDigest(size: size, hash: whole.value), chunks)
    }

    // MARK: Entries

    /// The document and everything in it, sorted by path; nil if it is not there.
    private func entries(of document: FilePath) throws -> [Entry]? {
        guard let first = try entry(at: document, "") else { return nil }
        guard first.isDirectory else { return [first] }
        var (found, open) = ([first], [""])
        while let directory = open.popLast() {
            let place = directory.isEmpty ? document : document.pushing(FilePath(directory))
            for name in try LinuxFileLayer().directoryNames(in: place) ?? [] where DocumentPath.isName(name) {
                let path = directory.isEmpty ? name : "\(directory)/\(name)"
                guard let entry = try entry(at: place.appending(name), path) else { continue }
                found.append(entry)
                if entry.isDirectory { open.append(path) }
            }
            guard found.count <= Self.mostFiles else { throw Fault(description: "the package has more than \(Self.mostFiles) files") }
        }
        return found.sorted { $0.path < $1.path }
    }

    private func entry(at place: FilePath, _ path: String) throws -> Entry? {
        var status = Glibc.stat()
        guard place.withPlatformString({ lstat($0, &status) }) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw Errno(rawValue: errno)
        }
        let kind = status.st_mode & S_IFMT
        guard kind == S_IFREG || kind == S_IFDIR else {
            if path.isEmpty { return nil }
            throw Fault(description: "\(path) in the package is neither a file nor a directory")
        }
        return Entry(
            path: path, isDirectory: kind == S_IFDIR, size: kind == S_IFDIR ? 0 : Int64(status.st_size), modified: clinux_modified(&status),
            changed: clinux_changed(&status), inode: UInt64(status.st_ino), isExecutable: kind == S_IFREG && status.st_mode & S_IXUSR != 0)
    }

    /// FNV-1a: a hash that is the same in each process.
    private func stamp(_ entries: [Entry]) -> DocumentStamp {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        for entry in entries {
            for byte in entry.path.utf8 { mix(byte) }
            for value in [UInt64(bitPattern: entry.size), UInt64(bitPattern: entry.modified), UInt64(bitPattern: entry.changed), entry.inode] {
                withUnsafeBytes(of: value) { for byte in $0 { mix(byte) } }
            }
            mix(entry.isExecutable ? 1 : 0)
        }
        // 0 stands for no stamp.
        return DocumentStamp(value: max(1, hash))
    }
}
