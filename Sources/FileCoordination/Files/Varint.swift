/// A number as Protocol Buffers and LEB128 write it: seven bits a byte, the lowest first, the eighth bit set on all bytes but the last.
///
/// The broker's protocol and the logs of stores use it. A number has one shortest form, which ``append(to:)`` writes; longer forms, which end in
/// bytes that add nothing, are read as well, as in Protocol Buffers (protobuf.dev, “Encoding”).
package struct Varint: Hashable, Sendable {
    /// The number.
    package let value: UInt64

    /// Why bytes are no number.
    package enum Fault: Error, Hashable {
        /// They end in the middle of one.
        case truncated
        /// It has more than 64 bits; the tenth byte shows that at the latest.
        case tooLarge
    }

    @inlinable
    package init(_ value: UInt64) { self.value = value }

    /// Reads a number from bytes that may be anything.
    ///
    /// - Parameters:
    ///   - bytes: the bytes.
    ///   - position: where the number begins; then where the reading has ended.
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
