import StoreFormat
import Testing
import UbiquityContainers
import UbiquityTesting

/// Heads, bundles and lists of deaths as bytes.
struct PublishedFormatTests {
    private static let file = PublishedFile(hash: ContentHash(of: [1]), size: 17)
    private static let peer = PeerIdentifier("a~00000000-0000-4000-8000-000000000001")!

    private static func head(_ number: Int64) -> PublishedHead {
        let id = StatementIdentifier(ContentHash(of: [2]))
        var head = PublishedHead(
            number: number, predecessor: number == 1 ? nil : id, publisher: peer, certificate: id, policy: id, contentName: "Game", epoch: 1,
            made: 1_700_000_000_000, expires: 1_700_000_600_000, authority: .init(written: 1, file: file))
        head.snapshot = number
        for range in head.ranges { head.bundles[.table("score"), default: [:]][range] = file }
        head.bundles[.accounts] = head.bundles[.table("score")]
        var table = PublishedHead.Table()
        table.records = 3
        table.parts = ["a": .init(written: 1, records: file, deaths: file), "b": .init(written: number, records: file)]
        head.tables = ["score": table]
        return head
    }

    @Test("A head is read as it was written")
    func heads() throws {
        for number in [Int64(1), 2, 40, 5000] {
            let head = Self.head(number)
            #expect(try PublishedHead(fieldsOf: head.encoded()[...]) == head)
        }
    }

    @Test("A head of a million heads and ten tables has less than a quarter of the largest size")
    func size() {
        var head = Self.head(1_000_000)
        for table in 0..<10 {
            head.bundles[.table("table\(table)")] = head.bundles[.accounts]
            head.tables["table\(table)"] = PublishedHead.Table()
            for digit in Base32.allDigits { head.tables["table\(table)"]!.parts[digit] = .init(written: 1, records: Self.file, deaths: Self.file) }
        }
        #expect(head.encoded().count < PublishedHead.limit / 4)
    }

    @Test(
        "A head with impossible numbers, a bundle of a range that it has not, or without a field is refused",
        arguments: [
            "number 0", "no predecessor", "snapshot ahead", "floor above the snapshot", "foreign bundle", "authority of a later head",
        ])
    func faults(_ fault: String) {
        var head = Self.head(40)
        switch fault {
        case "number 0": head.number = 0
        case "no predecessor": head.predecessor = nil
        case "snapshot ahead": head.snapshot = 41
        case "floor above the snapshot": (head.snapshot, head.floor) = (3, 4)
        case "foreign bundle": head.bundles[.accounts]![HeadRange(level: 0, index: 40)] = Self.file
        default: head.authority.written = 41
        }
        #expect(throws: LogFault.self) { try PublishedHead(fieldsOf: head.encoded()[...]) }
    }

    private static func entries(_ random: inout SeededRandom) -> [BundleEntry] {
        (0..<20).map { number in
            let bytes = (0..<Int.random(in: 0...400, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
            let hash = ContentHash(of: [UInt8(number)])
            let content: BundleEntry.Content =
                switch number % 4 {
                case 0: .statement(bytes[...])
                case 1: .log(peer, LogFileName(sequence: Int64(number), hash: hash), bytes[...])
                case 2: .base(BaselineID(peer: peer, name: BaselineName(sequence: 1, hash: hash)), size: 5)
                default: .value(hash, size: 9)
                }
            return BundleEntry(head: Int64(number + 1), content)
        }
    }

    @Test("Bundles one behind the other are one bundle, whose entries come out of pieces of any size")
    func bundles() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<100 {
            let entries = Self.entries(&random)
            var writer = WireWriter()
            for entry in entries { entry.write(to: &writer) }
            var decoder = BundleDecoder()
            var read: [BundleEntry] = []
            var rest = writer.bytes[...]
            while !rest.isEmpty {
                let piece = rest.prefix(Int.random(in: 1...300, using: &random))
                decoder.feed(piece)
                while let entry = try decoder.next() { read.append(entry) }
                rest = rest.dropFirst(piece.count)
            }
            #expect(read == entries && decoder.isAtEnd)
        }
    }

    @Test("Altered bundles are refused or read, and never trap; a length beyond the limit is refused before memory is taken for it")
    func alteredBundles() throws {
        var random = SeededRandom(seed: 8)
        for _ in 0..<500 {
            var writer = WireWriter()
            for entry in Self.entries(&random) { entry.write(to: &writer) }
            var bytes = writer.bytes
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random) }
            var decoder = BundleDecoder()
            decoder.feed(bytes)
            while let entry = try? decoder.next() { #expect(entry.head > 0) }
        }
        var decoder = BundleDecoder()
        decoder.feed([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])
        #expect(throws: LogFault.self) { try decoder.next() }
    }

    @Test("Deaths are listed by marks, in order, and anything else is refused")
    func deaths() throws {
        var list = DeathList()
        for number in 0..<50 { list.lives[.init(of: [.integer(Int64(number)), .text(Array("key".utf8)[...])])] = Int64(number * 2 + 2) }
        let bytes = list.encoded
        #expect(try DeathList(decoding: bytes) == list)
        #expect(throws: LogFault.self) { try DeathList(decoding: bytes.dropLast()) }
        #expect(throws: LogFault.self) { try DeathList(decoding: Array(bytes[24..<48] + bytes[0..<24])) }
        #expect(throws: LogFault.self) { try DeathList(decoding: Array(bytes[0..<16]) + Array(repeating: 0xFF, count: 8)) }
        #expect(!bytes.split(separator: UInt8(ascii: "k")).contains { $0.starts(with: Array("ey".utf8)) })
    }

    @Test("Each path of a place keeps names of tables apart, and none leaves the place")
    func paths() {
        let names = ["score", "Score", "..", "a/b", "a=2fb", "ü", ""]
        let paths = names.map { PublishedPath.bundle(.table($0), HeadRange(level: 0, index: 0), ContentHash(of: [1])).components }
        #expect(Set(paths).count == names.count)
        #expect(paths.joined().allSatisfy { !$0.contains("/") && $0 != ".." && $0 != "." })
        #expect(Set(paths.map { $0.joined(separator: "/").lowercased() }).count == names.count)
    }
}
