internal import CLinux
internal import Foundation
internal import Glibc
package import SystemPackage
internal import UbiquityContainers

extension StoreInspection {
    /// Reads a store file, and leaves nothing beside it that was not there.
    ///
    /// A reader of SQLite makes a `-wal` and a `-shm` where there are none (sqlite.org/wal.html#read_only_databases). So a file beside which there are none, since nobody has it open, is
    /// read as one that nobody changes, and read again where somebody has changed it meanwhile. Beside one that is in use they are there already.
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
            guard let traces = Traces(of: file), !traces.isInUse else { break }
            let result = Swift.Result { try body(StoreInspection(file, readOnly: true, isImmutable: true)) }
            if Traces(of: file) == traces { return try result.get() }
        }
        return try body(StoreInspection(file, readOnly: true, isImmutable: false))
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

    /// Whether an app that was given a store at a path uses a local or a fallback file there, and whose; nil where it has not been noted.
    ///
    /// - Parameter path: the path that the app gave its store.
    /// - Returns: `local`, `fallback` or `account`, and the account; empty while nobody is signed in.
    package static func lastPlace(of path: FilePath) -> (place: String, account: String)? {
        switch LastPlace(of: path).place {
        case .local?: ("local", "")
        case .fallback(let account)?: ("fallback", account.description)
        case .account(let account)?: ("account", account.description)
        case nil: nil
        }
    }
}

/// What lies beside a store file, and when that was changed last.
private struct Traces: Equatable {
    var size: Int64
    var changed: Int64
    var inode: UInt64
    var isInUse: Bool

    /// Nil where there is no such file.
    init?(of file: FilePath) {
        var status = stat()
        guard file.withPlatformString({ stat($0, &status) }) == 0 else { return nil }
        (size, changed, inode) = (Int64(status.st_size), clinux_changed(&status), UInt64(status.st_ino))
        isInUse = ["-wal", "-shm", "-journal"].contains { (try? LinuxFileLayer().kind(of: FilePath(file.string + $0))) != .some(nil) }
    }
}
