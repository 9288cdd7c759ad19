package import Foundation
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
    /// The keys of the same home for all containers.
    package let home: HomeKeys
    private let directory: FilePath

    package init(_ container: ScopeIdentifier, in home: DeviceHome) {
        self.container = container
        self.home = HomeKeys(home)
        directory = HomeKeys.directory(of: home).appending(container.description)
    }

    /// The directory that holds `public/<container>` on a device that reads a public place and writes nothing.
    package var reading: FilePath { directory.appending("reading") }

    private var recordFile: FilePath { directory.appending("device.json") }
    private var deviceKeyFile: FilePath { directory.appending("device.key") }
    private var identityKeyFile: FilePath { directory.appending("identity.key") }

    /// What is known of the device; nil before the container's first use.
    ///
    /// - Throws: `UbiquitousStoreError` with `malformed` if the file is damaged, or `fileSystem`.
    package var record: Record? {
        get throws(UbiquitousStoreError) {
            guard let bytes = try KeyFile.read(recordFile) else { return nil }
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
    package var deviceKey: PrivateKey? { get throws(UbiquitousStoreError) { try KeyFile.key(in: deviceKeyFile) } }

    /// The account's private key, on a device that has it.
    package var identityKey: PrivateKey? { get throws(UbiquitousStoreError) { try KeyFile.key(in: identityKeyFile) } }

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
        try KeyFile.write([UInt8](bytes) + [UInt8(ascii: "\n")], to: recordFile)
    }

    /// Writes the device's private key.
    package func write(deviceKey key: PrivateKey) throws(UbiquitousStoreError) { try KeyFile.write(key, to: deviceKeyFile) }

    /// Writes the account's private key.
    package func write(identityKey key: PrivateKey) throws(UbiquitousStoreError) { try KeyFile.write(key, to: identityKeyFile) }
}
