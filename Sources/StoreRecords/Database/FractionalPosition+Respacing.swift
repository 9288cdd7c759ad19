extension FractionalPosition {
    /// The maximum number of digits that respacing leaves unchanged.
    static let mostDigits = 40

    /// Returns replacements that give a list room everywhere again: for positions that are equal to the previous one,
    /// or have grown long.
    ///
    /// The order and all other positions stay. The result depends only on the list, so devices that respace one list at
    /// the same time write equal positions. If they have seen different lists, the later write of each record stays on
    /// all devices, and the next respacing separates positions that are equal then.
    ///
    /// ```swift
    /// let tracks = try Track.order(Column("position"), Column("id")).fetchAll(db)
    /// for (index, position) in FractionalPosition.respacing(tracks.map(\.position)) { … }
    /// ```
    ///
    /// Call it if ``between(_:_:)`` returns nil, and from time to time if records are moved often.
    ///
    /// - Parameter positions: all positions of a list, in order.
    /// - Returns: the new positions by their indexes in the list. Empty if no position must change.
    public static func respacing(_ positions: [FractionalPosition]) -> [Int: FractionalPosition] {
        var spaced = positions
        partEqual(&spaced)
        shorten(&spaced)
        return Dictionary(uniqueKeysWithValues: positions.indices.filter { spaced[$0] != positions[$0] }.map { ($0, spaced[$0]) })
    }

    /// Moves each position that is not above the previous one to right behind it, below all positions that were above
    /// it.
    ///
    /// At so small a distance, positions that another device has inserted meanwhile mostly stay on their side.
    private static func partEqual(_ positions: inout [FractionalPosition]) {
        var index = 0
        while index < positions.count {
            let first = positions[index].digits
            var end = index + 1
            while end < positions.count, positions[end] <= positions[index] { end += 1 }
            if end > index + 1 {
                let upper = end < positions.count ? positions[end].digits : nil
                let gap = Gap(first, upper, room: end - index - 1, length: max(leastLength, first.count + 1))!
                for place in index + 1..<end { positions[place] = FractionalPosition(digits: gap.digits(at: place - index)) }
            }
            index = end
        }
    }

    /// Spreads each run of long positions evenly between its neighbours, and includes neighbours that are too close.
    private static func shorten(_ positions: inout [FractionalPosition]) {
        var index = 0
        while index < positions.count {
            guard positions[index].text.utf8.count > mostDigits else {
                index += 1
                continue
            }
            var run = index..<index + 1
            while run.upperBound < positions.count, positions[run.upperBound].text.utf8.count > mostDigits {
                run = run.lowerBound..<run.upperBound + 1
            }
            var new = even(run, in: positions)
            while new.contains(where: { $0.text.utf8.count > mostDigits / 2 }), run != positions.indices {
                run = max(0, run.lowerBound - 1)..<min(positions.count, run.upperBound + 1)
                new = even(run, in: positions)
            }
            positions.replaceSubrange(run, with: new)
            index = run.upperBound
        }
    }

    private static func even(_ run: Range<Int>, in positions: [FractionalPosition]) -> [FractionalPosition] {
        let lower = run.lowerBound > 0 ? positions[run.lowerBound - 1].digits : []
        let upper = run.upperBound < positions.count ? positions[run.upperBound].digits : nil
        let gap = Gap(lower, upper, room: run.count)!
        return (1...run.count).map { FractionalPosition(digits: gap.digits(at: share(gap.size, $0, of: run.count + 1))) }
    }
}
