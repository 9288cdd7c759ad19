internal import Foundation
internal import GRDB

/// A value as it lies in the table: SQLite's own types where they hold it exactly, otherwise a binary property list.
///
/// Two are equal if their bytes are, which `KeyValue`'s texts, NaN and zeros do not tell.
enum KeyValueColumn: Sendable, Hashable {
    case text([UInt8])
    case integer(Int64)
    /// The bits of a finite number that is not -0.
    case real(UInt64)
    case list(Data)

    /// Encodes a value that passes ``KeyValue/checkDepth(at:_:)``.
    init(_ value: KeyValue) {
        switch value {
        // SQLite's functions for texts end at a NUL.
        case .string(let text) where !text.utf8.contains(0): self = .text(Array(text.utf8))
        case .integer(let integer): self = .integer(integer)
        // SQLite stores NaN as NULL (sqlite.org/floatingpoint.html), and does not promise the sign of a zero.
        case .real(let real) where real.isFinite && !(real == 0 && real.sign == .minus): self = .real(real.bitPattern)
        default: self = .list(BinaryPropertyList.encode(value))
        }
    }

    /// Reads the column of the table.
    ///
    /// - Parameter column: the column; the result is nil for NULL, which is a removed key.
    init?(_ column: DatabaseValue) {
        switch column.storage {
        case .null: return nil
        case .int64(let integer): self = .integer(integer)
        case .double(let real): self = .real(real.bitPattern)
        case .string(let text): self = .text(Array(text.utf8))
        case .blob(let bytes): self = .list(bytes)
        }
    }

    /// The value; nil if the bytes are no property list that this version knows.
    var value: KeyValue? {
        switch self {
        case .text(let bytes): .string(String(decoding: bytes, as: UTF8.self))
        case .integer(let integer): .integer(integer)
        case .real(let bits): .real(Double(bitPattern: bits))
        case .list(let bytes): try? BinaryPropertyListReader.decode(bytes)
        }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
        case .integer(let integer): integer.databaseValue
        case .real(let bits): Double(bitPattern: bits).databaseValue
        case .list(let bytes): bytes.databaseValue
        }
    }

    /// The size in bytes that counts for ``KeyValueLimits/size``.
    var size: Int {
        switch self {
        case .text(let bytes): bytes.count
        case .integer, .real: 8
        case .list(let bytes): bytes.count
        }
    }
}
