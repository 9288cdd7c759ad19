internal import Foundation
internal import Glibc
package import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// Writes a bundle to a file, entry by entry.
struct BundleWriter {
    private let handle: FileHandle
    private let hasher = ContentHasher()
    private var buffer = WireWriter()
    private var size: Int64 = 0
    let draft: FilePath

    init(_ draft: FilePath) throws {
        self.draft = draft
        let descriptor = open(draft.string, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    mutating func append(_ entry: BundleEntry) throws {
        entry.write(to: &buffer)
        if buffer.bytes.count >= Self.pieceSize { try flush() }
    }

    /// Appends the bundle of a part of the range.
    mutating func append(_ bundle: FilePath) throws {
        try flush()
        try BundleFile.forEachPiece(of: bundle) { piece in
            hasher.update(piece)
            size += Int64(piece.count)
            try handle.write(contentsOf: piece)
        }
    }

    private mutating func flush() throws {
        hasher.update(buffer.bytes)
        size += Int64(buffer.bytes.count)
        try handle.write(contentsOf: buffer.bytes)
        buffer = WireWriter()
    }

    mutating func finish() throws -> PublishedFile {
        try flush()
        try handle.close()
        return PublishedFile(hash: hasher.value, size: size)
    }

    fileprivate static let pieceSize = 1 << 18
}

/// Reads bundles.
package enum BundleFile {
    /// Calls a body with each entry of a bundle.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - hash: the hash that its bytes must have.
    ///   - body: receives the entries in order, before the hash is known to be right.
    /// - Throws: `LogFault` if the file is no bundle, or has another hash; `Errno`; the errors of the body.
    package static func read(_ path: FilePath, _ hash: ContentHash, _ body: (BundleEntry) throws -> Void) throws {
        var decoder = BundleDecoder()
        let hasher = ContentHasher()
        try forEachPiece(of: path) { piece in
            hasher.update(piece)
            decoder.feed(piece)
            while let entry = try decoder.next() { try body(entry) }
        }
        guard decoder.isAtEnd else { throw LogFault.damaged("it is truncated") }
        guard hasher.value == hash else { throw LogFault.damaged("its bytes are not those that its name says") }
    }

    fileprivate static func forEachPiece(of file: FilePath, _ body: ([UInt8]) throws -> Void) throws {
        let descriptor = open(file.string, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        while let piece = try handle.read(upToCount: BundleWriter.pieceSize), !piece.isEmpty { try body([UInt8](piece)) }
    }
}

extension PlaceFiles {
    /// Reads a bundle that has been fetched; one that is not whole is removed, to be fetched again.
    ///
    /// - Throws: the errors of ``BundleFile/read(_:_:_:)``.
    func read(_ path: PublishedPath, _ file: PublishedFile, by files: any FileLayer, _ body: (BundleEntry) throws -> Void) throws {
        do {
            try BundleFile.read(self.path(path), file.hash, body)
        } catch let fault as LogFault {
            if (try? ContentHash(ofFile: self.path(path))) != file.hash { try? files.remove(self.path(path)) }
            throw fault
        }
    }
}
