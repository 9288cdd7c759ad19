/// A number in the form of Protocol Buffers and LEB128: seven bits in each byte, lowest first.
///
/// The eighth bit is set in all bytes but the last. The broker's protocol and the logs of stores use this form.
/// ``append(to:)`` writes the shortest form. Longer forms, whose last bytes add nothing, can be read too, as in
/// Protocol Buffers (protobuf.dev, "Encoding").
package struct Varint: Hashable, Sendable {
    /// The number.
    package let value: UInt64

    /// The reason why bytes are not a number.
    package enum Fault: Error, Hashable {
        /// The bytes end within a number.
        case truncated
        /// The number has more than 64 bits; the tenth byte shows this at the latest.
        case tooLarge
    }

    @inlinable
    package init(_ value: UInt64) { self.value = value }

    /// Reads a number from arbitrary bytes.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - position: the index of the number's first byte; afterwards the index of the first byte that was not read.
    /// - Throws: `Fault`.
    @inlinable
    package init(decoding bytes: ArraySlice<UInt8>, at position: inout Int) throws(Fault) {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position < bytes.endIndex {
            let next = bytes[position]
            position += 1
            if shift == 63, next > 1 { throw .tooLarge }
            value |= UInt64(next & 0x7F) << shift
            if next & 0x80 == 0 {
                self.init(value)
                return
            }
            shift += 7
        }
        throw .truncated
    }

    /// Writes the shortest form.
    @inlinable
    package func append(to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
