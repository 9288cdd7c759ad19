import Dispatch
import Foundation
import Glibc
import SystemPackage

/// A copy of an item as it was during a claim, for reading after the claim has ended (C-19).
struct UploadSnapshot: Sendable {
    /// A file of the item's name, or `<name>.zip` for a directory.
    let url: URL
    private let directory: URL

    /// Copies a file or zips a directory, in the temporary directory; blocks.
    ///
    /// - Throws: `fileSystem` when that fails; nothing is left behind then.
    init(of path: FilePath) throws(FileCoordinationError) {
        directory = FileManager.default.temporaryDirectory.appending(path: "ubiquity-upload-\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let name = path.lastComponent.map(\.string) ?? "root"
            if path.isDirectoryWithoutFollowing {
                url = directory.appending(path: name + ".zip", directoryHint: .notDirectory)
                let file = try FileDescriptor.open(
                    FilePath(url.path), .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
                try file.closeAfter { try StoredZip.write(path, to: file) }
            } else {
                url = directory.appending(path: name, directoryHint: .notDirectory)
                try Self.copy(path, to: FilePath(url.path))
            }
        } catch {
            try? FileManager.default.removeItem(at: directory)
            throw FileCoordinationError(
                .fileSystem,
                "No snapshot of \(path) could be made in \(directory.deletingLastPathComponent().path). "
                    + "Check that it can be read and that there is space.", path: path, cause: error)
        }
    }

    private static func copy(_ path: FilePath, to copy: FilePath) throws {
        // Not to wait for the other end of a pipe.
        let source = try FileDescriptor.open(path, .readOnly, options: [.closeOnExec, .nonBlocking])
        try source.closeAfter {
            let file = try FileDescriptor.open(
                copy, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: .ownerReadWrite)
            try file.closeAfter {
                var buffer = [UInt8](repeating: 0, count: 1 << 18)
                while true {
                    let count = try buffer.withUnsafeMutableBytes { try source.read(into: $0) }
                    if count == 0 { return }
                    try file.writeAll(buffer[..<count])
                }
            }
        }
    }

    /// Removes the snapshot; who has it open keeps it.
    func remove() {
        try? FileManager.default.removeItem(at: directory)
    }
}

/// Runs blocking work on a thread of its own: those of the global queues are the cooperative pool's too.
///
/// - Returns: what the work returns.
/// - Throws: what it throws.
func offPool<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "file coordination work").async { continuation.resume(with: Result { try work() }) }
    }
}
