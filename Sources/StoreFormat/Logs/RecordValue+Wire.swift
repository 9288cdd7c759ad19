/// The type byte of a value in a log.
///
/// After it come a zigzag varint, 8 bytes little-endian, or length and bytes.
package enum ValueTag {
    package static let null: UInt8 = 0
    package static let integer: UInt8 = 1
    package static let real: UInt8 = 2
    package static let text: UInt8 = 3
    package static let blob: UInt8 = 4
    /// A large value.
    ///
    /// After it come the type of the value, its length, and the hash of its bytes, which are elsewhere.
    package static let large: UInt8 = 5
}

extension WireReader {
    package mutating func recordValue() throws(Fault) -> RecordValue {
        switch try byte() {
        case ValueTag.null: return .null
        case ValueTag.integer:
            let zigzag = try varint()
            return .integer(Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1))
        case ValueTag.real:
            let bits = try little()
            // SQLite does not hold NaN: it stores NULL instead.
            if Double(bitPattern: bits).isNaN { throw .malformed("a real that is not a number") }
            return .real(bits)
        case ValueTag.text: return .text(try take(try valueLength()))
        case ValueTag.blob: return .blob(try take(try valueLength()))
        case let tag: throw .malformed("a value of type \(tag)")
        }
    }

    private mutating func valueLength() throws(Fault) -> Int {
        let length = try length()
        guard length <= LargeValue.limit else { throw .malformed("a value of \(length) bytes, more than SQLite holds") }
        return length
    }
}

extension WireWriter {
    package mutating func recordValue(_ value: RecordValue) {
        switch value {
        case .null: byte(ValueTag.null)
        case .integer(let integer): self.integer(integer)
        case .real(let bits):
            byte(ValueTag.real)
            little(bits)
        case .text(let text):
            byte(ValueTag.text)
            varint(UInt64(text.count))
            raw(text)
        case .blob(let blob):
            byte(ValueTag.blob)
            varint(UInt64(blob.count))
            raw(blob)
        }
    }

    package mutating func integer(_ value: Int64) {
        byte(ValueTag.integer)
        varint(UInt64(bitPattern: value << 1 ^ value >> 63))
    }
}
