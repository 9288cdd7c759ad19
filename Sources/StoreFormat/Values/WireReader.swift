internal import ByteCoding

/// Reads the format of `WireWriter`.
///
/// Any invalid bytes cause an error, never a trap.
package struct WireReader {
    /// The reason why bytes cannot be read.
    package enum Fault: Error, Hashable {
        /// The bytes end in the middle of a value.
        case truncated
        /// The bytes are not valid in this format.
        case malformed(String)
    }

    package enum Value {
        case varint(UInt64)
        case fixed64(UInt64)
        case bytes(ArraySlice<UInt8>)
    }

    private let bytes: ArraySlice<UInt8>
    private var position: Int

    package init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    package var isAtEnd: Bool { position == bytes.endIndex }
    package var remaining: Int { bytes.endIndex - position }

    /// Returns the next field with its number, or nil at the end.
    package mutating func nextField() throws(Fault) -> (number: Int, value: Value)? {
        if isAtEnd { return nil }
        let key = try varint()
        guard let number = Int(exactly: key >> 3), number > 0 else { throw .malformed("a field number of \(key >> 3)") }
        switch key & 7 {
        case 0: return (number, .varint(try varint()))
        case 1: return (number, .fixed64(try little()))
        case 2: return (number, .bytes(try take(try length())))
        case 5:
            // No known field uses fixed32. An unknown one is skipped.
            return (number, .bytes(try take(4)))
        case let type: throw .malformed("a field of wire type \(type)")
        }
    }

    package mutating func byte() throws(Fault) -> UInt8 {
        guard position < bytes.endIndex else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    package mutating func varint() throws(Fault) -> UInt64 {
        // Most numbers have one byte.
        if position < bytes.endIndex, bytes[position] < 0x80 {
            defer { position += 1 }
            return UInt64(bytes[position])
        }
        do {
            return try Varint(decoding: bytes, at: &position).value
        } catch {
            switch error {
            case .truncated: throw .truncated
            case .tooLarge: throw .malformed("a varint of more than 64 bits")
            }
        }
    }

    package mutating func length() throws(Fault) -> Int {
        let value = try varint()
        guard value <= UInt64(remaining) else { throw .truncated }
        return Int(value)
    }

    package mutating func little() throws(Fault) -> UInt64 {
        var value: UInt64 = 0
        for byte in try take(8).reversed() { value = value << 8 | UInt64(byte) }
        return value
    }

    package mutating func take(_ count: Int) throws(Fault) -> ArraySlice<UInt8> {
        guard count <= remaining else { throw .truncated }
        defer { position += count }
        return bytes[position..<position + count]
    }
}

extension WireReader.Value {
    package var number: UInt64 {
        get throws(WireReader.Fault) {
            switch self {
            case .varint(let value), .fixed64(let value): return value
            case .bytes: throw .malformed("bytes where a number belongs")
            }
        }
    }

    package var data: ArraySlice<UInt8> {
        get throws(WireReader.Fault) {
            guard case .bytes(let value) = self else { throw .malformed("a number where bytes belong") }
            return value
        }
    }

    package var string: String {
        get throws(WireReader.Fault) {
            guard let text = String(validating: try data, as: UTF8.self) else { throw .malformed("text that is not UTF-8") }
            return text
        }
    }
}
