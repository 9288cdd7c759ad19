package import UbiquityContainers

/// The name of a baseline's file: `<sequence>.<content hash>.ubbaseline`, with the sequence in twelve digits.
package struct BaselineName: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number of the baseline among its peer's baselines in this epoch, from 1.
    package let sequence: Int64
    /// The hash of the file's bytes.
    package let hash: ContentHash

    private static let suffix = ".ubbaseline"

    /// Creates a name.
    package init(sequence: Int64, hash: ContentHash) {
        self.sequence = sequence
        self.hash = hash
    }

    /// Parses a file name.
    ///
    /// Returns nil for anything but the one valid spelling.
    package init?(_ name: some StringProtocol) {
        guard let position = Knowledge.Position(fileName: name, suffix: Self.suffix) else { return nil }
        self.init(sequence: position.sequence, hash: position.hash)
    }

    /// Compares in the order of the file names.
    package static func < (left: Self, right: Self) -> Bool { left.position < right.position }

    private var position: Knowledge.Position { .init(sequence: sequence, hash: hash) }

    /// The name of the file.
    package var description: String { position.fileName(suffix: Self.suffix) }
}

/// Identifies a baseline of a content by its author and name.
package struct BaselineID: Hashable, Comparable, Sendable {
    package var peer: PeerIdentifier
    package var name: BaselineName

    package init(peer: PeerIdentifier, name: BaselineName) {
        self.peer = peer
        self.name = name
    }

    package static func < (left: Self, right: Self) -> Bool { left.peer == right.peer ? left.name < right.name : left.peer < right.peer }
}
