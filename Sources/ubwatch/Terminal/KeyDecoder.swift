/// A pressed key.
enum Key: Hashable, Sendable {
    case character(Unicode.Scalar)
    /// A letter pressed with the control key, in lower case.
    case control(Character)
    case enter, escape, tab, backTab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
}

/// Decodes a terminal's bytes into keys.
///
/// The decoder is a state machine: sequences may arrive in pieces. The escape key alone is also the start of a
/// sequence; the caller reports with ``flush()`` that no more bytes have arrived for a moment.
struct KeyDecoder: Sendable {
    private enum State: Sendable {
        case ground
        /// After an escape character.
        case escape
        /// In a control sequence, with the parameters so far.
        case sequence([UInt8])
        /// After `ESC O`.
        case single
        /// In the middle of a scalar, with its bytes so far and their final number.
        case scalar([UInt8], Int)
    }

    private var state = State.ground

    /// A longer sequence has no meaning and is dropped.
    private static let limit = 32

    /// Whether an escape character has arrived whose meaning is still open.
    var isWaiting: Bool {
        switch state {
        case .escape, .single, .sequence: true
        case .ground, .scalar: false
        }
    }

    /// Decodes bytes.
    ///
    /// - Returns: the keys that they complete.
    mutating func decode(_ bytes: some Sequence<UInt8>) -> [Key] {
        var keys: [Key] = []
        for byte in bytes { take(byte, &keys) }
        return keys
    }

    /// Reports that no more bytes have arrived for a moment.
    ///
    /// - Returns: the escape key, if it was the only pending byte.
    mutating func flush() -> [Key] {
        defer { state = .ground }
        if case .escape = state { return [.escape] }
        return []
    }

    private mutating func take(_ byte: UInt8, _ keys: inout [Key]) {
        switch state {
        case .ground: begin(byte, &keys)
        case .escape:
            switch byte {
            case UInt8(ascii: "["): state = .sequence([])
            case UInt8(ascii: "O"): state = .single
            default:
                // An escape key, directly followed by another.
                keys.append(.escape)
                state = .ground
                begin(byte, &keys)
            }
        case .single:
            state = .ground
            if byte == 0x1B { state = .escape } else if let key = Self.letter(byte) { keys.append(key) }
        case .sequence(let parameters):
            switch byte {
            case 0x1B: state = .escape
            case 0x40...0x7E:
                state = .ground
                if let key = Self.key(parameters, byte) { keys.append(key) }
            case 0x20...0x3F where parameters.count < Self.limit: state = .sequence(parameters + [byte])
            default: state = .ground
            }
        case .scalar(let bytes, let count):
            guard byte & 0xC0 == 0x80 else {
                state = .ground
                return begin(byte, &keys)
            }
            let all = bytes + [byte]
            guard all.count == count else {
                state = .scalar(all, count)
                return
            }
            state = .ground
            if let scalar = String(validating: all, as: UTF8.self)?.unicodeScalars.first { keys.append(.character(scalar)) }
        }
    }

    private mutating func begin(_ byte: UInt8, _ keys: inout [Key]) {
        switch byte {
        case 0x1B: state = .escape
        case 0x0D, 0x0A: keys.append(.enter)
        case 0x09: keys.append(.tab)
        case 0x08, 0x7F: keys.append(.backspace)
        case 0x01...0x1A: keys.append(.control(Character(Unicode.Scalar(byte + 0x60))))
        case 0x20..<0x7F: keys.append(.character(Unicode.Scalar(byte)))
        case 0xC2...0xDF: state = .scalar([byte], 2)
        case 0xE0...0xEF: state = .scalar([byte], 3)
        case 0xF0...0xF4: state = .scalar([byte], 4)
        default: break
        }
    }

    /// Returns the key of a control sequence; modifiers are ignored.
    private static func key(_ parameters: [UInt8], _ final: UInt8) -> Key? {
        guard final == UInt8(ascii: "~") else { return letter(final) }
        switch parameters.prefix(while: { $0 != UInt8(ascii: ";") }) {
        case [0x31], [0x37]: return .home
        case [0x33]: return .delete
        case [0x34], [0x38]: return .end
        case [0x35]: return .pageUp
        case [0x36]: return .pageDown
        default: return nil
        }
    }

    private static func letter(_ byte: UInt8) -> Key? {
        switch byte {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "Z"): .backTab
        case UInt8(ascii: "M"): .enter
        default: nil
        }
    }
}
