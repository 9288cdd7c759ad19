public import StoreFormat

/// The identity of a record: its table and primary key, equal on every peer.
public struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    /// The table's name.
    public let table: String
    /// The values of the primary key's columns, in the key's order.
    public let key: [RecordValue]

    /// Creates the identity of a record.
    public init(table: String, key: [RecordValue]) {
        self.table = table
        self.key = key
    }

    /// Hashes the key alone, by which nearly all records differ.
    public func hash(into hasher: inout Hasher) {
        for value in key { value.hash(into: &hasher) }
    }

    /// The table and the key for people; bytes that are not UTF-8 appear in hexadecimal.
    public var description: String {
        "\(table)/\(key.map(\.description).joined(separator: ","))"
    }
}

extension ObjectID {
    /// The identity as text, which denotes the record on every connection, process and peer.
    ///
    /// It is `<table>/<value>/<value>…`: a letter for the type (`i`, `r`, `t`, `b`, `n`), a colon, and the value. Text
    /// and blobs are bytes, percent-encoded except ASCII letters, digits and `-._~`.
    public var text: String {
        ([Self.encoded(table.utf8)] + key.map(Self.text)).joined(separator: "/")
    }

    /// Parses a value of ``text``; nil for any other string.
    public init?(text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count > 1, let name = Self.decoded(parts[0]), !name.isEmpty, let table = String(validating: name, as: UTF8.self) else {
            return nil
        }
        var key: [RecordValue] = []
        for part in parts.dropFirst() {
            guard let value = Self.value(part) else { return nil }
            key.append(value)
        }
        self.init(table: table, key: key)
    }

    private static func text(_ value: RecordValue) -> String {
        switch value {
        case .null: "n:"
        case .integer(let integer): "i:\(integer)"
        case .real(let bits): "r:\(Double(bitPattern: bits))"
        case .text(let bytes): "t:\(encoded(bytes))"
        case .blob(let bytes): "b:\(encoded(bytes))"
        }
    }

    private static func value(_ text: Substring) -> RecordValue? {
        guard text.dropFirst().first == ":" else { return nil }
        let rest = text.dropFirst(2)
        switch text.first {
        case "n": return rest.isEmpty ? .null : nil
        case "i": return Int64(rest).map { .integer($0) }
        case "r": return Double(rest).map { .real($0.bitPattern) }
        case "t": return decoded(rest).map { .text($0[...]) }
        case "b": return decoded(rest).map { .blob($0[...]) }
        default: return nil
        }
    }

    private static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }

    private static func decoded(_ text: Substring) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let digits = String(rest.prefix(2)), let value = UInt8(digits, radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}

extension RecordValue: CustomStringConvertible {
    /// The value for people: text as it is, blobs in SQLite's notation.
    public var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let value): String(value)
        case .real(let bits): String(Double(bitPattern: bits))
        case .text(let bytes): String(validating: bytes, as: UTF8.self) ?? Self.hexadecimal(bytes)
        case .blob(let bytes): Self.hexadecimal(bytes)
        }
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
        let digits = Array("0123456789abcdef")
        return "x'" + String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }) + "'"
    }
}
