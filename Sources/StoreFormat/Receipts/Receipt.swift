package import Foundation
package import UbiquityContainers

/// The contents of `receipts/<i>`: the file in which a peer publishes its knowledge.
///
/// Each receipt is written once. Its author removes the earlier ones.
package struct Receipt: Sendable, Hashable, Codable {
    /// The version of the file format.
    package static let format = 1

    /// The last joined log of one branch of a peer.
    package struct Entry: Sendable, Hashable, Codable {
        /// The peer's name.
        package var peer: String
        /// The sequence of the log.
        package var sequence: Int64
        /// The content hash, in hexadecimal.
        package var hash: String

        package init(peer: String, sequence: Int64, hash: String) {
            self.peer = peer
            self.sequence = sequence
            self.hash = hash
        }
    }

    /// The version of the file format.
    package var format: Int
    /// The author of the receipt.
    package var peer: String
    /// The epoch that the receipt is about.
    package var epoch: Int64
    /// The heads of the peer's knowledge, including its own logs.
    ///
    /// A forked identifier has an entry for each branch.
    package var knowledge: [Entry]
    /// The holes in that knowledge: earlier logs that were passed over because their author was retired.
    ///
    /// Nil for none.
    package var holes: [Entry]?
    /// The files that the peer's waiting logs need and that are missing or unusable.
    ///
    /// Nil for none.
    package var awaits: [AwaitedFile]?
    /// The migrations that the peer's schema has applied, in order.
    package var migrations: [String]
    /// The device's name.
    package var device: String
    /// The app's name.
    package var app: String
    /// The time of writing, by the author's clock.
    package var time: Date

    package init(
        peer: PeerIdentifier, epoch: Int64, knowledge: Knowledge, awaits: [AwaitedFile] = [], migrations: [String], device: String? = nil, time: Date
    ) {
        format = Self.format
        self.peer = peer.description
        self.epoch = epoch
        self.knowledge = knowledge.listed
        holes = knowledge.listedHoles
        self.awaits = awaits.isEmpty ? nil : awaits
        self.migrations = migrations
        self.device = device ?? ProcessInfo.processInfo.hostName
        app = ProcessInfo.processInfo.processName
        self.time = time
    }

    /// Reads the bytes of a receipt.
    ///
    /// Returns nil if they are damaged or of a newer format.
    ///
    /// An earlier or later receipt serves as well.
    package init?(decoding bytes: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let receipt = try? decoder.decode(Receipt.self, from: Data(bytes)), receipt.format <= Self.format else { return nil }
        self = receipt
    }

    /// Reads the number from a receipt's file name in its one valid spelling.
    ///
    /// Returns nil for other names.
    ///
    /// It has at most fifteen digits, so that there is a number after any that a log can name.
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

    /// The knowledge that the receipt states, without unreadable entries.
    package var stated: Knowledge { Knowledge(stated: knowledge, holes: holes) }
}

extension Knowledge {
    /// Creates the knowledge that a file states.
    ///
    /// Unreadable entries are skipped.
    init(stated entries: [Receipt.Entry], holes: [Receipt.Entry]?) {
        self.init()
        for (peer, position) in entries.compactMap(\.log) { insert(position, of: peer) }
        for (peer, position) in (holes ?? []).compactMap(\.log) { insertHole(position, of: peer) }
    }

    /// The entries that state the heads in a file.
    package var listed: [Receipt.Entry] { entries.map { Receipt.Entry($0.peer, $0.position) } }

    /// The entries that state the holes in a file.
    ///
    /// Nil for none.
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
