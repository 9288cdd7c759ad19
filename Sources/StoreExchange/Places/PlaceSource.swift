internal import Foundation
package import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// What the files of a public place are fetched from.
package protocol PlaceSource: Sendable {
    /// Asks for the newest head.
    ///
    /// - Parameter tag: the tag of the answer that the caller has; nil for none.
    /// - Returns: the head; nil if it is the one that the caller has.
    /// - Throws: `PlaceSourceError`, or `CancellationError`.
    func head(unless tag: String?) async throws -> PlaceAnswer?

    /// Fetches a head that is not the newest.
    ///
    /// - Parameters:
    ///   - number: its number.
    ///   - id: its hash, which the caller checks.
    /// - Returns: the bytes of its file.
    /// - Throws: `PlaceSourceError` if it cannot be fetched; `CancellationError`.
    func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8]

    /// Fetches a file.
    ///
    /// - Parameters:
    ///   - path: its path.
    ///   - file: the size and hash that it must have.
    ///   - draft: the path of a new file, which gets the bytes.
    /// - Throws: `PlaceSourceError` if it cannot be fetched, or is not that file; `CancellationError`; `Errno`.
    func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws
}

/// A head as a source has answered it.
package struct PlaceAnswer: Hashable, Sendable {
    /// The bytes of the head's file.
    package var bytes: [UInt8]
    /// What the source calls this answer; nil if it has no name.
    package var tag: String?

    package init(bytes: [UInt8], tag: String?) { (self.bytes, self.tag) = (bytes, tag) }
}

/// Why a file of a place cannot be fetched, in words with the address.
package struct PlaceSourceError: Error, Hashable, CustomStringConvertible {
    package let description: String
    /// Whether the file is not there, or nobody may read it.
    package let isMissing: Bool

    package init(_ description: String, isMissing: Bool = false) { (self.description, self.isMissing) = (description, isMissing) }
}

/// A place in a directory, such as one that a synchroniser brings, or a mounted file system.
package struct DirectorySource: PlaceSource {
    private let files: PlaceFiles

    package init(_ root: FilePath) { files = PlaceFiles(root) }

    package func head(unless tag: String?) async throws -> PlaceAnswer? {
        let path = files.path(.newestHead)
        let bytes: [UInt8]
        do {
            bytes = try LinuxFileLayer().read(path, limit: PublishedHead.limit)
        } catch {
            throw PlaceSourceError("\(path) cannot be read (\(error)); check that the directory is a public place")
        }
        let hash = ContentHash(of: bytes).description
        return hash == tag ? nil : PlaceAnswer(bytes: bytes, tag: hash)
    }

    package func head(_ number: Int64, _ id: StatementIdentifier) async throws -> [UInt8] {
        let path = files.path(.head(number, id))
        do {
            return try LinuxFileLayer().read(path, limit: PublishedHead.limit)
        } catch {
            throw PlaceSourceError("\(path) cannot be read (\(error))", isMissing: error == Errno.noSuchFileOrDirectory)
        }
    }

    package func fetch(_ path: PublishedPath, _ file: PublishedFile, to draft: FilePath) async throws {
        let source = files.path(path)
        guard files.has(path, file) else {
            let isMissing = (try? LinuxFileLayer().kind(of: source)) == nil
            throw PlaceSourceError("\(source) is not here, or has another size than the head says", isMissing: isMissing)
        }
        do {
            try FileManager.default.copyItem(atPath: source.string, toPath: draft.string)
        } catch {
            throw PlaceSourceError("\(source) cannot be read (\(error.localizedDescription))")
        }
    }
}
