package import ContentHashing
internal import Foundation
package import UbiquityContainers

/// What a device says of the cloud: which files it has uploaded, and which of its own it has removed.
///
/// Nothing in the cloud counts until a bulletin names it. A bulletin is written once, its name has the hash of its bytes, and it
/// names the device's bulletin before it.
package struct Bulletin: Hashable, Sendable {
    package var device: TransferDevice
    package var number: Int64
    /// The hash of the device's bulletin before; nil for the first.
    package var previous: ContentHash?
    /// Whether it lists everything that the device vouches for, so that its earlier bulletins say nothing more.
    package var isInventory = false
    /// The peers as which the device writes.
    package var peers: Set<PeerIdentifier> = []
    /// The files that the device has uploaded.
    package var uploaded: [TransferPath: FileDigest] = [:]
    /// The files that are gone for good: the device's own, and those of ended epochs.
    package var removed: Set<TransferPath> = []

    package init(device: TransferDevice, number: Int64, previous: ContentHash?) {
        (self.device, self.number, self.previous) = (device, number, previous)
    }

    /// The format that this version writes.
    package static let format = 1
    /// The greatest number of bytes of a bulletin.
    package static let limit = 64 << 20

    /// Why the bytes of a bulletin are of no use.
    package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
        /// A newer version has written it.
        case newerFormat(Int)
        /// Its bytes are not those that its name says, so all of it may come later.
        case incomplete
        /// It is damaged, or names what no bulletin may name.
        case malformed(String)

        package var description: String {
            switch self {
            case .newerFormat(let format): "it has format \(format), which a newer version of this package reads; update it"
            case .incomplete: "its bytes are not those that its name says"
            case .malformed(let reason): reason
            }
        }
    }

    // MARK: Bytes

    private struct Wire: Codable {
        struct File: Codable {
            var path: String
            var size: Int64
            var sha256: String
        }

        var format: Int
        var device: String
        var number: Int64
        var previous: String?
        var inventory: Bool
        var peers: [String]
        var uploaded: [File]
        var removed: [String]
    }

    private struct Format: Decodable {
        var format: Int
    }

    /// The bytes: JSON with sorted members and lists, so that equal bulletins have equal bytes.
    package var encoded: [UInt8] {
        let wire = Wire(
            format: Self.format, device: device.description, number: number, previous: previous?.description, inventory: isInventory,
            peers: peers.map(\.description).sorted(),
            uploaded: uploaded.sorted { $0.key < $1.key }.map {
                Wire.File(path: $0.key.description, size: $0.value.size, sha256: $0.value.hash.description)
            },
            removed: removed.sorted().map(\.description))
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // These members have no value that JSON cannot express.
        return try! [UInt8](encoder.encode(wire))
    }

    /// Its name: ``encoded`` has the hash.
    package static func name(_ device: TransferDevice, _ number: Int64, _ bytes: [UInt8]) -> BulletinName {
        BulletinName(device: device, number: number, hash: ContentHash(of: bytes))
    }

    /// Reads a bulletin, and trusts nothing in it.
    ///
    /// - Parameters:
    ///   - bytes: its bytes.
    ///   - name: the name under which they were found.
    ///   - account: the account whose files it may name.
    /// - Throws: ``Fault``.
    package init(decoding bytes: [UInt8], named name: BulletinName, of account: AccountName) throws(Fault) {
        guard bytes.count <= Self.limit else { throw .malformed("it has \(bytes.count) bytes, more than \(Self.limit)") }
        guard ContentHash(of: bytes) == name.hash else { throw .incomplete }
        let decoder = JSONDecoder()
        guard let format = try? decoder.decode(Format.self, from: Data(bytes)).format else { throw .malformed("it is no JSON of a bulletin") }
        guard format <= Self.format else { throw .newerFormat(format) }
        guard format == Self.format, let wire = try? decoder.decode(Wire.self, from: Data(bytes)) else {
            throw .malformed("it lacks a member, or one has another type")
        }
        guard wire.device == name.device.description, wire.number == name.number else {
            throw .malformed("it is bulletin \(wire.number) of \(wire.device)")
        }
        self.init(device: name.device, number: name.number, previous: nil)
        isInventory = wire.inventory
        if let text = wire.previous {
            guard let hash = ContentHash(hexadecimal: text) else { throw .malformed("it does not name the bulletin before it") }
            previous = hash
        }
        for text in wire.peers {
            guard let peer = PeerIdentifier(text), peer.account == account.description else {
                throw .malformed("it names \(text.debugDescription), which is no peer of the account")
            }
            peers.insert(peer)
        }
        for file in wire.uploaded {
            let path = try Self.path(file.path, account)
            guard file.size >= 0, let hash = ContentHash(hexadecimal: file.sha256) else {
                throw .malformed("it gives \(file.path.debugDescription) no size or hash")
            }
            guard uploaded.updateValue(FileDigest(size: file.size, hash: hash), forKey: path) == nil else {
                throw .malformed("it names \(file.path.debugDescription) twice")
            }
        }
        for text in wire.removed { removed.insert(try Self.path(text, account)) }
        guard removed.isDisjoint(with: uploaded.keys) else { throw .malformed("it says of a file both that it is there and that it is gone") }
    }

    private static func path(_ text: String, _ account: AccountName) throws(Fault) -> TransferPath {
        guard let path = TransferPath(text, of: account) else {
            throw .malformed("it names \(text.prefix(200).debugDescription), which is no file of a store in a container of the account")
        }
        return path
    }
}
