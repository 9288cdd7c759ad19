/// The bytes that change a terminal from one screen to another.
enum ScreenDiff {
    /// Returns the bytes, in synchronized output so that no partial update is visible.
    ///
    /// After a cell whose width may differ on the terminal, the cursor is positioned again, so that no other cell is
    /// shifted.
    ///
    /// - Parameters:
    ///   - old: the current screen of the terminal; nil, or a screen of another size, to draw everything.
    ///   - new: the new screen.
    ///   - hasColours: whether to use colours.
    /// - Returns: no bytes if the screens are equal.
    static func bytes(from old: Screen?, to new: Screen, hasColours: Bool) -> [UInt8] {
        if old == new { return [] }
        let old = old.flatMap { $0.size == new.size ? $0 : nil }
        var bytes = Array("\u{1B}[?2026h".utf8)
        var style: CellStyle?
        if old == nil {
            bytes += "\u{1B}[0m\u{1B}[2J".utf8
            style = .plain
        }
        let blank = Screen(new.size)
        for row in 0..<new.size.rows {
            let (before, after) = ((old ?? blank)[row], new[row])
            if before == after { continue }
            // The position of the cursor in this row.
            var cursor: Int?
            for column in 0..<new.size.columns {
                let cell = after[after.startIndex + column]
                guard cell.width > 0, isChanged(before, after, column, width: cell.width) else { continue }
                if cursor != column { bytes += "\u{1B}[\(row + 1);\(column + 1)H".utf8 }
                if style != cell.style {
                    bytes += "\u{1B}[\(cell.style.sgr(hasColours: hasColours))m".utf8
                    style = cell.style
                }
                bytes += cell.text.utf8
                cursor = isCertain(cell) ? column + 1 : nil
            }
        }
        return bytes + "\u{1B}[0m\u{1B}[?2026l".utf8
    }

    private static func isChanged(_ before: ArraySlice<Screen.Cell>, _ after: ArraySlice<Screen.Cell>, _ column: Int, width: Int) -> Bool {
        (column..<column + width).contains { before[before.startIndex + $0] != after[after.startIndex + $0] }
    }

    /// Returns whether a cell has ASCII, or a line or block that the view itself draws.
    private static func isCertain(_ cell: Screen.Cell) -> Bool {
        guard cell.width == 1, let scalar = cell.text.unicodeScalars.first, cell.text.unicodeScalars.count == 1 else { return false }
        return scalar.isASCII || (0x2500...0x259F).contains(scalar.value) || scalar == "…"
    }
}
