package import UbiquityContainers

extension Receipt {
    /// A log that the receipt's writer needs, or has passed over.
    package struct Need {
        package var author: PeerIdentifier
        package var sequence: Int64
        /// The log's position, if the receipt names it.
        package var position: Knowledge.Position?
        /// The large value that is missing, if the log itself is present.
        package var value: ContentHash?
        package var isDamaged = false
    }

    /// Returns the logs that would help the receipt's writer.
    ///
    /// - Parameter knowledge: the helper's knowledge. The writer can lack more logs before a hole and cannot name them,
    ///   but the helper can.
    /// - Returns: the logs.
    package func needs(besides knowledge: Knowledge) -> [Need] {
        let stated = stated
        let awaited = (awaits ?? []).compactMap { file -> Need? in
            guard let author = PeerIdentifier(file.peer) else { return nil }
            if let log = file.log.flatMap({ LogFileName($0) }), let value = file.hash.flatMap({ ContentHash(hexadecimal: $0) }) {
                return Need(author: author, sequence: log.sequence, position: log.position, value: value, isDamaged: file.isDamaged)
            }
            guard let sequence = file.sequence else { return nil }
            let hash = file.hash.flatMap { ContentHash(hexadecimal: $0) }
            return Need(author: author, sequence: sequence, position: hash.map { .init(sequence: sequence, hash: $0) }, isDamaged: file.isDamaged)
        }
        let holes = stated.holes.flatMap { author, positions in
            let unnamed = (knowledge.heads[author] ?? []).filter { !stated.covers($0.sequence, of: author) }
            return positions.union(unnamed).map { Need(author: author, sequence: $0.sequence, position: $0) }
        }
        return awaited + holes
    }
}
