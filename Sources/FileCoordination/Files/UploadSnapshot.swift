import Dispatch
import Foundation
import Glibc
import SystemPackage

/// A copy of an item during a claim, for reading after the claim has ended.
struct UploadSnapshot: Sendable {
    /// A file with the item's name, or `<name>.zip` for a directory.
    let url: URL
    private let directory: URL

    /// Copies a file or zips a directory into the temporary directory; blocks.
    ///
    /// - Throws: `fileSystem` on failure; nothing is left behind.
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
        // With this option, opening a pipe does not wait for its other end.
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

    /// Removes the snapshot; programs that have it open keep it.
    func remove() {
        try? FileManager.default.removeItem(at: directory)
    }
}

/// Runs blocking work on a separate thread, because the cooperative pool shares the threads of the global queues.
///
/// - Returns: the result of the work.
/// - Throws: the error of the work.
func offPool<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "file coordination work").async { continuation.resume(with: Result { try work() }) }
    }
}
