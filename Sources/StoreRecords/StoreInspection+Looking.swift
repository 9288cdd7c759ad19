internal import CLinux
internal import Foundation
internal import Glibc
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

extension StoreInspection {
    /// Reads a store file, and leaves nothing beside it that was not there.
    ///
    /// A reader of SQLite makes a `-wal` and a `-shm` where there are none (sqlite.org/wal.html#read_only_databases). So a file beside which there are none, since nobody has it open, is
    /// read as one that nobody changes; one that its last process has left with a `-wal` alone, such as by a kill and a restart of the machine, is read from a copy of both. It is read
    /// again where somebody has changed it meanwhile. Beside one that is in use they are there already.
    ///
    /// - Parameters:
    ///   - path: the SQLite file, or the path that the app gave its store.
    ///   - body: reads; it may be called more than once.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws, or `UbiquitousStoreError` where there is no store, more than one, or one of a newer version.
    package static func look<Result>(at path: FilePath, _ body: (StoreInspection) throws -> Result) throws -> Result {
        try look(in: resolve(path), body)
    }

    /// The same of a file, whatever else its path may mean.
    private static func look<Result>(in path: FilePath, _ body: (StoreInspection) throws -> Result) throws -> Result {
        // Beside what a symbolic link leads to SQLite keeps what belongs to it.
        let file = PathFacts.resolved(path)
        for _ in 0..<5 {
            guard let traces = Traces(of: file) else { break }
            let result: Swift.Result<Result, any Error>
            switch traces.use {
            case .rest: result = Swift.Result { try body(StoreInspection(path, at: file, readOnly: true, isImmutable: true)) }
            case .past:
                result = Swift.Result {
                    try withCopy(of: file) { copy in try body(StoreInspection(path, at: copy, readOnly: true, isImmutable: false)) }
                }
            case .present: return try body(StoreInspection(path, at: file, readOnly: true, isImmutable: false))
            }
            if Traces(of: file) == traces { return try result.get() }
        }
        return try body(StoreInspection(path, at: file, readOnly: true, isImmutable: false))
    }

    /// Runs a body with a copy of a store file and its write-ahead log, which nobody else may read, and which is removed behind it.
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
                "\(file) cannot be copied to be read with its write-ahead log; see whether it can be read, and whether there is room in \(directory.removingLastComponent()).",
                path: file, cause: error)
        }
        return try body(copy)
    }

    /// Whether a file is a whole database and none of ours, such as the plain one that an app had before.
    static func isForeign(_ file: FilePath) -> Bool {
        do {
            try look(in: file) { _ in }
            return false
        } catch {
            // One that SQLite cannot read has a cause, and may be ours.
            guard let error = error as? UbiquitousStoreError else { return false }
            return error.code == .notADatabase && error.cause == nil
        }
    }
}

/// A store file and what lies beside it, and when that was changed last.
private struct Traces: Equatable {
    /// Who has the file open, as far as that tells.
    enum Use {
        /// Nobody, and all is in the file.
        case rest
        /// Nobody, and the last has left something in the write-ahead log.
        case past
        /// Maybe somebody.
        case present
    }

    private var file: FileTrace
    private var log: FileTrace?
    private var hasMemory: Bool
    private var hasJournal: Bool

    /// Nil where there is no such file.
    init?(of file: FilePath) {
        guard let trace = FileTrace(of: file) else { return nil }
        self.file = trace
        log = FileTrace(of: FilePath(file.string + "-wal"))
        hasMemory = FileTrace(of: FilePath(file.string + "-shm")) != nil
        hasJournal = FileTrace(of: FilePath(file.string + "-journal")) != nil
    }

    var use: Use {
        if hasJournal { return .present }
        // Whoever has it open has both of them.
        guard let log else { return .rest }
        return hasMemory ? .present : log.size > 0 ? .past : .rest
    }
}

private struct FileTrace: Equatable {
    var size: Int64
    var changed: Int64
    var inode: UInt64

    /// Nil where there is no such file.
    init?(of file: FilePath) {
        var status = stat()
        guard file.withPlatformString({ stat($0, &status) }) == 0 else { return nil }
        (size, changed, inode) = (Int64(status.st_size), clinux_changed(&status), UInt64(status.st_ino))
    }
}
