internal import Foundation
package import GRDB
package import StoreFormat

extension RecordValue {
    /// Creates a value from anything that GRDB can store.
    package init(_ value: some DatabaseValueConvertible) { self.init(value.databaseValue) }

    /// Creates a value from GRDB's form.
    init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        // SQLite does not hold NaN: it stores NULL instead.
        case .double(let real): self = real.isNaN ? .null : .real(real.bitPattern)
        case .string(let text): self = .text(text)
        case .blob(let data): self = .blob(ArraySlice(data))
        }
    }

    /// The value in GRDB's form, which assumes that text is UTF-8.
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
