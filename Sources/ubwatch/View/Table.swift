import Foundation

/// The rows and columns of a pane, made once for each change of the facts and drawn often.
struct Table: Sendable, Equatable {
    struct Column: Sendable, Equatable {
        var title: String
        /// Whether its cells are aligned to the right, as numbers are.
        var isRight = false
        /// Whether it becomes narrower first, down to a few cells.
        var isFlexible = false
        /// Whether it does not scroll horizontally.
        var isFixed = false
    }

    struct Cell: Sendable, Equatable {
        var text: String
        var style = CellStyle.plain
        /// The sort key; the text if there is none.
        var number: Double?
        /// The time of which the text tells the age; nil if it tells none.
        var date: Date?

        init(_ text: String, _ style: CellStyle = .plain, number: Double? = nil, date: Date? = nil) {
            self.text = text
            self.style = style
            self.number = number
            self.date = date
        }

        /// A number, with a sign if it is negative.
        init(_ number: Int, _ style: CellStyle = .plain) { self.init(String(number), style, number: Double(number)) }
    }

    struct Row: Sendable, Equatable {
        /// An identifier that stays when the facts change, so that the selection stays.
        var id: String
        var cells: [Cell]
        var target: Target?
    }

    var columns: [Column]
    var rows: [Row]
    /// The text for an empty table.
    var empty: String
    /// The preferred width of each column in cells.
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

    /// Returns the rows that contain each word of a filter, in any cell and any case, in order.
    ///
    /// - Parameters:
    ///   - filter: words; an empty filter accepts every row.
    ///   - sort: the column, and whether the greatest value comes first; nil keeps the table's own order.
    /// - Returns: the indices of the rows.
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
            // Equal rows keep the table's order, in both directions.
            return isBefore.map { $0 != sort.isDescending } ?? (first < second)
        }
    }
}
