package import Foundation
package import UbiquityContainers

/// `receipts/<i>`: the file in which a peer publishes its knowledge.
///
/// Each is written once; its owner removes the ones before.
package struct Receipt: Sendable, Hashable, Codable {
    /// The form of the file.
    package static let format = 1

    /// One peer's last log taken in.
    package struct Entry: Sendable, Hashable, Codable {
        /// The peer's name.
        package var peer: String
        /// The sequence.
        package var sequence: Int64
        /// The content hash, in hexadecimal.
        package var hash: String

        package init(peer: String, sequence: Int64, hash: String) {
            self.peer = peer
            self.sequence = sequence
            self.hash = hash
        }
    }

    /// The form of the file.
    package var format: Int
    /// Whose receipt it is.
    package var peer: String
    /// The epoch that it is about.
    package var epoch: Int64
    /// For each peer, its own logs included, up to where it has taken them in: an entry for each branch of a forked identifier.
    package var knowledge: [Entry]
    /// Logs before those that have been passed over, for their author was retired at them; nil for none.
    package var holes: [Entry]?
    /// The files that its waiting logs need and that are not there, or cannot be used; nil for none.
    package var awaits: [AwaitedFile]?
    /// The migrations that the peer's schema has been through, in order.
    package var migrations: [String]
    /// The device's name.
    package var device: String
    /// The app's name.
    package var app: String
    /// When it was written, by the peer's clock.
    package var time: Date

    package init(peer: PeerIdentifier, epoch: Int64, knowledge: Knowledge, awaits: [AwaitedFile] = [], migrations: [String], time: Date) {
        format = Self.format
        self.peer = peer.description
        self.epoch = epoch
        self.knowledge = knowledge.listed
        holes = knowledge.listedHoles
        self.awaits = awaits.isEmpty ? nil : awaits
        self.migrations = migrations
        device = ProcessInfo.processInfo.hostName
        app = ProcessInfo.processInfo.processName
        self.time = time
    }

    /// Reads a receipt's bytes; nil for what is damaged or newer: the receipt before it, or the next, will do.
    package init?(decoding bytes: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let receipt = try? decoder.decode(Receipt.self, from: Data(bytes)), receipt.format <= Self.format else { return nil }
        self = receipt
    }

    /// The number in a receipt's file name, in its one spelling; nil for other names.
    ///
    /// It has up to fifteen digits, so that there is a next one behind any that a log can name.
    package static func number(ofFile name: String) -> Int64? {
        guard name.utf8.count <= 15, let number = Int64(name), number > 0, String(number) == name else { return nil }
        return number
    }

    package func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(self))
    }

    /// The knowledge that it states; entries that cannot be read are left out.
    package var stated: Knowledge { Knowledge(stated: knowledge, holes: holes) }
}

extension Knowledge {
    /// The knowledge that a file states; entries that cannot be read are left out.
    init(stated entries: [Receipt.Entry], holes: [Receipt.Entry]?) {
        self.init()
        for (peer, position) in entries.compactMap(\.log) { insert(position, of: peer) }
        for (peer, position) in (holes ?? []).compactMap(\.log) { insertHole(position, of: peer) }
    }

    /// The entries that state its heads in a file.
    package var listed: [Receipt.Entry] { entries.map { Receipt.Entry($0.peer, $0.position) } }

    /// The entries that state its holes in a file; nil where there are none.
    package var listedHoles: [Receipt.Entry]? {
        let all = holes.sorted { $0.key < $1.key }.flatMap { peer, positions in positions.sorted().map { Receipt.Entry(peer, $0) } }
        return all.isEmpty ? nil : all
    }
}

extension Receipt.Entry {
    fileprivate init(_ peer: PeerIdentifier, _ position: Knowledge.Position) {
        self.init(peer: peer.description, sequence: position.sequence, hash: position.hash.description)
    }

    fileprivate var log: (peer: PeerIdentifier, position: Knowledge.Position)? {
        guard let peer = PeerIdentifier(peer), let hash = ContentHash(hexadecimal: hash), (1...Knowledge.Position.lastSequence).contains(sequence)
        else { return nil }
        return (peer, .init(sequence: sequence, hash: hash))
    }
}
