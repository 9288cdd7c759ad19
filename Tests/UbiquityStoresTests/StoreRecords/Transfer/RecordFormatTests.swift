import Foundation
import SystemPackage
import Testing

@testable import StoreFormat
@testable import StoreRecords

/// Records as JSON and as CSV, without a store.
struct RecordFormatTests {
    /// Each type, with what other programs' formats lose.
    static let values: [RecordValue] = [
        .null, .integer(0), .integer(-7), .integer(1 << 53), .integer((1 << 53) + 1), .integer(.max), .integer(.min),
        real(0), real(-0.0), real(1), real(-3), real(0.1), real(1e300), real(.leastNonzeroMagnitude), real(1e16), real(.greatestFiniteMagnitude),
        real(.infinity),
        real(-.infinity), .text(""), .text("12"), .text("1.0"), .text("null"), .text("x'00'"), .text("9.0e+999"), .text("Grüße 👋\u{2028}"),
        .text("a,\"b\"\r\n\u{1}\\/"), .text([0x61, 0, 0x62]), .text([0xFF, 0xFE]), .text([0xED, 0xA0, 0x80]), .text("\u{FEFF}a"), .blob([]),
        .blob([0, 0xFF, 0x27]),
    ]

    private static func real(_ value: Double) -> RecordValue { .real(value.bitPattern) }

    private func json(_ value: RecordValue) -> [UInt8] {
        var line = JSONRecord.opening("t") + JSONRecord.member("c", isFirst: true)
        JSONRecord.append(value, to: &line)
        return line + Array("}}".utf8)
    }

    private func rows(_ text: String, limit: Int = 1000) throws -> [CSVParser.Row] {
        var parser = CSVParser(limit: limit)
        var rows: [CSVParser.Row] = []
        for byte in text.utf8 { if let row = try parser.input(byte) { rows.append(row) } }
        if let row = try parser.end() { rows.append(row) }
        return rows
    }

    @Test("a value is the same, by type and by bytes, after JSON and after CSV", arguments: values)
    func roundTrip(value: RecordValue) throws {
        let line = json(value)
        #expect(try JSONRecordReader.record(in: line[...]) == SuppliedRecord(table: "t", columns: ["c"], values: [value]))
        // What every other reader of JSON asks for.
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(line)) }
        var parser = CSVParser(limit: 1000)
        var row: [UInt8] = []
        CSVField.append(value, to: &row)
        for byte in row + Array(",".utf8) { #expect(try parser.input(byte) == nil) }
        #expect(try parser.end()?.fields.first?.value(isText: false) == value)
    }

    @Test("values are written as the article says")
    func spelling() {
        let expected: [(RecordValue, json: String, csv: String)] = [
            (.null, "null", ""), (.integer(3), "3", "3"), (.integer(1 << 53), #"{"integer":"9007199254740992"}"#, "9007199254740992"),
            (Self.real(3), "3.0", "3.0"), (Self.real(-.infinity), #"{"real":"-inf"}"#, "-9.0e+999"), (.text(""), #""""#, #""""#),
            (.text("a\"\n\u{1}"), #""a\"\n\u0001""#, "\"a\"\"\n\u{1}\""), (.text([0]), #""\u0000""#, "t'00'"),
            (.text([0xFF]), #"{"text":"/w=="}"#, "t'ff'"),
            (.blob([1, 0xAB]), #"{"blob":"Aas="}"#, "x'01ab'"),
        ]
        for (value, json, csv) in expected {
            var (line, row): ([UInt8], [UInt8]) = ([], [])
            JSONRecord.append(value, to: &line)
            CSVField.append(value, to: &row)
            #expect(String(decoding: line, as: UTF8.self) == json)
            #expect(String(decoding: row, as: UTF8.self) == csv)
        }
    }

    @Test("JSON that others write is read: members in any order, spaces, escapes, numbers of every form")
    func foreignJSON() throws {
        let line = #" { "values" : { "a" : -0 , "b":1E2,"c":"\u00fc\ud83d\udc4b\/\b","d":{"real":"-inf"}, "e" : 2e-400 } , "table":"t\n" } "#
        let record = try JSONRecordReader.record(in: Array(line.utf8)[...])
        #expect(record.table == "t\n" && record.columns == ["a", "b", "c", "d", "e"])
        #expect(record.values == [.integer(0), Self.real(100), .text("ü👋/\u{8}"), Self.real(-.infinity), Self.real(0)])
    }

    @Test(
        "a line that is no record is refused, with the place and what to write",
        arguments: [
            (#"{"table":"t"}"#, "has no values"), (#"{"values":{}}"#, "names no table"), (#"{"table":"t","values":{},"x":1}"#, "“x” is no member"),
            (#"{"table":"t","table":"u","values":{}}"#, "“table” stands twice"), (#"{"table":"t","values":{"a":1,"a":2}}"#, "“a” stands twice"),
            (#"{"table":"t","values":{"a":1}} {}"#, "write one object a line"), (#"{"table":"t","values":{"a":1}"#, "a comma or the object's end"),
            (#"{"table":"t","values":{"a":true}}"#, "write 1 or 0"), (#"{"table":"t","values":{"a":[[[[[[1]]]]]]}}"#, "an array is no value"),
            (#"{"table":"t","values":{"a":{"blob":{"blob":""}}}}"#, "at byte 36 of the line, here should be a string"),
            (#"{"table":"t","values":{"a":{}}}"#, "write one of"), (#"{"table":"t","values":{"a":{"text":"","blob":""}}}"#, "write one of"),
            (#"{"table":"t","values":{"a":{"date":"x"}}}"#, "“date” is no type"), (#"{"table":"t","values":{"a":{"blob":"!"}}}"#, "base64"),
            (#"{"table":"t","values":{"a":{"integer":"1.5"}}}"#, "64-bit"), (#"{"table":"t","values":{"a":{"real":"nan"}}}"#, "“real” takes"),
            (#"{"table":"t","values":{"a":9223372036854775808}}"#, "greater than 64 bits"),
            (#"{"table":"t","values":{"a":1e999}}"#, "greater than a real"), (#"{"table":"t","values":{"a":01}}"#, "this is no number"),
            (#"{"table":"t","values":{"a":1.}}"#, "this is no number"), (#"{"table":"t","values":{"a":-}}"#, "this is no number"),
            (#"{"table":"t","values":{"a":NaN}}"#, "here should be a string"), (#"{"table":"t","values":{"a":"\ud83d"}}"#, "half of a surrogate"),
            (#"{"table":"t","values":{"a":"\u12"}}"#, "four hexadecimal digits"), (#"{"table":"t","values":{"a":"\x"}}"#, "no escape of JSON's"),
            (#"{"table":"t","values":{"a":"b}}"#, "the string has no end"), ("{\"table\":\"t\",\"values\":{\"a\":\"\t\"}}", "control character"),
            (#"["t"]"#, "here should be an object"), (String(repeating: "[", count: 100_000), "here should be an object"),
            (#"{"table":"t","values":null}"#, "here should be an object"), (#"{"table":1,"values":{}}"#, "here should be a string"),
        ])
    func refusedJSON(line: String, message: String) {
        let fault = #expect(throws: RecordFault.self) { try JSONRecordReader.record(in: Array(line.utf8)[...]) }
        #expect(fault?.message.contains(message) == true, "\(String(describing: fault))")
    }

    @Test("a line that is not UTF-8 is refused, and read with the bytes in base64")
    func invalidUTF8() {
        let line = Array(#"{"table":"t","values":{"a":""#.utf8) + [0xFF] + Array(#""}}"#.utf8)
        #expect(throws: RecordFault("the line is not UTF-8.")) { try JSONRecordReader.record(in: line[...]) }
        #expect(throws: RecordFault.self) { try CSVField(bytes: [0xFF], isQuoted: true).value(isText: true) }
    }

    @Test("CSV is read as RFC 4180 has it, also with plain line feeds, and each row knows its line")
    func csv() throws {
        let rows = try rows("a,\"b\"\r\n\r\n\"x\"\"\n,y\",\n,\"\"")
        #expect(rows.map { $0.fields.map { String(decoding: $0.bytes, as: UTF8.self) } } == [["a", "b"], ["x\"\n,y", ""], ["", ""]])
        #expect(rows.map { $0.fields.map(\.isQuoted) } == [[false, true], [true, false], [false, true]])
        #expect(rows.map(\.line) == [1, 3, 5])
        #expect(try self.rows("").isEmpty)
    }

    @Test(
        "CSV that is not whole is refused",
        arguments: [
            ("a,\"b", "the file ends within quotes, which began in the record of line 1"), ("a\"b", "begins without one"),
            ("\"a\"b", "behind the quote"),
            ("a\rb", "carriage return"), ("a\r", "carriage return"), (String(repeating: "a", count: 1001), "longer than 1000 bytes"),
            ("a\n\"" + String(repeating: "\n", count: 1001), "longer than 1000 bytes"),
        ])
    func refusedCSV(text: String, message: String) {
        let fault = #expect(throws: RecordFault.self) { try rows(text) }
        #expect(fault?.message.contains(message) == true, "\(String(describing: fault))")
    }

    @Test("a field without quotes is a number only where it is spelled as one, and never in a column of text")
    func unquoted() throws {
        func value(_ text: String, isText: Bool = false) throws -> RecordValue {
            try CSVField(bytes: Array(text.utf8), isQuoted: false).value(isText: isText)
        }
        for text in ["007", "+1", "1.50", "1e5", "9223372036854775808", "inf", "nan", "0x10", "x'mas'", "t'", "Milk"] {
            #expect(try value(text) == .text(text))
        }
        #expect(try value("7") == .integer(7) && value("7", isText: true) == .text("7"))
        #expect(try value("1e+20") == Self.real(1e20) && value("1e+20", isText: true) == .text("1e+20"))
        #expect(try value("x'0A'", isText: true) == .blob([10]) && value("", isText: true) == .null)
        #expect(throws: RecordFault.self) { try value("x'0'") }
    }

    @Test(
        "the name of a table's file gives the table, whatever that is called",
        arguments: ["note", "a/b", "..", "100%", "%41", "Größe 1", "a\n", "x.csv"])
    func fileNames(table: String) {
        let name = CSVFile.name(of: table)
        #expect(!name.contains("/") && name.hasSuffix(".csv"))
        #expect(CSVFile.table(of: FilePath("/somewhere/\(name)")) == table)
    }
}
