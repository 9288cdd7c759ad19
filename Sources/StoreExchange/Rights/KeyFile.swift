internal import Foundation
internal import Glibc
package import StoreFormat
internal import SystemPackage
internal import UbiquityContainers

/// Files that only the user can read (mode 0600), with a private key in 52 digits of base 32.
package enum KeyFile {
    /// Reads a private key, 52 digits of base 32 with any white space; nil for anything else.
    package static func key(_ bytes: [UInt8]) -> PrivateKey? {
        String(validating: bytes, as: UTF8.self).flatMap { Base32.decode($0.filter { !$0.isWhitespace }) }.flatMap { PrivateKey(bytes: $0) }
    }

    /// Returns the private key in a file; nil without the file.
    static func key(in file: FilePath) throws(UbiquitousStoreError) -> PrivateKey? {
        guard let bytes = try read(file) else { return nil }
        guard let key = key(bytes) else {
            throw UbiquitousStoreError(
                .malformed, "\(file) holds no key of 52 digits; restore it from a backup, or enrol this device again.", path: file)
        }
        return key
    }

    /// Returns the content of a file; nil without the file.
    static func read(_ file: FilePath) throws(UbiquitousStoreError) -> [UInt8]? {
        do {
            return try LinuxFileLayer().read(file, limit: 1 << 16)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw UbiquitousStoreError(.fileSystem, "\(file) cannot be read; check its owner and mode.", path: file, cause: error)
        }
    }

    static func write(_ key: PrivateKey, to file: FilePath) throws(UbiquitousStoreError) {
        try write(Array((Base32.encode(key.bytes) + "\n").utf8), to: file)
    }

    /// Replaces a file as a whole, and makes its directory.
    static func write(_ bytes: [UInt8], to file: FilePath) throws(UbiquitousStoreError) {
        let directory = file.removingLastComponent()
        let draft = directory.appending(".\(file.lastComponent!).\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                atPath: directory.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let descriptor = try FileDescriptor.open(
                draft, .writeOnly, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec], permissions: [.ownerRead, .ownerWrite])
            try descriptor.closeAfter {
                try descriptor.writeAll(bytes)
                guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
            let files = LinuxFileLayer()
            try files.renameOver(draft, to: file)
            try files.syncDirectory(directory)
        } catch {
            unlink(draft.string)
            throw UbiquitousStoreError(
                .fileSystem, "\(file) cannot be written; check the directory's owner, mode and free space.", path: file, cause: error)
        }
    }
}
