/// The appearance of a cell.
struct CellStyle: Hashable, Sendable {
    /// The colours that every terminal has and that its user may have changed.
    enum Colour: UInt8, Sendable {
        case red = 31
        case green, yellow, blue, magenta, cyan
    }

    var colour: Colour?
    var isBold = false
    var isDim = false
    var isReversed = false

    static let plain = CellStyle()
    static let bold = CellStyle(isBold: true)
    static let dim = CellStyle(isDim: true)
    static let red = CellStyle(colour: .red)
    static let green = CellStyle(colour: .green)
    static let yellow = CellStyle(colour: .yellow)
    static let blue = CellStyle(colour: .blue)
    static let cyan = CellStyle(colour: .cyan)

    /// The style of a selected cell.
    var reversed: CellStyle {
        var style = self
        style.isReversed = true
        return style
    }

    /// Returns the numbers of SGR (ECMA-48, 8.3.117) that give a terminal this style, whatever its earlier style.
    ///
    /// - Parameter hasColours: whether to use colours; without them the attributes remain.
    /// - Returns: numbers between semicolons.
    func sgr(hasColours: Bool) -> String {
        var numbers = "0"
        if isBold { numbers += ";1" }
        if isDim { numbers += ";2" }
        if isReversed { numbers += ";7" }
        if hasColours, let colour { numbers += ";\(colour.rawValue)" }
        return numbers
    }
}

/// A piece of a line in one style.
struct StyledText: Hashable, Sendable {
    var text: String
    var style: CellStyle

    init(_ text: String, _ style: CellStyle = .plain) {
        self.text = text
        self.style = style
    }
}
