internal import Foundation
internal import Glibc
internal import StoreFormat
package import SystemPackage
internal import UbiquityContainers

/// A lock between the processes of a device that share a store.
///
/// Every wait for it can be ended.
///
/// Releasing this object, or the end of its process, releases the lock. All exclusive locks on a store's files use it.
package final class StoreLock {
    private let lock: FileLock

    private init(_ lock: FileLock) { self.lock = lock }

    /// The locks of a store file, which lie beside it.
    package enum Name: String, CaseIterable {
        /// Opening the file, and removing or replacing it.
        case open = "-open"
        /// Exchanging for the store.
        case exchange = "-exchange"
        /// Being the next to exchange.
        case turn = "-turn-exchange"
        /// Having the file open with a rollback journal: many may hold it together, see ``StoreUse``.
        case use = "-use"

        /// The lock file of a store file.
        package func file(of store: FilePath) -> FilePath { FilePath(store.string + rawValue) }
    }

    /// Takes a lock, and writes this process's number into the file.
    ///
    /// - Parameters:
    ///   - file: the lock file.
    ///   - limit: how long to wait for another process; the wait blocks the thread. The kernel's own wait cannot be
    ///     ended, so the method polls every two milliseconds.
    ///   - isCancelled: called during the wait; true ends it.
    /// - Returns: the lock, or nil if another process still holds it.
    /// - Throws: `UbiquitousStoreError` if the file cannot be created or opened.
    package static func take(_ file: FilePath, within limit: Duration, unless isCancelled: () -> Bool) throws -> StoreLock? {
        let deadline = ContinuousClock.now + limit
        while true {
            do {
                if let lock = try FileLock.ifFree(file) {
                    try? name(file)
                    return StoreLock(lock)
                }
            } catch {
                throw UbiquitousStoreError(.fileSystem, "\(file) cannot be locked; check its owner and mode.", path: file, cause: error)
            }
            guard ContinuousClock.now < deadline, !isCancelled() else { return nil }
            usleep(2000)
        }
    }

    /// Takes the lock for opening a store file, and waits up to a minute for another process.
    ///
    /// - Parameter store: the store file.
    /// - Returns: the lock.
    /// - Throws: `UbiquitousStoreError` with `timedOut` if another process still has the lock or this task is
    ///   cancelled; with `fileSystem` if the lock cannot be taken.
    package static func opening(_ store: FilePath) throws -> StoreLock {
        let file = Name.open.file(of: store)
        guard let lock = try take(file, within: .seconds(60), unless: { Task.isCancelled }) else {
            throw UbiquitousStoreError(
                .timedOut, "Another process\(holder(of: file)) has been opening \(store) for a minute; check whether it is stopped.", path: store)
        }
        return lock
    }

    /// Returns whether another process, or another part of this process, has a lock; false if that is not known.
    package static func isTaken(_ file: FilePath) -> Bool {
        do { return try FileLock.ifFree(file) == nil } catch { return false }
    }

    /// Writes this process's number into a lock file, unless the file already contains it.
    ///
    /// Every exchange takes a lock, so most calls need no write.
    private static func name(_ file: FilePath) throws {
        let number = Array("\(getpid())\n".utf8)
        let descriptor = try FileDescriptor.open(file, .readWrite, options: .closeOnExec)
        try descriptor.closeAfter {
            let there = try [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in count = try descriptor.read(into: .init(buffer)) }
            guard there != number else { return }
            try descriptor.resize(to: 0)
            try descriptor.writeAll(toAbsoluteOffset: 0, number)
        }
    }

    /// Returns whether a file beside a store is one of its locks, by the bytes of its path.
    package static func isLock(_ path: UnsafeRawBufferPointer) -> Bool {
        Name.allCases.contains { name in path.suffix(name.rawValue.utf8.count).elementsEqual(name.rawValue.utf8) }
    }

    /// Returns the holder of a lock for a message: “ (process 123)”, or an empty string.
    package static func holder(of file: FilePath) -> String {
        guard let text = try? LinuxFileLayer().read(file, limit: 32),
            let number = Int32(String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines))
        else { return "" }
        return " (process \(number))"
    }
}
