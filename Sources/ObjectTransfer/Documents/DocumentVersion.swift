package import ContentHashing
internal import Foundation

/// The bytes of a document: one file, or all files of a package.
package struct DocumentContent: Hashable, Sendable, Codable {
    /// A piece of a file, which is one object in the cloud.
    package typealias Chunk = FileDigest

    /// A file.
    package struct File: Hashable, Sendable, Codable {
        /// The path in the package; empty for a document that is one file.
        package var path: String
        package var digest: FileDigest
        /// Whether its owner may execute it.
        package var isExecutable: Bool
        /// The pieces in their order, which together are the file; an empty file has none.
        package var chunks: [Chunk]

        package init(path: String, digest: FileDigest, isExecutable: Bool = false, chunks: [Chunk]) {
            (self.path, self.digest, self.isExecutable, self.chunks) = (path, digest, isExecutable, chunks)
        }
    }

    /// Whether it is a package, which is a directory.
    package var isPackage: Bool
    /// The directories of a package, by path.
    package var directories: [String]
    /// The files, by path; exactly one with an empty path if it is no package.
    package var files: [File]
    /// The time of its last change, in milliseconds since 1970.
    package var modified: Int64

    package init(isPackage: Bool, directories: [String] = [], files: [File], modified: Int64) {
        (self.isPackage, self.directories, self.modified) = (isPackage, directories.sorted(), modified)
        self.files = files.sorted { $0.path < $1.path }
    }

    /// The size of all files in bytes.
    package var size: Int64 { files.reduce(0) { $0 &+ $1.digest.size } }

    /// The pieces of all files.
    package var chunks: Set<Chunk> { Set(files.lazy.flatMap(\.chunks)) }

    /// Whether another content has the same files with the same bytes; times do not matter.
    package func isSame(as other: Self) -> Bool {
        isPackage == other.isPackage && directories == other.directories
            && files.elementsEqual(other.files) { $0.path == $1.path && $0.digest == $1.digest && $0.isExecutable == $1.isExecutable }
    }

    /// The hash of a file's bytes; for a package the hash of the list of its files with theirs.
    package var hash: ContentHash {
        if !isPackage, let file = files.first { return file.digest.hash }
        var text = ""
        for directory in directories { text += "\(directory)/\n" }
        for file in files { text += "\(file.path)\t\(file.digest.size)\t\(file.digest.hash)\t\(file.isExecutable)\n" }
        return ContentHash(of: Array(text.utf8))
    }

    /// The times that a content can have.
    static let times: ClosedRange<Int64> = 0...253_402_300_799_000

    /// Why bytes from elsewhere are no content.
    func fault() -> String? {
        if !isPackage {
            guard files.count == 1, files[0].path.isEmpty, directories.isEmpty else { return "it is one file, and names several" }
        }
        // By bytes, as paths are.
        var seen: Set<[UInt8]> = []
        for path in directories + (isPackage ? files.map(\.path) : []) {
            let names = path.split(separator: "/", omittingEmptySubsequences: false)
            guard path.utf8.count <= DocumentPath.longest, names.allSatisfy({ DocumentPath.isName(String($0)) }),
                seen.insert(Array(path.utf8)).inserted
            else {
                return "it names \(path.prefix(200).debugDescription) in a package"
            }
        }
        // Nothing lies below a file.
        let names = Set(files.map { Array($0.path.utf8) })
        for path in seen {
            var above = path[...]
            while let end = above.lastIndex(of: UInt8(ascii: "/")) {
                above = above[..<end]
                if names.contains(Array(above)) {
                    return "it names \(String(decoding: path.prefix(200), as: UTF8.self).debugDescription) below a file"
                }
            }
        }
        guard Self.times.contains(modified) else { return "its time is in no year from 1970 to 9999" }
        for file in files {
            // An empty file has no pieces.
            guard file.chunks.count <= 1 << 20, file.chunks.allSatisfy({ (1...Int64(ContentChunker.largest)).contains($0.size) }),
                file.chunks.reduce(Int64(0), { $0 + $1.size }) == file.digest.size,
                file.chunks.count != 1 || file.chunks[0] == file.digest
            else { return "the pieces of \(file.path.prefix(200).debugDescription) are no file" }
        }
        return nil
    }
}

/// A version of a document, as a bulletin states it: its content or its removal, and the edits that it contains.
package struct DocumentVersion: Hashable, Sendable, Codable {
    package var vector: VersionVector
    /// The content; nil if the document was removed.
    package var content: DocumentContent?
    /// The device that stated it.
    package var device: TransferDevice
    /// The hashes of the contents before it, the newest first: a device that has lost its index knows by them what it has as an
    /// old version, and not as an edit.
    package var replaced: [ContentHash]

    /// The most contents before it that a version names.
    package static let mostReplaced = 16

    package init(vector: VersionVector, content: DocumentContent?, device: TransferDevice, replaced: [ContentHash] = []) {
        (self.vector, self.content, self.device, self.replaced) = (vector, content, device, replaced)
    }

    /// Whether this is shown in conflict with another version, on every device alike: the version with more edits, and of
    /// equally many the one with the greater hash.
    ///
    /// No clock decides; a device with a wrong one would always win.
    func isPreferred(to other: Self) -> Bool {
        let (own, others) = (vector.total, other.vector.total)
        if own != others { return own > others }
        guard let content, let second = other.content else { return content != nil }
        let (hash, secondHash) = (content.hash, second.hash)
        return hash == secondHash ? other.device < device : secondHash < hash
    }
}
