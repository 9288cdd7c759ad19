package import ContentHashing
internal import Foundation
package import UbiquityContainers

/// What a device says of the cloud: which files it has uploaded, which of its own it has removed, and which versions of
/// documents it has made.
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
    /// The versions of documents that the device states.
    package var documents: [DocumentPath: [DocumentVersion]] = [:]

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

        struct Document: Codable {
            struct Part: Codable {
                /// The path in a package; nil for a document that is one file.
                var path: String?
                var size: Int64
                var sha256: String
                var executable: Bool?
                /// The pieces; nil for a file that is one piece, or empty.
                var chunks: [Piece]?
            }

            struct Piece: Codable {
                var size: Int64
                var sha256: String
            }

            var path: String
            var edits: [String: Int64]
            /// The hashes of contents before it; nil for none.
            var replaced: [String]?
            /// Milliseconds since 1970; nil for a removal, as the members below.
            var modified: Int64?
            var package: Bool?
            var directories: [String]?
            var files: [Part]?
        }

        var format: Int
        var device: String
        var number: Int64
        var previous: String?
        var inventory: Bool
        var peers: [String]
        var uploaded: [File]
        var removed: [String]
        /// Left out where there are none.
        var documents: [Document]?
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
            removed: removed.sorted().map(\.description),
            documents: documents.isEmpty
                ? nil : documents.sorted { $0.key < $1.key }.flatMap { path, versions in versions.map { Self.wire(path, $0) } })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // These members have no value that JSON cannot express.
        return try! [UInt8](encoder.encode(wire))
    }

    private static func wire(_ path: DocumentPath, _ version: DocumentVersion) -> Wire.Document {
        let edits = Dictionary(uniqueKeysWithValues: version.vector.counts.map { ($0.key.description, $0.value) })
        var wire = Wire.Document(path: path.description, edits: edits)
        if !version.replaced.isEmpty { wire.replaced = version.replaced.map(\.description) }
        guard let content = version.content else { return wire }
        wire.modified = content.modified
        if content.isPackage { wire.package = true }
        if !content.directories.isEmpty { wire.directories = content.directories }
        wire.files = content.files.map { file in
            Wire.Document.Part(
                path: content.isPackage ? file.path : nil, size: file.digest.size, sha256: file.digest.hash.description,
                executable: file.isExecutable ? true : nil,
                chunks: file.chunks.count > 1 ? file.chunks.map { .init(size: $0.size, sha256: $0.hash.description) } : nil)
        }
        return wire
    }

    private static func version(_ wire: Wire.Document, of device: TransferDevice) throws(Fault) -> DocumentVersion {
        var edits: [TransferDevice: Int64] = [:]
        for (name, count) in wire.edits {
            guard let device = TransferDevice(name) else { throw .malformed("it names \(name.prefix(200).debugDescription), which is no device") }
            edits[device] = count
        }
        guard !edits.isEmpty, let vector = VersionVector(edits) else {
            throw .malformed("it gives \(wire.path.prefix(200).debugDescription) no number of edits, or one that is too large")
        }
        var replaced: [ContentHash] = []
        for text in (wire.replaced ?? []).prefix(DocumentVersion.mostReplaced) {
            guard let hash = ContentHash(hexadecimal: text) else {
                throw .malformed("it gives a content before \(wire.path.prefix(200).debugDescription) no hash")
            }
            replaced.append(hash)
        }
        guard let parts = wire.files else { return DocumentVersion(vector: vector, content: nil, device: device, replaced: replaced) }
        var files: [DocumentContent.File] = []
        for part in parts {
            guard let hash = ContentHash(hexadecimal: part.sha256) else {
                throw .malformed("it gives \(wire.path.prefix(200).debugDescription) no hash")
            }
            let digest = FileDigest(size: part.size, hash: hash)
            var chunks: [DocumentContent.Chunk] = part.size == 0 ? [] : [digest]
            if let pieces = part.chunks {
                chunks = []
                for piece in pieces {
                    guard let hash = ContentHash(hexadecimal: piece.sha256) else {
                        throw .malformed("it gives a piece of \(wire.path.prefix(200).debugDescription) no hash")
                    }
                    chunks.append(FileDigest(size: piece.size, hash: hash))
                }
            }
            files.append(.init(path: part.path ?? "", digest: digest, isExecutable: part.executable == true, chunks: chunks))
        }
        let content = DocumentContent(
            isPackage: wire.package == true, directories: wire.directories ?? [], files: files, modified: wire.modified ?? 0)
        if let fault = content.fault() { throw .malformed("\(wire.path.prefix(200).debugDescription): \(fault)") }
        return DocumentVersion(vector: vector, content: content, device: device, replaced: replaced)
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
        for document in wire.documents ?? [] {
            guard let path = DocumentPath(document.path) else {
                throw .malformed("it names \(document.path.prefix(200).debugDescription), which is no document in a container of the account")
            }
            documents[path, default: []].append(try Self.version(document, of: device))
        }
        guard removed.isDisjoint(with: uploaded.keys) else { throw .malformed("it says of a file both that it is there and that it is gone") }
    }

    private static func path(_ text: String, _ account: AccountName) throws(Fault) -> TransferPath {
        guard let path = TransferPath(text, of: account) else {
            throw .malformed("it names \(text.prefix(200).debugDescription), which is no file of a store in a container of the account")
        }
        return path
    }
}
