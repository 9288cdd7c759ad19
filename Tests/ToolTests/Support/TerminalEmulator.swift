@testable import ubwatch

/// As much of a terminal as the view uses: it is told nothing but bytes.
struct TerminalEmulator {
    struct Cell: Equatable {
        var text = " "
        var style = "0"
        var width = 1
    }

    let size: Screen.Size
    private(set) var cells: [Cell]
    private var row = 0
    private var column = 0
    private var style = "0"
    /// What it was told and does not know.
    private(set) var unknown: [String] = []
    /// How many cells were written to.
    private(set) var written = 0
    private(set) var isSynchronized = false

    init(_ size: Screen.Size) {
        self.size = size
        cells = Array(repeating: Cell(), count: size.rows * size.columns)
    }

    mutating func take(_ bytes: [UInt8]) {
        var scalars = Array(String(decoding: bytes, as: UTF8.self).unicodeScalars)[...]
        while let scalar = scalars.popFirst() {
            guard scalar == "\u{1B}" else {
                write(scalar)
                continue
            }
            guard scalars.popFirst() == "[" else { return unknown.append("ESC") }
            let parameters = scalars.prefix { !(0x40...0x7E).contains($0.value) }
            scalars = scalars.dropFirst(parameters.count)
            let text = String(String.UnicodeScalarView(parameters))
            switch (text, scalars.popFirst()) {
            case ("?2026", "h"?): isSynchronized = true
            case ("?2026", "l"?): isSynchronized = false
            case ("2", "J"?): cells = Array(repeating: Cell(), count: cells.count)
            case (_, "m"?): style = text
            case (_, "H"?):
                let numbers = text.split(separator: ";").compactMap { Int($0) }
                (row, column) = (numbers[0] - 1, numbers[1] - 1)
            case (_, let final): unknown.append("\(text)\(final.map(String.init) ?? "")")
            }
        }
    }

    private mutating func write(_ scalar: Unicode.Scalar) {
        let width = scalar.properties.generalCategory == .nonspacingMark ? 0 : DisplayWidth.width(of: String(scalar))
        guard width > 0 else {
            // Over the cell before the cursor, or the one before that, where it is a wide one's right half.
            let last = row * size.columns + column - 1
            let place = cells[last].width == 0 ? last - 1 : last
            cells[place].text.unicodeScalars.append(scalar)
            return
        }
        guard column + width <= size.columns, row < size.rows else { return unknown.append("outside: \(row) \(column)") }
        let start = row * size.columns + column
        for place in start..<start + width {
            if cells[place].width == 2 { cells[place + 1] = Cell() }
            if cells[place].width == 0 { cells[place - 1] = Cell() }
        }
        cells[start] = Cell(text: String(scalar), style: style, width: width)
        if width == 2 { cells[start + 1] = Cell(text: "", style: style, width: 0) }
        column += width
        written += 1
    }

    /// Whether it shows a screen.
    func shows(_ screen: Screen) -> Bool {
        zip(cells, screen.cells).allSatisfy { $0.text == $1.text && $0.width == $1.width && $0.style == $1.style.sgr(hasColours: true) }
            && cells.count == screen.cells.count
    }
}
