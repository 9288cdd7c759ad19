import JournalModel
import Testing

/// The bytes of a terminal as keys.
struct KeyDecoderTests {
    private static let table: [(String, [Key])] = [
        ("aé日\u{1F600}", [.character("a"), .character("é"), .character("日"), .character("\u{1F600}")]),
        ("\r\n\t\u{7F}\u{8}\u{13}", [.enter, .enter, .tab, .backspace, .backspace, .control("s")]),
        ("\u{1B}[A\u{1B}[B\u{1B}OC\u{1B}[D", [.up, .down, .right, .left]),
        ("\u{1B}[H\u{1B}[4~\u{1B}[3~\u{1B}[Z\u{1B}[1;5A", [.home, .end, .delete, .backTab, .up]),
        ("\u{1B}x\u{1B}[99~y", [.escape, .character("x"), .character("y")]),
    ]

    @Test("Keys are decoded whole and byte by byte", arguments: table)
    func keys(text: String, keys: [Key]) {
        var whole = KeyDecoder()
        #expect(whole.decode(text.utf8) == keys)
        #expect(!whole.isWaiting && whole.flush() == [])
        var pieces = KeyDecoder()
        #expect(text.utf8.flatMap { pieces.decode([$0]) } == keys)
    }

    @Test("The escape key alone is known once no more bytes arrive")
    func escape() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0x1B]) == [] && decoder.isWaiting)
        #expect(decoder.flush() == [.escape] && !decoder.isWaiting)
        #expect(decoder.decode("\u{1B}[".utf8) == [] && decoder.flush() == [])
        #expect(decoder.decode("q".utf8) == [.character("q")])
    }

    @Test("Bytes that are no text are skipped")
    func broken() {
        var decoder = KeyDecoder()
        #expect(decoder.decode([0xFF, 0xC3, 0x61, 0x80, 0xE3, 0x81] + Array("b".utf8)) == [.character("a"), .character("b")])
        #expect(decoder.decode(Array("\u{1B}[".utf8) + Array(repeating: 0x31, count: 64)) == [], "a sequence without an end")
        #expect(decoder.decode("A".utf8) == [.character("A")])
    }
}
