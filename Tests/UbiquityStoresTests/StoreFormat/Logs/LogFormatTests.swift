import Foundation
import Testing
import UbiquityContainers
import UbiquityStores

struct LogFormatTests {
    private static let peer = PeerIdentifier("alice~0785bf93-b82f-4b53-9fa1-b45b2ee096c3")!
    private static let other = PeerIdentifier("alice~1fac08f1-c2e6-4047-92c5-93ca8ffd2ed6")!

    private static func header(bodyVersion: UInt64 = LogBody.version) -> LogHeader {
        LogHeader(
            bodyVersion: bodyVersion, peer: peer, contentName: "Notes", epoch: 1, sequence: 7, predecessor: ContentHash(of: [1]),
            news: Knowledge([other: .init(sequence: 3, hash: ContentHash(of: [2]))]), schema: "v1",
            created: Date(timeIntervalSince1970: 1_800_000_000),
            saves: 1, changes: 2)
    }

    private static let values: [RecordValue] = [
        .integer(.min), .integer(.max), .real(Double.infinity.bitPattern), .text(""), .text([0xFF, 0x00, 0xC3]), .blob([]), .blob([0, 1]), .null,
    ]

    private static let fact = SameAs(RecordNode(key: [.text("k")], life: 1), RecordNode(key: [.integer(-5)], life: 3))

    private static func bytes(header: LogHeader = header()) -> [UInt8] {
        let table = LogBody.Table(name: "note", keyColumns: ["id"], columns: values.indices.map { "c\($0)" })
        var rows = WireWriter()
        rows.varint(1)
        rows.recordValue(.text("k"))
        rows.varint(UInt64(1 << values.count) - 1)
        for value in values { rows.recordValue(value) }
        rows.varint(2)
        rows.recordValue(.integer(-5))
        var body = LogBodyBuilder()
        body.add(table, count: 2, rows: rows)
        body.add(table, fact)
        return LogFile.encode(header, body: body.encoded(time: HybridTime(milliseconds: 1_800_000_000_000)))
    }

    @Test("a log gives back what was written, byte for byte")
    func roundTrip() throws {
        let bytes = Self.bytes()
        let name = LogFileName(sequence: 7, hash: ContentHash(of: bytes))
        let log = try LogFile(decoding: bytes, named: #require(LogFileName(name.description)))
        #expect(log.header == Self.header())
        var changes: [LogBody.Change] = []
        let contents = try LogBody.decode(log)
        try contents.groups[0].rows[0].forEach(in: contents.tables[0]) { changes.append($0) }
        #expect(changes.map(\.life) == [1, 2])
        #expect(changes[0].values == Self.values)
        #expect(changes[1].key == [.integer(-5)])
        #expect(contents.groups[0].same.map(\.fact) == [Self.fact])
    }

    @Test("a log cut off at any byte is refused, by its name and without it")
    func truncation() throws {
        let bytes = Self.bytes()
        let name = LogFileName(sequence: 7, hash: ContentHash(of: bytes))
        for count in 0..<bytes.count {
            let cut = Array(bytes[..<count])
            #expect(throws: LogFault.self) { try LogFile(decoding: cut, named: name) }
            #expect(throws: (any Error).self) { try Self.readAll(cut) }
        }
    }

    @Test("a log with any one byte changed is refused by its name, and never traps without it")
    func alteration() throws {
        let bytes = Self.bytes()
        let name = LogFileName(sequence: 7, hash: ContentHash(of: bytes))
        for index in bytes.indices {
            for flip: UInt8 in [0x01, 0x80, 0xFF] {
                var altered = bytes
                altered[index] ^= flip
                #expect(throws: LogFault.self) { try LogFile(decoding: altered, named: name) }
                _ = try? Self.readAll(altered)
            }
        }
    }

    @Test("fields that this version does not know are passed over; a newer body or header says to update")
    func future() throws {
        let bytes = Self.bytes()
        var extended = bytes
        // An unknown field 99 at the end of the body, and of the header, whose length stands at byte 8.
        let field: [UInt8] = [0x9A, 0x06, 0x02, 0x41, 0x42]
        extended += field
        let end = 12 + Int(bytes[8]) + Int(bytes[9]) << 8
        extended.insert(contentsOf: field, at: end)
        extended[8] += UInt8(field.count)
        #expect(try LogFile(decoding: extended).header == Self.header())
        #expect(try Self.readAll(extended) == 2)
        #expect { try LogBody.decode(LogFile(decoding: Self.bytes(header: Self.header(bodyVersion: 9)))) } throws: { error in
            guard case .newer = error as? LogFault else { return false }
            return String(describing: error).contains("update")
        }
    }

    @Test("a stamp beyond the year 2200 is plausible only as what goes on from a stamp that has been taken in")
    func farFuture() {
        let late = HybridTime(milliseconds: 7_258_118_400_000)
        let later = HybridTime.next(after: late, wall: .least)
        #expect(late.isPlausible(after: .least))
        #expect(!later.isPlausible(after: .least))
        #expect(later.isPlausible(after: late))
        #expect(!HybridTime(rawValue: .max).isPlausible(after: late))
        #expect(!HybridTime(rawValue: .max).isPlausible(after: HybridTime(rawValue: .max)))
    }

    @Test("a real that is not a number is refused, for SQLite holds none")
    func notANumber() {
        var writer = WireWriter()
        writer.recordValue(.real(Double.nan.bitPattern))
        var reader = WireReader(writer.bytes[...])
        #expect(throws: WireReader.Fault.self) { try reader.recordValue() }
        #expect(RecordValue.integer(1).compare(.real(Double.nan.bitPattern)) == .less)
    }

    @Test(
        "a file name is a log's in its one spelling only",
        arguments: [
            "7.\(ContentHash(of: [])).ublog", "000000000000.\(ContentHash(of: [])).ublog", "000000000007.\(ContentHash(of: [])).ublog.tmp",
            "000000000007.abc.ublog", "+00000000007.\(ContentHash(of: [])).ublog",
            "000000000007.\(String(describing: ContentHash(of: [])).uppercased()).ublog",
            "000000000007.\(ContentHash(of: [])).sync-conflict-20261121-070000-ABCDEFG.ublog",
        ])
    func foreignFileNames(name: String) {
        #expect(LogFileName(name) == nil)
    }

    @Test("a receipt gives back the knowledge, and a damaged or newer one is none")
    func receipt() throws {
        let knowledge = Knowledge([Self.other: .init(sequence: 3, hash: ContentHash(of: [2]))])
        let receipt = Receipt(peer: Self.peer, epoch: 1, knowledge: knowledge, migrations: ["v1"], time: Date(timeIntervalSince1970: 1_800_000_000))
        let bytes = try receipt.encoded()
        #expect(Receipt(decoding: bytes) == receipt)
        #expect(Receipt(decoding: bytes)?.stated == knowledge)
        for count in 0..<bytes.count { #expect(Receipt(decoding: Array(bytes[..<count])) == nil) }
        let newer = String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "\"format\":1", with: "\"format\":2")
        #expect(Receipt(decoding: Array(newer.utf8)) == nil)
    }

    /// Reads everything in a log, and counts the changes.
    private static func readAll(_ bytes: [UInt8]) throws -> Int {
        let contents = try LogBody.decode(LogFile(decoding: bytes))
        var count = 0
        for rows in contents.groups.flatMap(\.rows) { try rows.forEach(in: contents.tables[rows.table]) { _ in count += 1 } }
        guard count == 2 else { throw LogFault.damaged("changes are missing") }
        return count
    }
}
