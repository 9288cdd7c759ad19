package import Foundation
package import UbiquityContainers

/// `epochs/<n>.<peer>`: the file that begins an epoch of a store's content, and ends those before.
///
/// It is written once. Its name decides: a mark that cannot be read begins its epoch all the same, and says of no log that its writer had it.
package struct EpochMark: Sendable, Hashable, Codable {
    /// The form of the file.
    package static let format = 1

    /// The form of the file.
    package var format: Int
    /// The epoch that it begins.
    package var epoch: Int64
    /// Who wrote it.
    package var peer: String
    /// What the writer had taken in of the epoch before, its own published logs included; nil in the mark of a content's first epoch.
    package var knowledge: [Receipt.Entry]?
    /// Logs before those that the writer had passed over; nil for none.
    package var holes: [Receipt.Entry]?
    /// When it was written, by the writer's clock.
    package var time: Date?

    package init(epoch: Int64, peer: PeerIdentifier, knowledge: Knowledge?, time: Date) {
        format = Self.format
        self.epoch = epoch
        self.peer = peer.description
        self.knowledge = knowledge?.listed
        holes = knowledge?.listedHoles
        self.time = time
    }

    /// Reads a mark's bytes; nil for what is damaged or newer.
    package init?(decoding bytes: [UInt8]) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        guard let mark = try? decoder.decode(EpochMark.self, from: Data(bytes)), mark.format <= Self.format else { return nil }
        self = mark
    }

    package func encoded() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .iso8601
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try [UInt8](encoder.encode(self)) + [UInt8(ascii: "\n")]
    }

    /// What its writer had taken in of the epoch before.
    package var stated: Knowledge { Knowledge(stated: knowledge ?? [], holes: holes) }
}
