/// The identifier of a Syncthing device: the SHA-256 of its certificate.
///
/// The text has four check characters (https://docs.syncthing.net/dev/device-ids.html).
package struct DeviceIdentifier: Hashable, Sendable, CustomStringConvertible {
    /// The 32 bytes.
    package let bytes: [UInt8]

    /// Makes an identifier from its bytes; nil unless there are 32.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Reads an identifier with its check characters, as somebody may type it.
    ///
    /// - Parameter text: in any case, with or without dashes and spaces.
    package init?(_ text: String) {
        let text = Base32.typed(text)
        guard text.utf8.count == 56, let digits = Base32.digits(of: text) else { return nil }
        var plain: [Int] = []
        for part in 0..<4 {
            let digits = digits[part * 14..<part * 14 + 14]
            guard Self.check(digits.dropLast()) == digits.last else { return nil }
            plain += digits.dropLast()
        }
        guard let bytes = Base32.bytes(of: String(plain.map(Base32.character))) else { return nil }
        self.init(bytes: bytes)
    }

    /// The text in Syncthing's form, eight groups of seven characters.
    package var description: String {
        let digits = Base32.digits(of: Base32.text(of: bytes))!
        let parts = (0..<4).map { digits[$0 * 13..<$0 * 13 + 13] }
        return Base32.grouped(String(parts.flatMap { $0 + [Self.check($0)] }.map(Base32.character)))
    }

    /// The first group, by which Syncthing's interface names a device briefly.
    package var brief: String { String(description.prefix(7)) }

    /// Returns the check character of 13 characters; see `luhn32` in Syncthing's `lib/protocol/luhn.go`.
    private static func check(_ digits: ArraySlice<Int>) -> Int {
        var (factor, sum) = (1, 0)
        for digit in digits {
            let addend = factor * digit
            factor = 3 - factor
            sum += addend / 32 + addend % 32
        }
        return (32 - sum % 32) % 32
    }
}
