internal import StoreFormat

/// A field of a CSV file, and the value that it represents (<doc:Export>).
///
/// RFC 4180 defines no types. Here a quoted field is a text, and the type of an unquoted field follows from its
/// spelling.
struct CSVField: Equatable {
    var bytes: [UInt8]
    var isQuoted: Bool

    private static let infinity = "9.0e+999"

    /// Appends a value to a row.
    static func append(_ value: RecordValue, to row: inout [UInt8]) {
        switch value {
        case .null: break
        case .integer(let integer): row += Array(String(integer).utf8)
        case .real(let bits):
            let real = Double(bitPattern: bits)
            row += Array((real.isFinite ? real.description : real < 0 ? "-" + infinity : infinity).utf8)
        case .text(let bytes):
            if bytes.contains(0) || String(validating: bytes, as: UTF8.self) == nil {
                append("t", hexadecimal: bytes, to: &row)
            } else {
                append(quoted: bytes, to: &row)
            }
        case .blob(let bytes): append("x", hexadecimal: bytes, to: &row)
        }
    }

    /// Appends a column's name to a row, in quotes only where it needs them.
    static func append(header name: String, to row: inout [UInt8]) {
        let isPlain = !name.isEmpty && !name.utf8.contains { [0x0A, 0x0D, UInt8(ascii: ","), UInt8(ascii: "\"")].contains($0) }
        if isPlain { row += Array(name.utf8) } else { append(quoted: name.utf8, to: &row) }
    }

    private static func append(quoted bytes: some Sequence<UInt8>, to row: inout [UInt8]) {
        row.append(UInt8(ascii: "\""))
        for byte in bytes {
            row.append(byte)
            if byte == UInt8(ascii: "\"") { row.append(byte) }
        }
        row.append(UInt8(ascii: "\""))
    }

    private static func append(_ letter: Unicode.Scalar, hexadecimal bytes: ArraySlice<UInt8>, to row: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        row += [UInt8(ascii: letter), UInt8(ascii: "'")]
        for byte in bytes { row += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
        row.append(UInt8(ascii: "'"))
    }

    /// Returns the value that the field represents.
    ///
    /// - Parameter isText: whether the column's type turns every number into text.
    /// - Returns: the value.
    /// - Throws: `RecordFault` for bytes that are not UTF-8, and for half a byte in hexadecimal.
    func value(isText: Bool) throws(RecordFault) -> RecordValue {
        if bytes.isEmpty, !isQuoted { return .null }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RecordFault("a field is not UTF-8: save the file as UTF-8, or write the bytes as t'…' in hexadecimal, without quotes.")
        }
        if isQuoted { return .text(bytes[...]) }
        if let value = try hexadecimal() { return value }
        if !isText {
            // Only the exporter's spelling is a number: 007 and 1.50 stay text in a column without a type.
            if let integer = Int64(text), String(integer) == text { return .integer(integer) }
            if text == Self.infinity { return .real(Double.infinity.bitPattern) }
            if text == "-" + Self.infinity { return .real((-Double.infinity).bitPattern) }
            if let real = Double(text), real.isFinite, real.description == text { return .real(real.bitPattern) }
        }
        return .text(bytes[...])
    }

    /// Returns the value of `x'…'` or `t'…'`, or nil for any other field.
    private func hexadecimal() throws(RecordFault) -> RecordValue? {
        guard bytes.count >= 3, bytes[0] == UInt8(ascii: "x") || bytes[0] == UInt8(ascii: "t"), bytes[1] == UInt8(ascii: "'"),
            bytes.last == UInt8(ascii: "'")
        else { return nil }
        let digits = bytes[2..<(bytes.count - 1)]
        let values = digits.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard values.count == digits.count else { return nil }
        guard values.count.isMultiple(of: 2) else {
            throw RecordFault("a field in hexadecimal has half a byte: complete it, or quote the field to keep it as text.")
        }
        let decoded = stride(from: 0, to: values.count, by: 2).map { UInt8(values[$0] << 4 | values[$0 + 1]) }
        return bytes[0] == UInt8(ascii: "x") ? .blob(decoded[...]) : .text(decoded[...])
    }
}
