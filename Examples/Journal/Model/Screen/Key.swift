/// A pressed key.
public enum Key: Hashable, Sendable {
    case character(Character)
    /// A letter pressed with the control key, in lower case.
    case control(Character)
    case enter, escape, tab, backTab, backspace, delete
    case up, down, left, right, home, end
}

/// Decodes a terminal's bytes into keys.
///
/// Sequences may arrive in pieces. The escape key alone is also the start of a sequence; the caller reports with
/// ``flush()`` that no more bytes have arrived for a moment.
public struct KeyDecoder: Equatable, Sendable {
    private var pending: [UInt8] = []

    /// Makes a decoder.
    public init() {}

    /// Whether an escape character has arrived whose meaning is still open.
    public var isWaiting: Bool { pending.first == 0x1B }

    /// Returns the keys that bytes complete.
    public mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        pending += bytes
        var keys: [Key] = []
        while let (key, count) = next() {
            pending.removeFirst(count)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// Reports that no more bytes have arrived for a moment.
    ///
    /// - Returns: the escape key, if it was the only pending byte.
    public mutating func flush() -> [Key] {
        defer { pending = [] }
        return pending == [0x1B] ? [.escape] : []
    }

    /// Returns the first key, nil for an unknown one, and its number of bytes; nil while bytes are missing.
    private func next() -> (Key?, Int)? {
        guard let first = pending.first else { return nil }
        switch first {
        case 0x1B: return sequence()
        case 0x0D, 0x0A: return (.enter, 1)
        case 0x09: return (.tab, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x01...0x1A: return (.control(Character(Unicode.Scalar(first + 0x60))), 1)
        case 0x20..<0x7F: return (.character(Character(Unicode.Scalar(first))), 1)
        default: return scalar(first)
        }
    }

    /// Reads a character of two to four bytes of UTF-8.
    private func scalar(_ first: UInt8) -> (Key?, Int)? {
        let count =
            switch first {
            case 0xC2...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF4: 4
            default: 1
            }
        guard count > 1 else { return (nil, 1) }
        let bytes = pending.prefix(count)
        guard let text = String(validating: bytes, as: UTF8.self), let character = text.first else {
            let isBroken = bytes.dropFirst().contains { $0 & 0xC0 != 0x80 }
            return isBroken || bytes.count == count ? (nil, 1) : nil
        }
        return (.character(character), count)
    }

    /// Reads a control sequence (ECMA-48, 5.4), or one with a single shift.
    private func sequence() -> (Key?, Int)? {
        guard pending.count > 1 else { return nil }
        guard [UInt8(ascii: "["), UInt8(ascii: "O")].contains(pending[1]) else { return (.escape, 1) }
        guard let end = pending[2...].firstIndex(where: { !(0x20...0x3F).contains($0) }) else {
            // No key is that long.
            return pending.count > 32 ? (nil, pending.count) : nil
        }
        let parameter = String(decoding: pending[2..<end].prefix { $0 != UInt8(ascii: ";") }, as: UTF8.self)
        return (Self.key(parameter, Character(Unicode.Scalar(pending[end]))), end + 1)
    }

    private static func key(_ parameter: String, _ final: Character) -> Key? {
        switch (final, parameter) {
        case ("A", _): .up
        case ("B", _): .down
        case ("C", _): .right
        case ("D", _): .left
        case ("H", _), ("~", "1"), ("~", "7"): .home
        case ("F", _), ("~", "4"), ("~", "8"): .end
        case ("~", "3"): .delete
        case ("Z", _): .backTab
        default: nil
        }
    }
}
