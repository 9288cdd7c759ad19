import ToolSupport

/// The contents of a terminal: a grid of styled cells.
struct Screen: Equatable, Sendable {
    /// Rows and columns.
    struct Size: Hashable, Sendable {
        var rows: Int
        var columns: Int
    }

    /// One cell of the grid.
    struct Cell: Hashable, Sendable {
        /// A scalar with its marks; empty in the right half of a wide one.
        var text: String
        var style: CellStyle
        /// The width: 1 or 2; 0 in the right half of a wide scalar.
        var width: Int

        static let blank = Cell(text: " ", style: .plain, width: 1)
    }

    let size: Size
    private(set) var cells: [Cell]

    /// No script needs more marks over one scalar, and more would overlap the lines above.
    private static let marks = 4

    init(_ size: Size) {
        self.size = Size(rows: max(1, size.rows), columns: max(1, size.columns))
        cells = Array(repeating: .blank, count: self.size.rows * self.size.columns)
    }

    /// Returns the cells of a row.
    subscript(row: Int) -> ArraySlice<Cell> { cells[row * size.columns..<(row + 1) * size.columns] }

    /// Returns a row as text, without trailing blanks.
    func text(ofRow row: Int) -> String {
        var text = self[row].map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
    }

    /// Writes a text into a row; cuts the text at the end, and replaces the rest of a half-overwritten wide character
    /// with a blank.
    ///
    /// - Parameters:
    ///   - text: the text; its control characters are shown by their numbers.
    ///   - row: the row; outside the screen nothing is written.
    ///   - column: the column of its first cell.
    ///   - end: the column before which it ends; by default the screen's width.
    ///   - style: the style.
    /// - Returns: the column after the text.
    @discardableResult
    mutating func put(_ text: some StringProtocol, row: Int, column: Int, end: Int? = nil, style: CellStyle = .plain) -> Int {
        guard (0..<size.rows).contains(row), column >= 0 else { return column }
        let end = min(size.columns, end ?? size.columns)
        var column = column
        var last: Int?
        var marks = 0
        for scalar in text.unicodeScalars {
            switch DisplayWidth.kind(of: scalar) {
            case .selector: continue
            case .mark:
                guard let last, marks < Self.marks else { continue }
                marks += 1
                cells[row * size.columns + last].text.unicodeScalars.append(scalar)
            case .cells(let width):
                guard column + width <= end else { return column }
                set(Cell(text: String(scalar), style: style, width: width), row: row, column: column)
                (last, marks) = (column, 0)
                column += width
            case .escaped:
                for digit in scalar.escape {
                    guard column < end else { return column }
                    set(Cell(text: String(digit), style: style, width: 1), row: row, column: column)
                    column += 1
                }
                last = nil
            }
        }
        return column
    }

    /// Writes pieces one after the other.
    ///
    /// - Returns: the column after the last piece.
    @discardableResult
    mutating func put(_ pieces: [StyledText], row: Int, column: Int, end: Int? = nil) -> Int {
        pieces.reduce(column) { put($1.text, row: row, column: $0, end: end, style: $1.style) }
    }

    /// Writes a text, with an ellipsis if it does not fit.
    ///
    /// - Returns: the column after the text.
    @discardableResult
    mutating func putShortened(_ text: String, row: Int, column: Int, end: Int, style: CellStyle = .plain) -> Int {
        let room = end - column
        guard DisplayWidth.width(of: text) > room, room > 0 else { return put(text, row: row, column: column, end: end, style: style) }
        let after = put(text, row: row, column: column, end: end - 1, style: style)
        return put("…", row: row, column: after, end: end, style: style)
    }

    /// Changes the style of a range of cells in a row.
    mutating func restyle(row: Int, columns: Range<Int>, _ change: (inout CellStyle) -> Void) {
        guard (0..<size.rows).contains(row) else { return }
        for column in columns.clamped(to: 0..<size.columns) { change(&cells[row * size.columns + column].style) }
    }

    private mutating func set(_ cell: Cell, row: Int, column: Int) {
        let start = row * size.columns
        let index = start + column
        for place in index..<index + cell.width { clearOther(of: place, start) }
        cells[index] = cell
        if cell.width == 2 { cells[index + 1] = Cell(text: "", style: cell.style, width: 0) }
    }

    /// Clears the other half of a wide character, because half of one cannot be shown.
    private mutating func clearOther(of index: Int, _ start: Int) {
        switch cells[index].width {
        case 2: if index + 1 < start + size.columns { cells[index + 1] = .blank }
        case 0: if index > start { cells[index - 1] = .blank }
        default: break
        }
    }
}
