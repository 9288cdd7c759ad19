/// Text in the cells of a terminal.
enum TerminalText {
    /// Returns text that a terminal only shows: the numbers of control characters replace them.
    static func printable(_ text: String) -> String {
        String(text.map { character in character.unicodeScalars.contains(where: isControl) ? escaped(character) : String(character) }.joined())
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
    }

    private static func escaped(_ character: Character) -> String {
        character.unicodeScalars.map { isControl($0) ? "\\u{\(String($0.value, radix: 16))}" : String($0) }.joined()
    }

    /// Returns the number of cells of a character: two for East Asian characters and emoji, as most terminals draw.
    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.value {
        case ..<0x1100: return 1
        case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0x1F300...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default: return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }

    /// Returns the part of a line that fits into a number of cells, without control characters.
    static func clipped(_ line: String, to columns: Int) -> String { wrapped(line, to: columns).first ?? "" }

    /// Returns the lines of a text, each at most as wide as a number of cells.
    static func wrapped(_ text: String, to columns: Int) -> [String] {
        text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).flatMap { line in
            var lines = [""]
            var room = columns
            for character in printable(String(line)) {
                let width = width(of: character)
                if width > room, lines.last != "" {
                    lines.append("")
                    room = columns
                }
                guard width <= room else { continue }
                lines[lines.count - 1].append(character)
                room -= width
            }
            return lines
        }
    }
}
