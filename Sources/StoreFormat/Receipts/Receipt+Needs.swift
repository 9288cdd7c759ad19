package import UbiquityContainers

extension Receipt {
    /// A log that the receipt's writer lacks and cannot do without, or has passed over.
    package struct Need {
        package var author: PeerIdentifier
        package var sequence: Int64
        /// The log itself, where the receipt names it.
        package var position: Knowledge.Position?
        /// What it lacks of the log, where that is there itself.
        package var value: ContentHash?
        package var isDamaged = false
    }

    /// The logs with which its writer could be helped.
    ///
    /// - Parameter knowledge: what the helper has: before a hole there may be more that its writer lacks and cannot name, which the helper can.
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
