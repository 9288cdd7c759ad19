internal import ByteCoding
import SystemPackage

/// The reason why bytes are invalid.
struct WireError: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A value with exactly one representation in bytes, which <doc:Protocol> describes.
protocol Wire {
    func write(to writer: inout WireWriter)
    init(from reader: inout WireReader) throws(WireError)
}

/// Collects bytes.
struct WireWriter {
    private(set) var bytes: [UInt8] = []

    init() {
        bytes.reserveCapacity(256)
    }

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    /// Writes a number as a ``Varint``.
    mutating func number(_ value: UInt64) { Varint(value).append(to: &bytes) }

    /// Writes eight bytes, lowest first, for random numbers.
    mutating func fixed(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func raw(_ values: UnsafeBufferPointer<UInt8>) {
        number(UInt64(values.count))
        bytes.append(contentsOf: values)
    }

    mutating func put(_ value: some Wire) { value.write(to: &self) }
}

/// Reads values from bytes that are not trusted.
struct WireReader {
    private let bytes: ArraySlice<UInt8>
    private var position: Int

    init(_ bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }
    var left: Int { bytes.endIndex - position }

    mutating func byte() throws(WireError) -> UInt8 {
        guard position < bytes.endIndex else { throw WireError("the frame ends too early") }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() throws(WireError) -> UInt64 {
        do {
            return try Varint(decoding: bytes, at: &position).value
        } catch {
            switch error {
            case .truncated: throw WireError("the frame ends too early")
            case .tooLarge: throw WireError("a number has more than 64 bits")
            }
        }
    }

    mutating func fixed() throws(WireError) -> UInt64 {
        var value: UInt64 = 0
        for shift in 0..<8 { value |= UInt64(try byte()) << UInt64(shift * 8) }
        return value
    }

    mutating func raw() throws(WireError) -> ArraySlice<UInt8> {
        let count = try number()
        guard count <= UInt64(left) else { throw WireError("the frame ends too early") }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    mutating func get<Value: Wire>(_: Value.Type = Value.self) throws(WireError) -> Value { try Value(from: &self) }
}

// MARK: Simple values

extension UInt64: Wire {
    func write(to writer: inout WireWriter) { writer.number(self) }
    init(from reader: inout WireReader) throws(WireError) { self = try reader.number() }
}

extension Int: Wire {
    /// Writes a number that is not negative.
    func write(to writer: inout WireWriter) { writer.number(UInt64(self)) }
    init(from reader: inout WireReader) throws(WireError) {
        guard let value = Int(exactly: try reader.number()) else { throw WireError("a number is too large") }
        self = value
    }
}

extension Int32: Wire {
    /// Writes a number that is not negative.
    func write(to writer: inout WireWriter) { writer.number(UInt64(self)) }
    init(from reader: inout WireReader) throws(WireError) {
        guard let value = Int32(exactly: try reader.number()) else { throw WireError("a number is too large") }
        self = value
    }
}

extension Bool: Wire {
    func write(to writer: inout WireWriter) { writer.byte(self ? 1 : 0) }
    init(from reader: inout WireReader) throws(WireError) {
        switch try reader.byte() {
        case 0: self = false
        case 1: self = true
        default: throw WireError("a truth value is neither 0 nor 1")
        }
    }
}

extension String: Wire {
    func write(to writer: inout WireWriter) {
        var copy = self
        copy.withUTF8 { writer.raw($0) }
    }
    init(from reader: inout WireReader) throws(WireError) {
        guard let string = String(validating: try reader.raw(), as: UTF8.self) else { throw WireError("a text is not UTF-8") }
        self = string
    }
}

extension FilePath: Wire {
    func write(to writer: inout WireWriter) {
        withPlatformString { path in
            var count = 0
            while path[count] != 0 { count += 1 }
            path.withMemoryRebound(to: UInt8.self, capacity: count) { writer.raw(UnsafeBufferPointer(start: $0, count: count)) }
        }
    }

    /// Reads any bytes except zero; the caller decides which paths it accepts.
    init(from reader: inout WireReader) throws(WireError) {
        let bytes = try reader.raw()
        guard !bytes.contains(0) else { throw WireError("a path holds a zero byte") }
        self = FilePath(platformString: bytes.map { CChar(bitPattern: $0) } + [0])
    }
}

extension Array: Wire where Element: Wire {
    func write(to writer: inout WireWriter) {
        writer.number(UInt64(count))
        for element in self { element.write(to: &writer) }
    }
    init(from reader: inout WireReader) throws(WireError) {
        let count = try reader.number()
        // Each element needs at least one byte, so this limits the memory by the frame's size.
        guard count <= UInt64(reader.left) else { throw WireError("a list is longer than its frame") }
        self = []
        for _ in 0..<count { append(try Element(from: &reader)) }
    }
}

extension Optional: Wire where Wrapped: Wire {
    func write(to writer: inout WireWriter) {
        writer.byte(self == nil ? 0 : 1)
        if let value = self { value.write(to: &writer) }
    }
    init(from reader: inout WireReader) throws(WireError) {
        self = try Bool(from: &reader) ? try Wrapped(from: &reader) : nil
    }
}

extension Set: Wire where Element: Wire & Comparable {
    func write(to writer: inout WireWriter) { sorted().write(to: &writer) }
    init(from reader: inout WireReader) throws(WireError) { self = Set(try [Element](from: &reader)) }
}
