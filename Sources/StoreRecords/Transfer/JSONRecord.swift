internal import Foundation
internal import StoreFormat

/// A record as a line of JSON: `{"table":"note","values":{"id":"a","age":3}}` (<doc:Export>).
///
/// Foundation's coders are not used: they do not distinguish 1 from 1.0, and they silently drop one of two members with
/// one name.
enum JSONRecord {
    /// The integers that every JSON reader reads exactly; others are written as text (RFC 8259, section 6).
    private static let safeIntegers: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53) - 1

    /// Returns the beginning of a line, up to the name of the first value.
    static func opening(_ table: String) -> [UInt8] {
        var line = Array(#"{"table":"#.utf8)
        append(string: Array(table.utf8)[...], to: &line)
        return line + Array(#","values":{"#.utf8)
    }

    /// Returns the column's name with a colon, after a comma unless it is the first.
    static func member(_ column: String, isFirst: Bool) -> [UInt8] {
        var bytes: [UInt8] = isFirst ? [] : [UInt8(ascii: ",")]
        append(string: Array(column.utf8)[...], to: &bytes)
        return bytes + [UInt8(ascii: ":")]
    }

    static func append(_ value: RecordValue, to line: inout [UInt8]) {
        switch value {
        case .null: line += Array("null".utf8)
        case .integer(let integer):
            if safeIntegers.contains(integer) {
                line += Array(String(integer).utf8)
            } else {
                tag("integer", Array(String(integer).utf8), to: &line)
            }
        case .real(let bits):
            let real = Double(bitPattern: bits)
            // `description` is the shortest text that reads back as this value, always with a point or an exponent.
            if real.isFinite { line += Array(real.description.utf8) } else { tag("real", Array((real < 0 ? "-inf" : "inf").utf8), to: &line) }
        case .text(let bytes):
            if String(validating: bytes, as: UTF8.self) == nil {
                tag("text", Array(Data(bytes).base64EncodedData()), to: &line)
            } else {
                append(string: bytes, to: &line)
            }
        case .blob(let bytes): tag("blob", Array(Data(bytes).base64EncodedData()), to: &line)
        }
    }

    private static func tag(_ name: String, _ plain: [UInt8], to line: inout [UInt8]) {
        line += Array("{\"\(name)\":\"".utf8)
        line += plain
        line += Array("\"}".utf8)
    }

    /// Appends a string with its quotes; the bytes are UTF-8.
    private static func append(string bytes: ArraySlice<UInt8>, to line: inout [UInt8]) {
        line.append(UInt8(ascii: "\""))
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): line += [UInt8(ascii: "\\"), byte]
            case 0x0A: line += Array("\\n".utf8)
            case 0x0D: line += Array("\\r".utf8)
            case 0x09: line += Array("\\t".utf8)
            case 0..<0x20: line += Array((byte < 0x10 ? "\\u000" : "\\u00").utf8) + Array(String(byte, radix: 16).utf8)
            default: line.append(byte)
            }
        }
        line.append(UInt8(ascii: "\""))
    }
}
