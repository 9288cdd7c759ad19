/// Rows and columns of a pane, made once for each change of the facts and drawn often.
struct Table: Sendable, Equatable {
    struct Column: Sendable, Equatable {
        var title: String
        /// Whether its cells stand at its right edge, as numbers do.
        var isRight = false
        /// Whether it gives up room first, down to a few cells.
        var isFlexible = false
        /// Whether it stays where it is when the table is scrolled to the side.
        var isFixed = false
    }

    struct Cell: Sendable, Equatable {
        var text: String
        var style = CellStyle.plain
        /// What it is sorted by; its text where it has none.
        var number: Double?

        init(_ text: String, _ style: CellStyle = .plain, number: Double? = nil) {
            self.text = text
            self.style = style
            self.number = number
        }

        /// A number, with its sign where it is below zero.
        init(_ number: Int, _ style: CellStyle = .plain) { self.init(String(number), style, number: Double(number)) }
    }

    struct Row: Sendable, Equatable {
        /// Stays the same while the facts change, so that what is chosen stays chosen.
        var id: String
        var cells: [Cell]
        var target: Target?
    }

    var columns: [Column]
    var rows: [Row]
    /// Shown where there are no rows.
    var empty: String
    /// The cells that each column would like.
    let widths: [Int]

    init(columns: [Column] = [], rows: [Row] = [], empty: String) {
        self.columns = columns
        self.rows = rows
        self.empty = empty
        var widths = columns.map { DisplayWidth.width(of: $0.title) }
        for row in rows {
            for (column, cell) in row.cells.enumerated() { widths[column] = max(widths[column], DisplayWidth.width(of: cell.text)) }
        }
        self.widths = widths
    }

    /// The rows that hold each word of a filter, in any cell and any case, in an order.
    ///
    /// - Parameters:
    ///   - filter: words; none takes every row.
    ///   - sort: by which column, and whether from the greatest on; nil keeps the table's own order.
    /// - Returns: the places of the rows.
    func order(filter: String, sort: (column: Int, isDescending: Bool)?) -> [Int] {
        let words = filter.lowercased().split(separator: " ")
        var order = Array(rows.indices)
        if !words.isEmpty {
            order = order.filter { index in
                let texts = rows[index].cells.map { $0.text.lowercased() }
                return words.allSatisfy { word in texts.contains { $0.contains(word) } }
            }
        }
        guard let sort, columns.indices.contains(sort.column) else { return order }
        return order.sorted { first, second in
            let (a, b) = (rows[first].cells[sort.column], rows[second].cells[sort.column])
            let isBefore: Bool? =
                if let left = a.number, let right = b.number { left == right ? nil : left < right } else { a.text == b.text ? nil : a.text < b.text }
            // Rows that are alike keep the table's order, from whichever end.
            return isBefore.map { $0 != sort.isDescending } ?? (first < second)
        }
    }
}
