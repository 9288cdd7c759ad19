/// A longest common subsequence of two texts, whose lines are numbers.
///
/// It is found in linear space, as by Myers, “An O(ND) Difference Algorithm and Its Variations” (1986). The standard library's
/// `CollectionDifference` needs memory in the square of the number of changes, which for two texts of 20,000 lines with nothing in common is
/// gigabytes. Beyond ``patience`` changes in one part, the subsequence is common and need not be the longest.
struct CommonLines {
    /// Whether each line of the old text is in the subsequence.
    private(set) var old: [Bool]
    /// Whether each line of the new text is in the subsequence.
    private(set) var new: [Bool]

    /// The number of changes from either end after which a part is divided where the search has got farthest.
    private static let patience = 256

    init(_ old: [Int], _ new: [Int]) {
        self.old = [Bool](repeating: false, count: old.count)
        self.new = [Bool](repeating: false, count: new.count)
        // A line that the other text does not have is in no common subsequence, and need not be searched.
        let (ofOld, ofNew) = (Set(old), Set(new))
        let rows = old.indices.filter { ofNew.contains(old[$0]) }
        let columns = new.indices.filter { ofOld.contains(new[$0]) }
        var search = Search(rows.map { old[$0] }, columns.map { new[$0] })
        search.run()
        for (row, column) in search.pairs {
            self.old[rows[row]] = true
            self.new[columns[column]] = true
        }
    }

    /// A rectangle of lines of both texts that is still to be searched.
    private struct Part {
        var rows: Range<Int>
        var columns: Range<Int>
    }

    private struct Search {
        private let old: [Int]
        private let new: [Int]
        /// The equal lines of the subsequence, in no order.
        private(set) var pairs: [(row: Int, column: Int)] = []
        /// The farthest row that a path from the beginning reaches on each diagonal, which is row minus column.
        private var forward: [Int]
        /// The least row that a path from the end reaches on each diagonal.
        private var backward: [Int]
        /// The place of diagonal 0.
        private let zero: Int

        init(_ old: [Int], _ new: [Int]) {
            (self.old, self.new) = (old, new)
            zero = new.count + 1
            forward = [Int](repeating: 0, count: old.count + new.count + 3)
            backward = forward
        }

        mutating func run() {
            var pending = [Part(rows: old.indices, columns: new.indices)]
            while let part = pending.popLast() {
                let part = trimmed(part)
                guard !part.rows.isEmpty, !part.columns.isEmpty else { continue }
                let (row, column) = middle(of: part)
                pending.append(Part(rows: part.rows.lowerBound..<row, columns: part.columns.lowerBound..<column))
                pending.append(Part(rows: row..<part.rows.upperBound, columns: column..<part.columns.upperBound))
            }
        }

        /// Takes the equal lines at both ends.
        private mutating func trimmed(_ part: Part) -> Part {
            var (top, bottom, left, right) = (part.rows.lowerBound, part.rows.upperBound, part.columns.lowerBound, part.columns.upperBound)
            while top < bottom, left < right, old[top] == new[left] {
                pairs.append((top, left))
                (top, left) = (top + 1, left + 1)
            }
            while top < bottom, left < right, old[bottom - 1] == new[right - 1] {
                (bottom, right) = (bottom - 1, right - 1)
                pairs.append((bottom, right))
            }
            return Part(rows: top..<bottom, columns: left..<right)
        }

        /// Returns a place on a shortest path through a part whose first lines differ, and whose last lines differ.
        ///
        /// Paths from both ends get farther by one change in each round; they meet in the middle of a shortest one.
        private mutating func middle(of part: Part) -> (row: Int, column: Int) {
            let (rows, columns) = (part.rows, part.columns)
            let least = rows.lowerBound - columns.upperBound
            let greatest = rows.upperBound - columns.lowerBound
            let (start, end) = (rows.lowerBound - columns.lowerBound, rows.upperBound - columns.upperBound)
            var (first, last) = (start, start)
            var (firstBack, lastBack) = (end, end)
            let isOdd = (start - end) % 2 != 0
            forward[zero + start] = rows.lowerBound
            backward[zero + end] = rows.upperBound
            for round in 1... {
                Self.widen(&first, &last, within: least...greatest, &forward, zero, unreached: -1)
                for diagonal in stride(from: last, through: first, by: -2) {
                    let row = advanced(on: diagonal, rows, columns)
                    if isOdd, (firstBack...lastBack).contains(diagonal), backward[zero + diagonal] <= row { return (row, row - diagonal) }
                }
                Self.widen(&firstBack, &lastBack, within: least...greatest, &backward, zero, unreached: .max)
                for diagonal in stride(from: lastBack, through: firstBack, by: -2) {
                    let row = withdrawn(on: diagonal, rows, columns)
                    if !isOdd, (first...last).contains(diagonal), row <= forward[zero + diagonal] { return (row, row - diagonal) }
                }
                if round == CommonLines.patience { break }
            }
            return farthest(first, last, rows, columns)
        }

        /// Makes room for the paths with one more change.
        private static func widen(
            _ first: inout Int, _ last: inout Int, within diagonals: ClosedRange<Int>, _ reached: inout [Int], _ zero: Int, unreached: Int
        ) {
            if first > diagonals.lowerBound {
                first -= 1
                reached[zero + first - 1] = unreached
            } else {
                first += 1
            }
            if last < diagonals.upperBound {
                last += 1
                reached[zero + last + 1] = unreached
            } else {
                last -= 1
            }
        }

        /// Lengthens the path from the beginning on a diagonal.
        private mutating func advanced(on diagonal: Int, _ rows: Range<Int>, _ columns: Range<Int>) -> Int {
            let (below, above) = (forward[zero + diagonal - 1], forward[zero + diagonal + 1])
            var row = below < above ? above : below + 1
            while row < rows.upperBound, row - diagonal < columns.upperBound, old[row] == new[row - diagonal] { row += 1 }
            forward[zero + diagonal] = row
            return row
        }

        /// Lengthens the path from the end on a diagonal.
        private mutating func withdrawn(on diagonal: Int, _ rows: Range<Int>, _ columns: Range<Int>) -> Int {
            let (below, above) = (backward[zero + diagonal - 1], backward[zero + diagonal + 1])
            var row = below < above ? below : above - 1
            while row > rows.lowerBound, row - diagonal > columns.lowerBound, old[row - 1] == new[row - diagonal - 1] { row -= 1 }
            backward[zero + diagonal] = row
            return row
        }

        /// Returns the place that the paths from the beginning have reached and that is farthest from it.
        private func farthest(_ first: Int, _ last: Int, _ rows: Range<Int>, _ columns: Range<Int>) -> (row: Int, column: Int) {
            var best = (row: rows.lowerBound, column: columns.lowerBound)
            for diagonal in stride(from: last, through: first, by: -2) {
                let row = min(forward[zero + diagonal], rows.upperBound, columns.upperBound + diagonal)
                if row + row - diagonal > best.row + best.column { best = (row, row - diagonal) }
            }
            return best
        }
    }
}
