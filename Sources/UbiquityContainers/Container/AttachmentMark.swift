package import Foundation
package import SystemPackage

/// `.ubiquity/<peer>`: the file that a peer writes once, when it attaches to a container.
package struct AttachmentMark: Codable, Sendable {
    package var format = 1
    package var peer: String
    /// The name of the device for people, at the time of the attachment.
    package var device: String
    package var attached: Date

    package init(peer: PeerIdentifier, home: DeviceHome, now: Date = Date()) {
        self.peer = peer.description
        device = (try? home.deviceName) ?? HomeSettings.hostName
        attached = now
    }

    /// Writes the mark; an existing mark stays unchanged.
    package func write(into directory: FilePath, files: any FileLayer) throws(ContainerError) {
        let file = directory.appending(peer)
        // Below `.nosync`, which synchronisers ignore.
        let temporary = directory.appending(".\(UUID().uuidString).nosync")
        do {
            if try files.kind(of: file) != nil { return }
            try files.writeNew(temporary, encoded())
            try files.renameNew(temporary, to: file)
            try files.syncDirectory(directory)
        } catch {
            try? files.remove(temporary)
            throw ContainerError(.fileSystem, "The attachment mark \(file) cannot be written.", path: file, cause: error)
        }
    }

    /// Returns the name of a peer's device.
    ///
    /// - Parameters:
    ///   - peer: the peer.
    ///   - directory: the directory of the marks.
    ///   - files: the file system.
    /// - Returns: nil if the peer's mark is missing or cannot be read.
    package static func device(of peer: String, in directory: FilePath, files: any FileLayer) -> String? {
        guard let bytes = try? files.read(directory.appending(peer), limit: 64 << 10) else { return nil }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return (try? decoder.decode(AttachmentMark.self, from: Data(bytes)))?.device
    }

    private func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(self))
    }
}
