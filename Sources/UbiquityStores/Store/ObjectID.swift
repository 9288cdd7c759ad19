/// The name of a record: its table and primary key, alike on every peer.
public struct ObjectID: Hashable, Sendable, CustomStringConvertible {
    /// The table's name.
    public let table: String
    /// The values of the primary key's columns, in its order.
    public let key: [RecordValue]

    /// Names a record.
    public init(table: String, key: [RecordValue]) {
        self.table = table
        self.key = key
    }

    /// The table and the key for people; bytes that are not UTF-8 stand in hexadecimal.
    public var description: String {
        "\(table)/\(key.map(\.description).joined(separator: ","))"
    }
}

extension RecordValue: CustomStringConvertible {
    /// The value for people: text as it is, blobs as SQLite writes them.
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
