package import UbiquityContainers

/// `<sequence>.<content hash>.ubbaseline`, the sequence in twelve digits.
package struct BaselineName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of the baseline among its peer's in this epoch, from 1.
    package let sequence: Int64
    /// The hash of the file's bytes.
    package let hash: ContentHash

    private static let suffix = ".ubbaseline"

    /// Names a baseline.
    package init(sequence: Int64, hash: ContentHash) {
        self.sequence = sequence
        self.hash = hash
    }

    /// Reads a file's name; nil for anything but the one spelling of a baseline's.
    package init?(_ name: some StringProtocol) {
        guard let position = Knowledge.Position(fileName: name, suffix: Self.suffix) else { return nil }
        self.init(sequence: position.sequence, hash: position.hash)
    }

    /// As the names sort.
    package static func < (left: Self, right: Self) -> Bool { left.position < right.position }

    private var position: Knowledge.Position { .init(sequence: sequence, hash: hash) }

    /// The name of the file.
    package var description: String { position.fileName(suffix: Self.suffix) }
}

/// A baseline of a content: whose, and which.
package struct BaselineID: Hashable, Comparable, Sendable {
    package var peer: PeerIdentifier
    package var name: BaselineName

    package init(peer: PeerIdentifier, name: BaselineName) {
        self.peer = peer
        self.name = name
    }

    package static func < (left: Self, right: Self) -> Bool { left.peer == right.peer ? left.name < right.name : left.peer < right.peer }
}
