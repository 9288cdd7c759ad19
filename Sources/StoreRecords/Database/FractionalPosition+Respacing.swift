extension FractionalPosition {
    /// The longest that is left as it is.
    static let mostDigits = 40

    /// What to write so that a list has room everywhere again: other positions for those that are equal to the one before, or have grown long.
    ///
    /// The order stays, and every other position. It depends on nothing but the list, so that devices that respace the same list at once write the
    /// same; where they have not seen the same, the later write of each record stays on all of them, and the next respacing parts what is
    /// equal then.
    ///
    /// ```swift
    /// let tracks = try Track.order(Column("position"), Column("id")).fetchAll(db)
    /// for (index, position) in FractionalPosition.respacing(tracks.map(\.position)) { … }
    /// ```
    ///
    /// Call it where ``between(_:_:)`` gives nil, and now and then where lists are much moved about.
    ///
    /// - Parameter positions: all of a list, in its order.
    /// - Returns: the new positions by their places in the list; empty where all is well.
    public static func respacing(_ positions: [FractionalPosition]) -> [Int: FractionalPosition] {
        var spaced = positions
        partEqual(&spaced)
        shorten(&spaced)
        return Dictionary(uniqueKeysWithValues: positions.indices.filter { spaced[$0] != positions[$0] }.map { ($0, spaced[$0]) })
    }

    /// Puts each that is not above the one before right behind it, below all that was above.
    ///
    /// As near as that, what another device has put there meanwhile mostly stays on its side.
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

    /// Spreads each run of long ones evenly between its neighbours, and with these where they are too near.
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
