internal import Foundation
internal import StoreFormat

/// Reads a line of JSON as a record, strictly: only the members in <doc:Export> are valid, and each name occurs once.
///
/// Values cannot nest deeper than in a record, so deep nesting in a hostile file fails at its first bracket.
struct JSONRecordReader {
    private let bytes: ArraySlice<UInt8>
    private var rest: ArraySlice<UInt8>

    /// Reads a record.
    ///
    /// - Parameter line: the line, without its end.
    /// - Returns: the record; the caller sets its line number.
    /// - Throws: `RecordFault`.
    static func record(in line: ArraySlice<UInt8>) throws(RecordFault) -> SuppliedRecord {
        guard String(validating: line, as: UTF8.self) != nil else { throw RecordFault("the line is not UTF-8.") }
        var reader = JSONRecordReader(bytes: line, rest: line)
        let record = try reader.record()
        reader.skipSpace()
        guard reader.rest.isEmpty else { throw reader.fault("text follows the record: write one object a line") }
        return record
    }

    private mutating func record() throws(RecordFault) -> SuppliedRecord {
        var table: String?
        var values: (columns: [String], values: [RecordValue])?
        try object { (name, reader) throws(RecordFault) in
            switch name {
            case "table": table = String(decoding: try reader.string(), as: UTF8.self)
            case "values": values = try reader.values()
            default: throw reader.fault("“\(name)” is no member of a record: write {\"table\": …, \"values\": {…}}")
            }
        }
        guard let table else { throw RecordFault("the record names no table: write {\"table\": …, \"values\": {…}}.") }
        guard let values else { throw RecordFault("the record has no values: write {\"table\": …, \"values\": {…}}.") }
        return SuppliedRecord(table: table, columns: values.columns, values: values.values)
    }

    private mutating func values() throws(RecordFault) -> (columns: [String], values: [RecordValue]) {
        var (columns, values): ([String], [RecordValue]) = ([], [])
        try object { (name, reader) throws(RecordFault) in
            columns.append(name)
            values.append(try reader.value())
        }
        return (columns, values)
    }

    /// Reads an object; the body reads the value of each member.
    private mutating func object(_ member: (String, inout JSONRecordReader) throws(RecordFault) -> Void) throws(RecordFault) {
        try expect("{", "an object")
        var names: Set<String> = []
        if take("}") { return }
        repeat {
            let name = String(decoding: try string(), as: UTF8.self)
            guard names.insert(name).inserted else { throw fault("“\(name)” stands twice in one object: leave one") }
            try expect(":", "a colon")
            try member(name, &self)
        } while take(",")
        try expect("}", "a comma or the object's end")
    }

    private mutating func value() throws(RecordFault) -> RecordValue {
        skipSpace()
        switch rest.first {
        case UInt8(ascii: "\""): return .text(try string()[...])
        case UInt8(ascii: "{"): return try tagged()
        case UInt8(ascii: "-"), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): return try number()
        case UInt8(ascii: "n") where rest.starts(with: "null".utf8):
            rest = rest.dropFirst(4)
            return .null
        case UInt8(ascii: "t"), UInt8(ascii: "f"): throw fault("SQLite has no true and false: write 1 or 0")
        case UInt8(ascii: "["): throw fault("an array is no value of a column: write a string, a number, null, or {\"blob\": …}")
        default: throw fault("here should be a string, a number, null, or {\"blob\": …}")
        }
    }

    /// Reads a value that JSON has no form for.
    private mutating func tagged() throws(RecordFault) -> RecordValue {
        var value: RecordValue?
        var count = 0
        try object { (name, reader) throws(RecordFault) in
            count += 1
            value = try reader.tagged(name)
        }
        guard count == 1, let value else { throw fault("write one of {\"integer\": …}, {\"real\": …}, {\"text\": …} and {\"blob\": …}") }
        return value
    }

    private mutating func tagged(_ name: String) throws(RecordFault) -> RecordValue {
        guard ["integer", "real", "text", "blob"].contains(name) else {
            throw fault("“\(name)” is no type: write {\"integer\": …}, {\"real\": …}, {\"text\": …} or {\"blob\": …}")
        }
        let plain = try string()
        let text = String(decoding: plain, as: UTF8.self)
        switch name {
        case "integer":
            guard let integer = Int64(text), String(integer) == text else { throw fault("“integer” takes the digits of a 64-bit number") }
            return .integer(integer)
        case "real":
            if text == "inf" || text == "-inf" { return .real((text == "inf" ? Double.infinity : -.infinity).bitPattern) }
            var digits = JSONRecordReader(bytes: plain[...], rest: plain[...])
            guard case .real(let bits)? = try? digits.number(), digits.rest.isEmpty else {
                throw fault("“real” takes a number with a point or an exponent, inf, or -inf")
            }
            return .real(bits)
        default:
            guard let data = Data(base64Encoded: Data(plain)) else { throw fault("“\(name)” takes bytes in base64 (RFC 4648)") }
            return name == "text" ? .text(ArraySlice(data)) : .blob(ArraySlice(data))
        }
    }

    /// Reads a number according to RFC 8259: an integer, or a real if it has a point or an exponent.
    private mutating func number() throws(RecordFault) -> RecordValue {
        let start = rest
        _ = takeRaw("-")
        let whole = digits()
        var isReal = false
        var isWhole = whole == 1 || whole > 1 && start.drop { $0 == UInt8(ascii: "-") }.first != UInt8(ascii: "0")
        if takeRaw(".") {
            isReal = true
            isWhole = digits() > 0 && isWhole
        }
        if takeRaw("e") || takeRaw("E") {
            isReal = true
            _ = takeRaw("+") || takeRaw("-")
            isWhole = digits() > 0 && isWhole
        }
        guard isWhole else { throw fault("this is no number") }
        let text = String(decoding: start.prefix(start.count - rest.count), as: UTF8.self)
        if isReal {
            guard let real = Double(text), real.isFinite else { throw fault("the number is greater than a real can be: write {\"real\": \"inf\"}") }
            return .real(real.bitPattern)
        }
        guard let integer = Int64(text) else {
            throw fault("the number is greater than 64 bits hold: write it as a string, or as a real, with a point")
        }
        return .integer(integer)
    }

    private mutating func digits() -> Int {
        let before = rest.count
        rest = rest.drop { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return before - rest.count
    }

    /// Reads a string, without its quotes and escapes.
    private mutating func string() throws(RecordFault) -> [UInt8] {
        try expect("\"", "a string")
        var text: [UInt8] = []
        while true {
            let plain = rest.prefix { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") && $0 >= 0x20 }
            text += plain
            rest = rest.dropFirst(plain.count)
            switch rest.popFirst() {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"): text += try escaped()
            case nil: throw fault("the string has no end")
            default: throw fault("a control character stands in a string: write it as \\u and four digits")
            }
        }
    }

    private mutating func escaped() throws(RecordFault) -> [UInt8] {
        switch rest.popFirst() {
        case UInt8(ascii: "\""): return [UInt8(ascii: "\"")]
        case UInt8(ascii: "\\"): return [UInt8(ascii: "\\")]
        case UInt8(ascii: "/"): return [UInt8(ascii: "/")]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"):
            var scalar = try unit()
            if (0xD800..<0xDC00).contains(scalar), takeRaw("\\"), takeRaw("u") {
                let low = try unit()
                guard (0xDC00..<0xE000).contains(low) else { throw fault("half of a surrogate pair is not a character") }
                scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(scalar) else { throw fault("half of a surrogate pair is not a character") }
            return Array(String(Character(scalar)).utf8)
        default: throw fault("this is no escape of JSON's")
        }
    }

    /// Reads the four digits of `\u`.
    private mutating func unit() throws(RecordFault) -> UInt32 {
        let digits = rest.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw fault("\\u needs four hexadecimal digits") }
        rest = rest.dropFirst(4)
        return unit
    }

    private mutating func skipSpace() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D } }

    private mutating func takeRaw(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        return takeRaw(character)
    }

    private mutating func expect(_ character: Unicode.Scalar, _ what: String) throws(RecordFault) {
        guard take(character) else { throw fault("here should be \(what)") }
    }

    /// Returns a fault at the current position.
    private func fault(_ message: String) -> RecordFault {
        RecordFault("at byte \(bytes.count - rest.count + 1) of the line, \(message).")
    }
}
