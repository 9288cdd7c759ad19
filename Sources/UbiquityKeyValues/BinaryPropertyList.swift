internal import Foundation

/// Writes a value as a binary property list, Foundation's format `bplist00`.
///
/// Equal values have equal bytes: dictionaries are written in the order of their keys' bytes. Foundation reads what this
/// writes.
struct BinaryPropertyList {
    static let magic = Array("bplist00".utf8)
    static let trailerSize = 32

    /// One object: its bytes, or the objects that a container refers to.
    private enum Object {
        case leaf([UInt8])
        case container(marker: UInt8, count: Int, references: [Int])
    }

    private var objects: [Object] = []
    /// The numbers of the leaves: equal ones are written once.
    private var leaves: [[UInt8]: Int] = [:]

    private init() {}

    /// Encodes a value.
    ///
    /// - Parameter value: a value that passes ``KeyValue/checkDepth(at:_:)``.
    /// - Returns: the bytes.
    static func encode(_ value: KeyValue) -> Data {
        var list = BinaryPropertyList()
        _ = list.add(value)
        return Data(list.bytes)
    }

    private mutating func add(_ value: KeyValue) -> Int {
        switch value {
        case .boolean(let value): leaf([value ? 0x09 : 0x08])
        case .integer(let value): leaf(Self.integer(value))
        case .real(let value): leaf([0x23] + Self.bigEndian(value.bitPattern, size: 8))
        case .date(let value): leaf([0x33] + Self.bigEndian(value.timeIntervalSinceReferenceDate.bitPattern, size: 8))
        case .data(let value): leaf(Self.head(0x40, count: value.count) + value)
        case .string(let value): leaf(Self.text(value))
        case .array(let values):
            container(0xA0, count: values.count) { list in values.map { list.add($0) } }
        case .dictionary(let values):
            container(0xD0, count: values.count) { list in
                let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                return sorted.map { list.leaf(Self.text($0.key)) } + sorted.map { list.add($0.value) }
            }
        }
    }

    private mutating func leaf(_ bytes: [UInt8]) -> Int {
        if let number = leaves[bytes] { return number }
        leaves[bytes] = objects.count
        objects.append(.leaf(bytes))
        return objects.count - 1
    }

    /// Adds a container before the objects that it refers to, so that the first object is the whole value.
    private mutating func container(_ marker: UInt8, count: Int, _ references: (inout BinaryPropertyList) -> [Int]) -> Int {
        let number = objects.count
        objects.append(.container(marker: marker, count: count, references: []))
        objects[number] = .container(marker: marker, count: count, references: references(&self))
        return number
    }

    private var bytes: [UInt8] {
        let referenceSize = Self.size(of: objects.count - 1)
        var bytes = Self.magic
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            switch object {
            case .leaf(let leaf): bytes += leaf
            case .container(let marker, let count, let references):
                bytes += Self.head(marker, count: count)
                for reference in references { bytes += Self.bigEndian(UInt64(reference), size: referenceSize) }
            }
        }
        let table = bytes.count
        let offsetSize = Self.size(of: table)
        for offset in offsets { bytes += Self.bigEndian(UInt64(offset), size: offsetSize) }
        bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
        for number in [objects.count, 0, table] { bytes += Self.bigEndian(UInt64(number), size: 8) }
        return bytes
    }

    private static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ $0 < 0x80 }) { return head(0x50, count: bytes.count) + bytes }
        let units = Array(text.utf16)
        return units.reduce(into: head(0x60, count: units.count)) { $0 += bigEndian(UInt64($1), size: 2) }
    }

    /// Returns an object's marker with its count, which follows as an integer if it is 15 or more.
    private static func head(_ marker: UInt8, count: Int) -> [UInt8] {
        count < 15 ? [marker | UInt8(count)] : [marker | 0x0F] + integer(Int64(count))
    }

    /// Returns an integer; those of 1, 2 and 4 bytes have no sign.
    private static func integer(_ value: Int64) -> [UInt8] {
        let (power, size) =
            switch value {
            case 0...0xFF: (0, 1)
            case 0...0xFFFF: (1, 2)
            case 0...0xFFFF_FFFF: (2, 4)
            default: (3, 8)
            }
        return [0x10 | UInt8(power)] + bigEndian(UInt64(bitPattern: value), size: size)
    }

    private static func size(of greatest: Int) -> Int {
        switch greatest {
        case ...0xFF: 1
        case ...0xFFFF: 2
        case ...0xFFFF_FFFF: 4
        default: 8
        }
    }

    private static func bigEndian(_ value: UInt64, size: Int) -> [UInt8] {
        (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
}
