import ContentHashing
import Foundation
import SystemPackage
import ToolSupport
import UbiquityContainers

/// The content of one file, read once.
struct ConflictContent: Sendable {
    /// What a person can compare.
    enum Text: Sendable {
        case lines(String)
        /// It is no text in UTF-8.
        case binary
        /// It has more bytes than a line difference takes.
        case tooLarge
    }

    let size: Int64
    let hash: ContentHash
    let text: Text

    /// Reads a file without following a link.
    ///
    /// - Parameter file: the path of the file.
    /// - Throws: `ContainerError`.
    init(of file: FilePath) throws {
        do {
            let descriptor = try FileDescriptor.open(file, .readOnly, options: [.noFollow, .nonBlocking, .closeOnExec])
            (size, hash, text) = try descriptor.closeAfter { try Self.read(descriptor) }
        } catch {
            throw ContainerError(.fileSystem, "\(file) cannot be read; check its owner and mode.", path: file, cause: error)
        }
    }

    private static func read(_ descriptor: FileDescriptor) throws -> (Int64, ContentHash, Text) {
        let hasher = ContentHasher()
        var size: Int64 = 0
        var start: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = try piece.withUnsafeMutableBytes { try descriptor.read(into: $0) }
            if count == 0 { break }
            piece.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            size += Int64(count)
            start += piece[..<min(count, LineDifference.byteLimit - start.count)]
        }
        // A text has no zero byte; UTF-8 would allow one.
        if start.contains(0) { return (size, hasher.value, .binary) }
        if size > Int64(start.count) { return (size, hasher.value, .tooLarge) }
        return (size, hasher.value, String(validating: start, as: UTF8.self).map { .lines($0) } ?? .binary)
    }
}

/// The entries of a package, by their paths in it.
struct ConflictPackage: Sendable {
    enum Entry: Hashable, Sendable {
        case directory
        case file(size: Int64)
        case link(String)
        /// A socket, pipe or device.
        case other
    }

    let path: FilePath
    private(set) var entries: [String: Entry] = [:]

    /// Lists a package without following links.
    ///
    /// - Parameter path: the directory.
    /// - Throws: `ContainerError`.
    init(at path: FilePath) throws {
        self.path = path
        var pending: [(directory: FilePath, name: String)] = [(path, "")]
        while let (directory, prefix) = pending.popLast() {
            let facts = DirectoryFacts(of: directory, in: path)
            if let error = facts.error {
                throw ContainerError(.fileSystem, "\(directory) cannot be listed; check its owner and mode.", path: directory, cause: error)
            }
            for entry in facts.entries {
                let (place, name) = (directory.appending(entry.name), prefix + entry.text)
                switch entry.kind {
                case .directory:
                    entries[name] = .directory
                    pending.append((place, name + "/"))
                case .file: entries[name] = .file(size: ConflictVersion.size(of: place))
                case .link(let text, _): entries[name] = .link(text.string)
                case .other: entries[name] = .other
                }
            }
        }
    }

    /// Returns whether a file, which both packages have, has other bytes in the other one.
    func differs(from other: ConflictPackage, at name: String) throws -> Bool {
        guard entries[name] == other.entries[name] else { return true }
        guard case .file = entries[name] else { return false }
        return try ConflictContent(of: path.pushing(FilePath(name))).hash != ConflictContent(of: other.path.pushing(FilePath(name))).hash
    }
}
