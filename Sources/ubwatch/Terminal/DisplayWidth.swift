import ToolSupport

/// The width of text in a terminal.
///
/// It is computed for each scalar, as most terminals do: they do not agree on the width of a sequence of joined emoji.
enum DisplayWidth {
    /// The appearance of a scalar on a screen.
    enum Kind: Equatable {
        /// It takes this number of cells, 1 or 2.
        case cells(Int)
        /// It is drawn over the scalar before it.
        case mark
        /// It selects the appearance of the scalar before it, whose width differs between terminals: it is left out.
        case selector
        /// It may control the terminal, or is invisible: its number is shown instead.
        case escaped
    }

    static func kind(of scalar: Unicode.Scalar) -> Kind {
        if scalar.value >= 0x20, scalar.value < 0x7F { return .cells(1) }
        if (0xFE00...0xFE0F).contains(scalar.value) { return .selector }
        // These are the vowels and finals of Hangul syllables in separate parts.
        if (0x1160...0x11FF).contains(scalar.value) { return .mark }
        if scalar.isTerminalControl { return .escaped }
        switch scalar.properties.generalCategory {
        // Terminals give these no width, or disagree about it.
        case .format, .surrogate, .unassigned: return .escaped
        case .nonspacingMark, .enclosingMark: return .mark
        default: return .cells(isWide(scalar.value) || scalar.properties.isEmojiPresentation ? 2 : 1)
        }
    }

    /// Returns whether a scalar is Wide or Fullwidth (Unicode Standard Annex 11); another property identifies emoji.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case ..<0x1100: false
        case 0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
            0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x18DFF, 0x1AFF0...0x1B2FF, 0x1F200...0x1F2FF, 0x20000...0x3FFFD:
            true
        default: false
        }
    }

    /// Returns the width of a text on a ``Screen``, in cells.
    static func width(of text: some StringProtocol) -> Int {
        // Almost all text takes this path.
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return text.utf8.count }
        return text.unicodeScalars.reduce(0) { width, scalar in
            switch kind(of: scalar) {
            case .cells(let count): width + count
            case .mark, .selector: width
            case .escaped: width + scalar.escape.utf8.count
            }
        }
    }
}
