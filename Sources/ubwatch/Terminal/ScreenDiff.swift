/// The bytes that make a terminal which shows one screen show another.
enum ScreenDiff {
    /// The bytes, in synchronized output so that no half of them is seen.
    ///
    /// After a cell that terminals may take for wider or narrower than it is here the cursor is placed anew, so that nothing else is shifted.
    ///
    /// - Parameters:
    ///   - old: what the terminal shows; nil, or one of another size, where that is not known, and everything is drawn.
    ///   - new: what it is to show.
    ///   - hasColours: whether colours are wanted.
    /// - Returns: nothing where nothing differs.
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
            // Where the cursor is, in this row.
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

    /// ASCII, and the lines and blocks that the view itself draws.
    private static func isCertain(_ cell: Screen.Cell) -> Bool {
        guard cell.width == 1, let scalar = cell.text.unicodeScalars.first, cell.text.unicodeScalars.count == 1 else { return false }
        return scalar.isASCII || (0x2500...0x259F).contains(scalar.value) || scalar == "…"
    }
}
