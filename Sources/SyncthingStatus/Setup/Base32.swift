/// The alphabet of RFC 4648, section 6, as Syncthing uses it: without padding, and tolerant of frequent typing errors.
enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    /// Returns the text of bytes.
    static func text(of bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var (held, count) = (UInt32(0), 0)
        for byte in bytes {
            held = held << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(held >> UInt32(count)) & 31])
            }
            held &= (1 << UInt32(count)) - 1
        }
        if count > 0 { text.append(alphabet[Int(held << UInt32(5 - count)) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the bytes of a text; nil if it holds another character, or bits that ``text(of:)`` never writes.
    static func bytes(of text: String) -> [UInt8]? {
        guard let digits = digits(of: text) else { return nil }
        var bytes: [UInt8] = []
        var (held, count) = (UInt32(0), 0)
        for digit in digits {
            held = held << 5 | UInt32(digit)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: held >> UInt32(count)))
                held &= (1 << UInt32(count)) - 1
            }
        }
        return count < 5 && held == 0 ? bytes : nil
    }

    /// Returns the values of characters, from 0 to 31; nil if a character is not in the alphabet.
    static func digits(of text: String) -> [Int]? {
        var digits: [Int] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digits.append(Int(byte - UInt8(ascii: "A")))
            case UInt8(ascii: "2")...UInt8(ascii: "7"): digits.append(Int(byte - UInt8(ascii: "2")) + 26)
            default: return nil
            }
        }
        return digits
    }

    /// Returns the character of a value from 0 to 31.
    static func character(of digit: Int) -> Character { Character(Unicode.Scalar(alphabet[digit])) }

    /// Returns what somebody has typed in the alphabet's form: upper case, without dashes and spaces, with O for 0, I
    /// for 1 and B for 8.
    static func typed(_ text: String) -> String {
        var typed = ""
        for character in text.uppercased() where !character.isWhitespace && character != "-" {
            switch character {
            case "0": typed.append("O")
            case "1": typed.append("I")
            case "8": typed.append("B")
            default: typed.append(character)
            }
        }
        return typed
    }

    /// Returns a text in groups of seven characters, separated by dashes.
    static func grouped(_ text: String) -> String {
        var groups: [Substring] = []
        var rest = text[...]
        while !rest.isEmpty {
            groups.append(rest.prefix(7))
            rest = rest.dropFirst(7)
        }
        return groups.joined(separator: "-")
    }
}
