internal import ByteCoding

/// Writes the Protocol Buffers wire format (protobuf.dev, "Encoding").
///
/// Logs use it so that any language can read them.
package struct WireWriter {
    package private(set) var bytes: [UInt8] = []

    package init(reserving capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    package mutating func varint(_ value: UInt64) { Varint(value).append(to: &bytes) }

    package mutating func field(_ number: Int, varint value: UInt64) {
        varint(UInt64(number) << 3 | 0)
        varint(value)
    }

    package mutating func field(_ number: Int, fixed64 value: UInt64) {
        varint(UInt64(number) << 3 | 1)
        little(value)
    }

    package mutating func field(_ number: Int, bytes value: some Collection<UInt8>) {
        varint(UInt64(number) << 3 | 2)
        varint(UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func field(_ number: Int, string value: String) {
        field(number, bytes: Array(value.utf8))
    }

    package mutating func little(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    package mutating func raw(_ value: some Collection<UInt8>) { bytes.append(contentsOf: value) }

    package mutating func raw(_ value: UnsafeRawBufferPointer) { bytes.append(contentsOf: value) }

    package mutating func byte(_ value: UInt8) { bytes.append(value) }
}
