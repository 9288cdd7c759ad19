package import Foundation
package import UbiquityContainers

/// The contents of `epochs/<n>.<peer>`: the file that begins an epoch of a store's content, and ends the earlier
/// epochs.
///
/// It is written once. Its name decides: a mark that cannot be read still begins its epoch, and states no knowledge.
package struct EpochMark: Sendable, Hashable, Codable {
    /// The version of the file format.
    package static let format = 1

    /// The version of the file format.
    package var format: Int
    /// The epoch that the mark begins.
    package var epoch: Int64
    /// The peer that wrote the mark.
    package var peer: String
    /// The writer's knowledge of the previous epoch, including its own published logs.
    ///
    /// Nil in the mark of a content's first epoch.
    package var knowledge: [Receipt.Entry]?
    /// The holes in that knowledge: earlier logs that the writer had passed over.
    ///
    /// Nil for none.
    package var holes: [Receipt.Entry]?
    /// The time of writing, by the writer's clock.
    package var time: Date?

    package init(epoch: Int64, peer: PeerIdentifier, knowledge: Knowledge?, time: Date) {
        format = Self.format
        self.epoch = epoch
        self.peer = peer.description
        self.knowledge = knowledge?.listed
        holes = knowledge?.listedHoles
        self.time = time
    }

    /// Reads the bytes of a mark.
    ///
    /// Returns nil if they are damaged or of a newer format.
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

    /// The writer's knowledge of the previous epoch.
    package var stated: Knowledge { Knowledge(stated: knowledge ?? [], holes: holes) }
}
