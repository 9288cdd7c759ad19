package import Foundation
internal import SystemPackage

/// `setup.json` of a device home: what `ubcontrol setup` has made on this device, so that it can go on and be undone.
///
/// Each entry is written before the thing is made. Undoing what was never made changes nothing.
package struct SetupRecord: Codable, Sendable, Hashable, HomeFormat {
    package var format = HomeFormatVersion.current
    /// The directory of the Syncthing that setup has started.
    package var syncthingHome: String?
    /// The unit of the user's systemd that setup has switched on.
    package var startedService: String?
    /// The unit of the transfer agent that setup has switched on.
    package var startedAgent: String?
    /// The name that this device had in Syncthing before.
    package var earlierName: String?
    /// The identifier of the folder that setup has added to Syncthing.
    package var folder: String?
    /// The devices that setup has added to Syncthing.
    package var devices: [String] = []
    /// Whether the member `syncthing` of `config.json` is setup's.
    package var hasEndpoint = false
    /// The member that setup has replaced.
    package var earlierEndpoint: SyncthingConfiguration?
    /// The code that this device shows; nil if none is open.
    package var pairing: Pairing?
    /// Whether the member `transport` of `config.json` is setup's.
    package var hasTransport = false
    /// Whether the member `deviceName` of `config.json` is setup's.
    package var hasDeviceName = false

    package init() {}

    /// An open code.
    package struct Pairing: Codable, Sendable, Hashable {
        /// The secret, in base64.
        package var secret: Data
        package var made: Date
        /// The device that has proved to have the code; from then on nobody else can use it.
        package var accepted: String?

        /// The time after which a code that nobody has used is replaced.
        package static let lifetime: TimeInterval = 24 * 3600

        package init(secret: Data, made: Date) {
            self.secret = secret
            self.made = made
        }

        /// Whether the code can still be used.
        package func isOpen(at now: Date) -> Bool { accepted != nil || abs(now.timeIntervalSince(made)) < Self.lifetime }
    }

    static var remedy: String { "remove it; then setup can no longer undo what it has done" }
}

extension HomeSettings {
    /// What setup has made on this device.
    ///
    /// - Throws: `ContainerError` when the file cannot be read or understood.
    package var record: SetupRecord {
        get throws(ContainerError) {
            let files = HomeFiles(home: home)
            return try files.read(SetupRecord.self, from: files.setupFile) ?? SetupRecord()
        }
    }

    /// Writes what setup has made on this device; nil removes the file.
    ///
    /// - Throws: `ContainerError`.
    package func write(_ record: SetupRecord?) throws(ContainerError) {
        let files = HomeFiles(home: home)
        try files.prepare()
        try files.locked { () throws(ContainerError) in
            do {
                guard let record else {
                    try files.files.remove(files.setupFile)
                    return try files.files.syncDirectory(home.path)
                }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
                try files.replace(files.setupFile, [UInt8](encoder.encode(record)) + [UInt8(ascii: "\n")], mode: [.ownerReadWrite])
            } catch {
                throw ContainerError(
                    .fileSystem, "\(files.setupFile) cannot be written; check the directory's owner, mode and free space.", path: files.setupFile,
                    cause: error)
            }
        }
    }
}

extension HomeFiles {
    fileprivate var setupFile: FilePath { home.path.appending("setup.json") }
}
