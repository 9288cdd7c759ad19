import Testing
import UbiquityTesting

@testable import ubwatch

@Suite struct KeyDecoderTests {
    static let known: [(String, [Key])] = [
        ("q", [.character("q")]), ("/", [.character("/")]), ("é", [.character("é")]), ("日", [.character("日")]), ("🍎", [.character("🍎")]),
        ("\r", [.enter]), ("\n", [.enter]), ("\t", [.tab]), ("\u{7F}", [.backspace]), ("\u{8}", [.backspace]), ("\u{3}", [.control("c")]),
        ("\u{1B}[A", [.up]), ("\u{1B}OA", [.up]), ("\u{1B}[B", [.down]), ("\u{1B}[C", [.right]), ("\u{1B}[D", [.left]), ("\u{1B}[H", [.home]),
        ("\u{1B}OF", [.end]), ("\u{1B}[1~", [.home]), ("\u{1B}[4~", [.end]), ("\u{1B}[5~", [.pageUp]), ("\u{1B}[6~", [.pageDown]),
        ("\u{1B}[3~", [.delete]), ("\u{1B}[Z", [.backTab]), ("\u{1B}[1;5A", [.up]),
        // What means nothing here is taken whole, and no letter of it counts as a key.
        ("\u{1B}[15~", []), ("\u{1B}[?1;2c", []), ("\u{1B}[200~", []),
        ("\u{1B}q", [.escape, .character("q")]), ("\u{1B}\u{1B}[A", [.escape, .up]),
    ]

    @Test("Keys are known by their bytes", arguments: known)
    func keys(bytes: String, keys: [Key]) {
        var decoder = KeyDecoder()
        #expect(decoder.decode(bytes.utf8) == keys)
        #expect(!decoder.isWaiting)
    }

    @Test("Keys come the same however their bytes are cut", arguments: 0..<60 as Range<UInt64>)
    func cuts(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let pressed = (0..<40).map { _ in Self.known.randomElement(using: &random)! }
        var rest = Array(pressed.map(\.0).joined().utf8)[...]
        var decoder = KeyDecoder()
        var keys: [Key] = []
        while !rest.isEmpty {
            let count = Int.random(in: 1...3, using: &random)
            keys += decoder.decode(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        #expect(keys == pressed.flatMap(\.1), "seed \(seed)")
    }

    @Test("An escape character with nothing behind it is the escape key")
    func escapeAlone() {
        var decoder = KeyDecoder()
        #expect(decoder.decode("\u{1B}".utf8) == [])
        #expect(decoder.isWaiting)
        #expect(decoder.flush() == [.escape])
        #expect(!decoder.isWaiting)
        #expect(decoder.decode("q".utf8) == [.character("q")])
    }

    @Test("Bytes that are no text give no key, and the next key comes")
    func rubbish() {
        var decoder = KeyDecoder()
        #expect(
            decoder.decode([0xFF, 0xC3, UInt8(ascii: "q"), 0xE6, 0x97, UInt8(ascii: "/"), 0xED, 0xA0, 0x80]) == [.character("q"), .character("/")])
        #expect(
            decoder.decode([0x1B, UInt8(ascii: "[")] + Array(repeating: UInt8(ascii: "1"), count: 100) + [UInt8(ascii: "q")]).last == .character("q"))
    }
}
