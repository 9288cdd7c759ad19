internal import Foundation

/// Reads a binary property list that another device, or another program, may have written.
///
/// It never traps, and takes time and memory in proportion to the bytes: each byte is read for one object only, and an array or
/// dictionary may be referred to only once, which also excludes circles.
struct BinaryPropertyListReader {
    /// The bytes are no property list, or one that no ``KeyValue`` holds.
    struct Malformed: Error {}

    private let bytes: [UInt8]
    private let offsets: Range<Int>
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private var leaves: [Int: KeyValue] = [:]
    private var containers: Set<Int> = []
    /// How many bytes may still be read: each once, whatever the objects claim.
    private var budget: Int

    /// Decodes a binary property list.
    ///
    /// - Parameter data: the bytes.
    /// - Returns: the value.
    /// - Throws: ``Malformed``.
    static func decode(_ data: Data) throws(Malformed) -> KeyValue {
        var reader = try BinaryPropertyListReader([UInt8](data))
        return try reader.value(try reader.integer(at: reader.bytes.count - 16, size: 8), depth: 0)
    }

    private init(_ bytes: [UInt8]) throws(Malformed) {
        self.bytes = bytes
        budget = bytes.count
        let (magic, trailer) = (BinaryPropertyList.magic, bytes.count - BinaryPropertyList.trailerSize)
        guard trailer > magic.count, bytes.starts(with: magic) else { throw Malformed() }
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        guard 1...8 ~= offsetSize, 1...8 ~= referenceSize else { throw Malformed() }
        let count = try Self.integer(bytes, at: trailer + 8, size: 8)
        let start = try Self.integer(bytes, at: trailer + 24, size: 8)
        guard start >= magic.count, start <= trailer, count > 0, count <= (trailer - start) / offsetSize else { throw Malformed() }
        self.count = count
        offsets = start..<(start + count * offsetSize)
    }

    private mutating func value(_ number: Int, depth: Int) throws(Malformed) -> KeyValue {
        guard number < count else { throw Malformed() }
        if let leaf = leaves[number] { return leaf }
        let offset = try integer(at: offsets.lowerBound + number * offsetSize, size: offsetSize)
        guard offset >= BinaryPropertyList.magic.count, offset < offsets.lowerBound else { throw Malformed() }
        let marker = bytes[offset]
        if [0xA0, 0xD0].contains(marker & 0xF0) {
            guard depth < KeyValue.greatestDepth, containers.insert(number).inserted else { throw Malformed() }
            return try container(marker, at: offset, depth: depth)
        }
        let leaf = try leaf(marker, at: offset)
        leaves[number] = leaf
        return leaf
    }

    private mutating func container(_ marker: UInt8, at offset: Int, depth: Int) throws(Malformed) -> KeyValue {
        let isArray = marker & 0xF0 == 0xA0
        let (start, count) = try head(at: offset)
        let number = isArray ? count : count * 2
        guard number <= (offsets.lowerBound - start) / referenceSize else { throw Malformed() }
        try spend(1 + number * referenceSize)
        var values: [KeyValue] = []
        values.reserveCapacity(number)
        for index in 0..<number {
            values.append(try value(try integer(at: start + index * referenceSize, size: referenceSize), depth: depth + 1))
        }
        guard !isArray else { return .array(values) }
        var dictionary: [String: KeyValue] = [:]
        for index in 0..<count {
            guard case .string(let key) = values[index], dictionary.updateValue(values[count + index], forKey: key) == nil else { throw Malformed() }
        }
        return .dictionary(dictionary)
    }

    private mutating func leaf(_ marker: UInt8, at offset: Int) throws(Malformed) -> KeyValue {
        switch marker {
        case 0x08: return .boolean(false)
        case 0x09: return .boolean(true)
        case 0x10...0x13: return .integer(try signedInteger(at: offset))
        case 0x22: return .real(Double(Float(bitPattern: UInt32(try pattern(at: offset + 1, size: 4)))))
        case 0x23: return .real(Double(bitPattern: try pattern(at: offset + 1, size: 8)))
        case 0x33: return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try pattern(at: offset + 1, size: 8))))
        case 0x40...0x4F: return .data(Data(try content(at: offset, unit: 1)))
        case 0x50...0x5F:
            guard let text = String(validating: try content(at: offset, unit: 1), as: Unicode.ASCII.self) else { throw Malformed() }
            return .string(text)
        case 0x60...0x6F:
            let bytes = try content(at: offset, unit: 2)
            let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            guard let text = String(validating: units, as: UTF16.self) else { throw Malformed() }
            return .string(text)
        default: throw Malformed()
        }
    }

    /// Counts bytes of an object: objects that overlap, or have one place, would make more of them than there are.
    private mutating func spend(_ bytes: Int) throws(Malformed) {
        budget -= bytes
        if budget < 0 { throw Malformed() }
    }

    /// Returns the bytes of an object with a count of units.
    private mutating func content(at offset: Int, unit: Int) throws(Malformed) -> ArraySlice<UInt8> {
        let (start, count) = try head(at: offset)
        guard count <= (offsets.lowerBound - start) / unit else { throw Malformed() }
        try spend(1 + count * unit)
        return bytes[start..<(start + count * unit)]
    }

    /// Returns where the content of an object begins, and its count, which is at most the number of all bytes.
    private func head(at offset: Int) throws(Malformed) -> (start: Int, count: Int) {
        let low = Int(bytes[offset] & 0x0F)
        guard low == 0x0F else { return (offset + 1, low) }
        let size = try integerSize(at: offset + 1)
        let count = try signedInteger(at: offset + 1)
        guard 0...Int64(bytes.count) ~= count else { throw Malformed() }
        return (offset + 2 + size, Int(count))
    }

    private func integerSize(at offset: Int) throws(Malformed) -> Int {
        guard offset < offsets.lowerBound, 0x10...0x13 ~= bytes[offset] else { throw Malformed() }
        return 1 << Int(bytes[offset] & 0x0F)
    }

    private func signedInteger(at offset: Int) throws(Malformed) -> Int64 {
        Int64(bitPattern: try pattern(at: offset + 1, size: try integerSize(at: offset)))
    }

    private func pattern(at offset: Int, size: Int) throws(Malformed) -> UInt64 {
        guard offset + size <= offsets.lowerBound else { throw Malformed() }
        return Self.pattern(bytes, at: offset, size: size)
    }

    private func integer(at offset: Int, size: Int) throws(Malformed) -> Int { try Self.integer(bytes, at: offset, size: size) }

    private static func integer(_ bytes: [UInt8], at offset: Int, size: Int) throws(Malformed) -> Int {
        guard offset >= 0, offset + size <= bytes.count, let integer = Int(exactly: pattern(bytes, at: offset, size: size)) else { throw Malformed() }
        return integer
    }

    private static func pattern(_ bytes: [UInt8], at offset: Int, size: Int) -> UInt64 {
        bytes[offset..<(offset + size)].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
