internal import Foundation
internal import GRDB
internal import StoreFormat

extension RecordValue {
    /// A value as GRDB has it.
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        // SQLite holds no NaN: it takes one for NULL.
        case .double(let real): self = real.isNaN ? .null : .real(real.bitPattern)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(ArraySlice(data))
        }
    }

    /// The value as GRDB has it, which takes text for UTF-8.
    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let integer): integer.databaseValue
        case .real(let bits): Double(bitPattern: bits).databaseValue
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
