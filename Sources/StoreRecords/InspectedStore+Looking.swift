internal import CLinux
internal import Foundation
internal import Glibc
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

extension InspectedStore {
    /// Reads a store file, and leaves no new files beside it.
    ///
    /// A reader of SQLite creates `-wal` and `-shm` files if there are none (sqlite.org/wal.html#read_only_databases).
    /// If both are missing, no process has the file open, and it is read as immutable. If the last process has left
    /// only a `-wal`, such as after a kill and a restart of the machine, a copy of both files is read. In both cases
    /// the file is read again if it has changed in the meantime. If the file is in use, both files already exist.
    ///
    /// - Parameters:
    ///   - path: the SQLite file, or the path that the app gave its store.
    ///   - body: reads the file; it can be called more than once.
    /// - Returns: the body's result.
    /// - Throws: the body's errors, or `UbiquitousStoreError` if there is no store, more than one, or one of a newer
    ///   version.
    package static func look<Result>(at path: FilePath, _ body: (InspectedStore) throws -> Result) throws -> Result {
        try look(in: resolve(path), body)
    }

    /// Reads a store file at its own path.
    private static func look<Result>(in path: FilePath, _ body: (InspectedStore) throws -> Result) throws -> Result {
        // SQLite keeps its files beside the target of a symbolic link.
        let file = PathFacts.resolved(path)
        for _ in 0..<5 {
            guard let traces = Traces(of: file) else { break }
            let result: Swift.Result<Result, any Error>
            switch traces.use {
            case .rest: result = Swift.Result { try body(InspectedStore(path, at: file, readOnly: true, isImmutable: true)) }
            case .past:
                result = Swift.Result {
                    try withCopy(of: file) { copy in try body(InspectedStore(path, at: copy, readOnly: true, isImmutable: false)) }
                }
            case .present: return try body(InspectedStore(path, at: file, readOnly: true, isImmutable: false))
            }
            if Traces(of: file) == traces { return try result.get() }
        }
        return try body(InspectedStore(path, at: file, readOnly: true, isImmutable: false))
    }

    /// Runs a body with a private copy of a store file and its write-ahead log, which is removed afterwards.
    private static func withCopy<Result>(of file: FilePath, _ body: (FilePath) throws -> Result) throws -> Result {
        let directory = FilePath(FileManager.default.temporaryDirectory.path).appending("ubiquity-look-\(UUID().uuidString)")
        let copy = directory.appending(file.lastComponent!)
        defer { try? FileManager.default.removeItem(atPath: directory.string) }
        do {
            try FileManager.default.createDirectory(
                atPath: directory.string, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            for suffix in ["", "-wal"] { try FileManager.default.copyItem(atPath: file.string + suffix, toPath: copy.string + suffix) }
        } catch {
            throw UbiquitousStoreError(
                .fileSystem,
                "\(file) cannot be copied to be read with its write-ahead log; check that it can be read, and the free space in \(directory.removingLastComponent()).",
                path: file, cause: error)
        }
        return try body(copy)
    }

    /// Returns whether a file is an intact database but not a store, such as the app's former plain database.
    static func isForeign(_ file: FilePath) -> Bool {
        do {
            try look(in: file) { _ in }
            return false
        } catch {
            // A file that SQLite cannot read has a cause, and may be a store.
            guard let error = error as? UbiquitousStoreError else { return false }
            return error.code == .notADatabase && error.cause == nil
        }
    }
}

/// A store file and the files beside it, with the times of their last changes.
private struct Traces: Equatable {
    /// Whether a process has the file open, as far as the files tell.
    enum Use {
        /// No process has it open, and all data is in the file.
        case rest
        /// No process has it open, and the last one has left data in the write-ahead log.
        case past
        /// A process may have it open.
        case present
    }

    private var file: FileTrace
    private var log: FileTrace?
    private var hasMemory: Bool
    private var hasJournal: Bool

    /// Reads the files; nil if the store file does not exist.
    init?(of file: FilePath) {
        guard let trace = FileTrace(of: file) else { return nil }
        self.file = trace
        log = FileTrace(of: FilePath(file.string + "-wal"))
        hasMemory = FileTrace(of: FilePath(file.string + "-shm")) != nil
        hasJournal = FileTrace(of: FilePath(file.string + "-journal")) != nil
    }

    var use: Use {
        if hasJournal { return .present }
        // A process that has it open has both files.
        guard let log else { return .rest }
        return hasMemory ? .present : log.size > 0 ? .past : .rest
    }
}

private struct FileTrace: Equatable {
    var size: Int64
    var changed: Int64
    var inode: UInt64

    /// Reads a file's attributes; nil if it does not exist.
    init?(of file: FilePath) {
        var status = stat()
        guard file.withPlatformString({ stat($0, &status) }) == 0 else { return nil }
        (size, changed, inode) = (Int64(status.st_size), clinux_changed(&status), UInt64(status.st_ino))
    }
}
