internal import Foundation
internal import Glibc
internal import SystemPackage
internal import UbiquityContainers

/// A lock between the processes of a device that share a store; every wait for it can be ended.
enum StoreLock {
    /// Takes a lock, and writes this process's number into the file.
    ///
    /// - Parameters:
    ///   - file: the lock file.
    ///   - limit: how long to wait for another process; the wait blocks the thread. The kernel's own wait cannot be
    ///     ended, so the method polls every two milliseconds.
    ///   - isCancelled: called during the wait; true ends it.
    /// - Returns: the lock, or nil if another process still holds it.
    /// - Throws: `UbiquitousStoreError` if the file cannot be created or opened.
    static func take(_ file: FilePath, within limit: Duration, unless isCancelled: () -> Bool) throws -> FileLock? {
        let deadline = ContinuousClock.now + limit
        while true {
            do {
                if let lock = try FileLock.ifFree(file) {
                    try? name(file)
                    return lock
                }
            } catch {
                throw UbiquitousStoreError(.fileSystem, "\(file) cannot be locked; check its owner and mode.", path: file, cause: error)
            }
            guard ContinuousClock.now < deadline, !isCancelled() else { return nil }
            usleep(2000)
        }
    }

    /// Writes this process's number into a lock file, unless the file already contains it.
    ///
    /// Every exchange takes a lock, so most calls need no write.
    private static func name(_ file: FilePath) throws {
        let number = Array("\(getpid())\n".utf8)
        let descriptor = try FileDescriptor.open(file, .readWrite)
        try descriptor.closeAfter {
            let there = try [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in count = try descriptor.read(into: .init(buffer)) }
            guard there != number else { return }
            try descriptor.resize(to: 0)
            try descriptor.writeAll(toAbsoluteOffset: 0, number)
        }
    }

    /// Returns whether a file beside a store is one of its locks, by the bytes of its path.
    static func isLock(_ path: UnsafeRawBufferPointer) -> Bool {
        ["-exchange", "-open", "-use"].contains { ending in path.suffix(ending.utf8.count).elementsEqual(ending.utf8) }
    }

    /// Returns the holder of a lock for a message: “ (process 123)”, or an empty string.
    static func holder(of file: FilePath) -> String {
        guard let text = FileManager.default.contents(atPath: file.string),
            let number = Int32(String(decoding: text, as: UTF8.self).trimmingCharacters(in: .newlines))
        else { return "" }
        return " (process \(number))"
    }
}
