import Foundation
import GRDB
import Testing
import UbiquityTesting

@testable import UbiquityKeyValues

/// Values, and the forms in which they are stored and given to an app.
struct KeyValueCodingTests {
    /// Values that a coding may confuse, or that lie at the border of a form.
    static let values: [KeyValue] =
        [
            .boolean(true), .boolean(false), .string(""), .string("a"), .string("é"), .string("e\u{301}"), .string("👍\u{0}x"),
            .string(String(repeating: "x", count: 14)), .string(String(repeating: "x", count: 15)), .string(String(repeating: "ö", count: 300)),
            .data(Data()), .data(Data([0, 255])), .data(Data(repeating: 7, count: 70_000)),
            .date(Date(timeIntervalSinceReferenceDate: 0)), .date(Date(timeIntervalSinceReferenceDate: -0.1)),
            .real(0), .real(-0.0), .real(1), .real(0.1), .real(.infinity), .real(-.infinity), .real(.leastNonzeroMagnitude),
            .real(.greatestFiniteMagnitude), .array([]), .dictionary([:]),
            .array([.integer(1), .real(1), .boolean(true), .integer(0), .real(0), .real(-0.0), .boolean(false)]),
            .array((0..<300).map { .integer($0) }),
            .dictionary(["": .string(""), "a": .dictionary(["a": .array([.string("a"), .array([])])]), "ö": .data(Data([1]))]),
        ]
        + [0, 1, -1, 255, 256, 65_535, 65_536, 1 << 32 - 1, 1 << 32, .max, .min].map { .integer($0) }

    @Test("Each value is read back exactly from the table, from a binary property list, and by Foundation", arguments: values)
    func roundTrip(value: KeyValue) throws {
        let stored = KeyValueColumn(value)
        #expect(KeyValueColumn(stored.databaseValue) == stored)
        #expect(stored.value == value)
        let bytes = BinaryPropertyList.encode(value)
        let read = try BinaryPropertyListReader.decode(bytes)
        #expect(read == value)
        // A text, and the sign of a zero, are compared by their bytes.
        #expect(BinaryPropertyList.encode(read) == bytes)
        let foundation = try KeyValue(propertyList: PropertyListSerialization.propertyList(from: bytes, format: nil))
        #expect(BinaryPropertyList.encode(foundation) == bytes)
        #expect(try BinaryPropertyList.encode(KeyValue(propertyList: value.propertyList)) == bytes)
    }

    @Test("SQLite keeps each stored form exactly", arguments: values)
    func inSQLite(value: KeyValue) throws {
        let stored = KeyValueColumn(value)
        let read = try DatabaseQueue().read { db in try Row.fetchOne(db, sql: "SELECT ?", arguments: [stored.databaseValue])![0] as DatabaseValue }
        #expect(KeyValueColumn(read) == stored)
    }

    @Test("NaN is a value, and no removal, which SQLite's NULL would be")
    func notANumber() throws {
        let stored = KeyValueColumn(.real(.nan))
        #expect(!stored.databaseValue.isNull)
        guard case .real(let number)? = stored.value, number.isNaN else { throw Unexpected(value: stored.value) }
        #expect(KeyValueColumn(.real(.nan)) == stored)
        #expect(KeyValueColumn(DatabaseValue.null) == nil)
    }

    @Test("Strings, integers and real numbers are SQLite's own, and a boolean stays a boolean")
    func forms() throws {
        #expect(KeyValueColumn(.string("a")).databaseValue == "a".databaseValue)
        #expect(KeyValueColumn(.integer(1)).databaseValue == 1.databaseValue)
        #expect(KeyValueColumn(.real(1)).databaseValue == 1.0.databaseValue)
        for value in [KeyValue.boolean(true), .string("\u{0}"), .real(-0.0), .date(Date()), .data(Data()), .array([]), .dictionary([:])] {
            guard case .blob = KeyValueColumn(value).databaseValue.storage else { throw Unexpected(value: value) }
        }
        let one: [KeyValue] = [.boolean(true), .integer(1), .real(1)]
        #expect(Set(one.map { KeyValueColumn($0) }).count == 3)
        #expect(Set(one).count == 3)
    }

    @Test("An object of a property list is taken for what it is, whether it is Swift's or Foundation's")
    func objects() throws {
        let date = Date(timeIntervalSinceReferenceDate: 5)
        let pairs: [(Any, KeyValue)] = [
            (true, .boolean(true)), (NSNumber(value: true), .boolean(true)), (NSNumber(value: false), .boolean(false)),
            (1, .integer(1)), (UInt8(1), .integer(1)), (NSNumber(value: 1), .integer(1)), (NSNumber(value: Int8(0)), .integer(0)),
            (1.0, .real(1)), (Float(0.5), .real(0.5)), (NSNumber(value: 1.0), .real(1)),
            ("a", .string("a")), ("ab".dropFirst(), .string("b")), (NSString("a"), .string("a")),
            (Data([1]), .data(Data([1]))), (NSData(data: Data([1])), .data(Data([1]))), (date, .date(date)),
            ([1, true] as [Any], .array([.integer(1), .boolean(true)])), (NSArray(array: [1]), .array([.integer(1)])),
            (["a": 1], .dictionary(["a": .integer(1)])), (NSDictionary(dictionary: ["a": "b"]), .dictionary(["a": .string("b")])),
            (Optional.some(1) as Any, .integer(1)), (KeyValue.real(2), .real(2)), ([KeyValue.integer(3)], .array([.integer(3)])),
        ]
        for (object, value) in pairs { #expect(try KeyValue(propertyList: object) == value, "\(type(of: object))") }
        #expect(KeyValue.integer(1).propertyList is Int)
        #expect(KeyValue.boolean(true).propertyList is Bool)
    }

    @Test("What is no property list is an error with the path that leads to it")
    func noPropertyList() {
        struct Stranger {}
        let cases: [(Any, String)] = [
            (Stranger(), "settings"), (NSNull(), "settings"), (Optional<Int>.none as Any, "settings"), (UInt64.max, "settings"),
            (NSNumber(value: UInt64.max), "settings"),
            (["colors": ["a", "b", "c", Stranger()]] as [String: Any], "settings.colors[3]"),
            ([[1], [2, Stranger()]] as [Any], "settings[1][1]"),
            (["a": [1: 2]] as [String: Any], "settings.a"),
        ]
        for (object, path) in cases {
            let error = #expect(throws: KeyValueError.self) { try KeyValue(propertyList: object, of: "settings") }
            #expect(error?.code == .notPropertyList)
            #expect(error?.path == path)
            #expect(error?.description.contains(path) == true)
        }
        let error = #expect(throws: KeyValueError.self) { try KeyValue(propertyList: ["colors": [Stranger()]]) }
        #expect(error?.path == "colors[0]")
    }

    @Test("Arrays and dictionaries may lie in one another up to the limit, and no deeper")
    func depth() throws {
        func nested(_ depth: Int) -> KeyValue {
            (0..<depth).reduce(.integer(1)) { value, level in level.isMultiple(of: 2) ? .array([value]) : .dictionary(["k": value]) }
        }
        let deepest = nested(KeyValue.greatestDepth)
        #expect(try BinaryPropertyListReader.decode(BinaryPropertyList.encode(deepest)) == deepest)
        #expect(try KeyValue(propertyList: deepest.propertyList) == deepest)
        var values = KeyValues()
        try values.set(deepest, for: "k")
        let tooDeep = nested(KeyValue.greatestDepth + 1)
        #expect(throws: KeyValueError.self) { try KeyValue(propertyList: tooDeep.propertyList) }
        #expect(throws: KeyValueError.self) { try values.set(tooDeep, for: "k") }
        #expect(throws: BinaryPropertyListReader.Malformed.self) { try BinaryPropertyListReader.decode(BinaryPropertyList.encode(tooDeep)) }
        #expect(values.visible["k"]?.value == deepest)
    }

    @Test("Equal dictionaries have equal bytes, in whichever order they were made")
    func deterministic() {
        let numbers = 0..<100
        let forward = KeyValue.dictionary(Dictionary(uniqueKeysWithValues: numbers.map { ("\($0)", .integer($0 % 3 == 0 ? 0 : 1)) }))
        let backward = KeyValue.dictionary(Dictionary(uniqueKeysWithValues: numbers.reversed().map { ("\($0)", .integer($0 % 3 == 0 ? 0 : 1)) }))
        #expect(BinaryPropertyList.encode(forward) == BinaryPropertyList.encode(backward))
    }

    @Test("What Foundation has written is read, and damaged bytes are refused or read as something else, and nothing traps")
    func damaged() throws {
        let object: [String: Any] = ["b": true, "i": 1, "r": 1.5, "n": -5, "u": "é", "x": Data([1, 2]), "arr": [1, [2, "x"]] as [Any]]
        let whole = try PropertyListSerialization.data(fromPropertyList: object, format: .binary, options: 0)
        #expect(try BinaryPropertyListReader.decode(whole) == KeyValue(propertyList: object))
        let own = try BinaryPropertyList.encode(KeyValue(propertyList: object))
        for count in 0..<own.count {
            #expect(throws: BinaryPropertyListReader.Malformed.self) { try BinaryPropertyListReader.decode(own.prefix(count)) }
        }
        var random = SeededRandom(seed: 9)
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            if let value = try? BinaryPropertyListReader.decode(bytes) { try value.checkDepth(at: KeyPathText()) }
        }
    }

    @Test("An array that contains itself, or lies in two places, is refused")
    func circle() {
        // Two objects, whose second is referred to by the first; the trailer says sizes of 1 byte and an offset table at the end.
        func list(_ objects: [[UInt8]]) -> Data {
            var bytes = BinaryPropertyList.magic
            var offsets: [UInt8] = []
            for object in objects {
                offsets.append(UInt8(bytes.count))
                bytes += object
            }
            let table = UInt8(bytes.count)
            func number(_ value: UInt8) -> [UInt8] { [0, 0, 0, 0, 0, 0, 0, value] }
            return Data(bytes + offsets + [0, 0, 0, 0, 0, 0, 1, 1] + number(UInt8(objects.count)) + number(0) + number(table))
        }
        #expect((try? BinaryPropertyListReader.decode(list([[0xA1, 1], [0x10, 5]]))) == .array([.integer(5)]))
        #expect((try? BinaryPropertyListReader.decode(list([[0xA1, 0]]))) == nil)
        #expect((try? BinaryPropertyListReader.decode(list([[0xA2, 1, 1], [0xA0]]))) == nil)
        #expect((try? BinaryPropertyListReader.decode(list([[0xA1, 9]]))) == nil)
    }
}

/// A value that a test did not expect.
struct Unexpected: Error {
    var value: KeyValue?
    @Test("Objects that share bytes make no more of them than there are: such a list is refused before it fills the memory")
    func aliases() {
        func number(_ value: Int, _ size: Int) -> [UInt8] { (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        let count = 2000
        var bytes = Array("bplist00".utf8)
        let data = bytes.count
        bytes += [0x4F, 0x12] + number(100_000, 4) + Array(repeating: 7, count: 100_000)
        let array = bytes.count
        bytes += [0xAF, 0x11] + number(count, 2) + (1...count).flatMap { number($0, 2) }
        let table = bytes.count
        bytes += number(array, 4) + (0..<count).flatMap { _ in number(data, 4) }
        bytes += [0, 0, 0, 0, 0, 0, 4, 2] + number(count + 1, 8) + number(0, 8) + number(table, 8)
        #expect(throws: (any Error).self) { try KeyValue(decoding: Data(bytes)) }
    }
}
