package import Foundation
internal import Glibc
package import StoreFormat
package import SystemPackage
package import UbiquityContainers

/// The keys and the name of this device in a container with a scope: files below `scopes/<container>` of the device home.
///
/// Only the user can read them (mode 0600). No log, report or error shows a secret.
package struct DeviceKeys: Sendable {
    /// What is known of the device besides its secrets.
    package struct Record: Codable, Hashable, Sendable {
        package var format = 1
        /// Tells this device's files of the container apart from others; it never changes.
        package var device: UUID
        /// The peer under which the device writes.
        package var peer: String
        /// The account, once there is one.
        package var account: String?
        /// The device's public key; empty while the device only reads.
        package var key: String
        /// The directory that holds `public/<container>`.
        package var root: String
    }

    package let container: ScopeIdentifier
    private let directory: FilePath

    package init(_ container: ScopeIdentifier, in home: DeviceHome) {
        self.container = container
        directory = home.path.appending("scopes").appending(container.description)
    }

    private var recordFile: FilePath { directory.appending("device.json") }
    private var deviceKeyFile: FilePath { directory.appending("device.key") }
    private var identityKeyFile: FilePath { directory.appending("identity.key") }

    /// What is known of the device; nil before the container's first use.
    ///
    /// - Throws: `UbiquitousStoreError` with `malformed` if the file is damaged, or `fileSystem`.
    package var record: Record? {
        get throws(UbiquitousStoreError) {
            guard let bytes = try read(recordFile) else { return nil }
            guard let record = try? JSONDecoder().decode(Record.self, from: Data(bytes)), PeerIdentifier(record.peer) != nil else {
                throw UbiquitousStoreError(
                    .malformed, "\(recordFile) is damaged; remove \(directory) and enrol this device again.", path: recordFile)
            }
            guard record.format <= 1 else {
                throw UbiquitousStoreError(
                    .malformed, "\(recordFile) was written by a newer version (format \(record.format)); update this program.", path: recordFile)
            }
            return record
        }
    }

    /// The device's private key; nil while the device only reads.
    package var deviceKey: PrivateKey? { get throws(UbiquitousStoreError) { try key(in: deviceKeyFile) } }

    /// The account's private key, on a device that has it.
    package var identityKey: PrivateKey? { get throws(UbiquitousStoreError) { try key(in: identityKeyFile) } }

    private func key(in file: FilePath) throws(UbiquitousStoreError) -> PrivateKey? {
        guard let bytes = try read(file) else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self), let secret = Base32.decode(text.filter { !$0.isWhitespace }),
            let key = PrivateKey(bytes: secret)
        else {
            throw UbiquitousStoreError(
                .malformed, "\(file) holds no key of 52 digits; restore it from a backup, or enrol this device again.", path: file)
        }
        return key
    }

    private func read(_ file: FilePath) throws(UbiquitousStoreError) -> [UInt8]? {
        do {
            return try LinuxFileLayer().read(file, limit: 1 << 16)
        } catch .noSuchFileOrDirectory {
            return nil
        } catch {
            throw UbiquitousStoreError(.fileSystem, "\(file) cannot be read; check its owner and mode.", path: file, cause: error)
        }
    }

    /// Returns what is known of the device; writes it at the first use.
    ///
    /// - Parameter root: the directory that holds `public/<container>`.
    /// - Returns: what is known.
    /// - Throws: `UbiquitousStoreError`.
    package func record(at root: FilePath) throws(UbiquitousStoreError) -> Record {
        if let record = try record { return record }
        let device = UUID()
        let reader = PeerIdentifier(account: Self.readerName, uuid: device)
        let new = Record(device: device, peer: reader.description, account: nil, key: "", root: root.string)
        try write(new)
        return new
    }

    /// The account part of the name of a device that only reads.
    package static let readerName = "public"

    /// Writes the record.
    package func write(_ record: Record) throws(UbiquitousStoreError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let bytes = try? encoder.encode(record) else { preconditionFailure("a record of strings is encoded") }
        try write([UInt8](bytes) + [UInt8(ascii: "\n")], to: recordFile)
    }

    /// Writes the device's private key.
    package func write(deviceKey key: PrivateKey) throws(UbiquitousStoreError) { try write(key, to: deviceKeyFile) }

    /// Writes the account's private key.
    package func write(identityKey key: PrivateKey) throws(UbiquitousStoreError) { try write(key, to: identityKeyFile) }

    private func write(_ key: PrivateKey, to file: FilePath) throws(UbiquitousStoreError) {
        try write(Array((Base32.encode(key.bytes) + "\n").utf8), to: file)
    }

    /// Replaces a file as a whole, readable by the user alone.
    private func write(_ bytes: [UInt8], to file: FilePath) throws(UbiquitousStoreError) {
        let draft = directory.appending(".\(file.lastComponent!).\(UUID().uuidString)")
        do {
            try FileManager.default.createDirectory(
                atPath: directory.string, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let descriptor = try FileDescriptor.open(
                draft, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: [.ownerRead, .ownerWrite])
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
