/// RFC 4648's base 32 in lower case without padding, for identifiers that people copy and that name directories.
package enum Base32 {
    private static let digits = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)

    /// The digits, in the order of their values.
    package static var allDigits: [String] { digits.map { String(UnicodeScalar($0)) } }

    /// Returns whether a text is one digit.
    package static func isDigit(_ text: String) -> Bool { text.utf8.count == 1 && digits.contains(text.utf8.first!) }

    /// Returns bytes as base 32.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var (text, buffer, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for byte in bytes {
            (buffer, bits) = (buffer << 8 | UInt32(byte), bits + 8)
            while bits >= 5 {
                bits -= 5
                text.append(digits[Int(buffer >> UInt32(bits)) & 31])
            }
            buffer &= (1 << UInt32(bits)) - 1
        }
        if bits > 0 { text.append(digits[Int(buffer << UInt32(5 - bits)) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads base 32.
    ///
    /// Returns nil for anything but the one valid spelling.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var (bytes, buffer, bits): ([UInt8], UInt32, Int) = ([], 0, 0)
        for digit in text.utf8 {
            guard let value = value(of: digit) else { return nil }
            (buffer, bits) = (buffer << 5 | value, bits + 5)
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(bits)))
                buffer &= (1 << UInt32(bits)) - 1
            }
        }
        // What is left are padding bits, fewer than a digit has, and zero.
        return bits < 5 && buffer == 0 ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a"))
        case UInt8(ascii: "2")...UInt8(ascii: "7"): UInt32(digit - UInt8(ascii: "2")) + 26
        default: nil
        }
    }
}
