import Testing
import UbiquityTesting

@testable import ubwatch

@Suite struct ScreenTests {
    @Test("A screen counts cells, not characters: wide ones take two, marks none")
    func widths() {
        #expect(DisplayWidth.width(of: "Notes") == 5)
        #expect(DisplayWidth.width(of: "日本") == 4)
        #expect(DisplayWidth.width(of: "e\u{301}") == 1)
        #expect(DisplayWidth.width(of: "🍎") == 2)
        #expect(DisplayWidth.width(of: "한") == 2)
        #expect(DisplayWidth.width(of: "❤\u{FE0F}") == 1)
        #expect(DisplayWidth.width(of: "é✓─█") == 4)
    }

    @Test("What could do more than show is shown by its number: control characters, and those that turn the direction of text")
    func escapes() {
        var screen = Screen(.init(rows: 1, columns: 40))
        screen.put("a\u{1B}[2Jb\u{202E}c\u{9B}d", row: 0, column: 0)
        #expect(screen.text(ofRow: 0) == "a\\u{1b}[2Jb\\u{202e}c\\u{9b}d")
        #expect(DisplayWidth.width(of: "a\u{1B}") == 7)
    }

    @Test("A wide character that does not fit is left out, and one that is half overwritten goes whole")
    func wideAtTheEdge() {
        var screen = Screen(.init(rows: 1, columns: 5))
        #expect(screen.put("ab日本", row: 0, column: 0) == 4)
        #expect(screen.text(ofRow: 0) == "ab日")
        screen.put("x", row: 0, column: 3)
        #expect(screen.text(ofRow: 0) == "ab x")
        screen.put("日", row: 0, column: 0)
        screen.put("y", row: 0, column: 0)
        #expect(screen.text(ofRow: 0) == "y  x")
    }

    @Test("Nothing is written outside the screen, nor behind the end that was given")
    func clipping() {
        var screen = Screen(.init(rows: 2, columns: 4))
        screen.put("nothing", row: 2, column: 0)
        screen.put("nothing", row: -1, column: 0)
        screen.put("abcdef", row: 0, column: 2)
        screen.put("abcdef", row: 1, column: 0, end: 3)
        #expect((0..<2).map(screen.text(ofRow:)) == ["  ab", "abc"])
    }

    @Test("A text that is too long ends in an ellipsis, by cells", arguments: [(3, "ab…"), (6, "abcdef"), (5, "abcd…")])
    func shortening(room: Int, shown: String) {
        var screen = Screen(.init(rows: 1, columns: 10))
        screen.putShortened("abcdef", row: 0, column: 0, end: room)
        #expect(screen.text(ofRow: 0) == shown)
        var wide = Screen(.init(rows: 1, columns: 10))
        wide.putShortened("日本語", row: 0, column: 0, end: 4)
        #expect(wide.text(ofRow: 0) == "日…")
    }

    @Test("A heap of marks over one letter does not run into other lines")
    func marks() {
        var screen = Screen(.init(rows: 1, columns: 4))
        screen.put("e" + String(repeating: "\u{301}", count: 100) + "f", row: 0, column: 0)
        #expect(screen[0].first?.text.unicodeScalars.count == 5)
        #expect(screen[0].dropFirst().first?.text == "f")
    }

    @Test("The bytes of a difference turn what a terminal shows into the new screen", arguments: 0..<40 as Range<UInt64>)
    func differences(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let size = Screen.Size(rows: 4, columns: 11)
        var terminal = TerminalEmulator(size)
        var shown: Screen?
        for step in 0..<60 {
            // Sometimes from nothing, mostly from what was there.
            var next = step % 7 == 0 ? Screen(size) : shown ?? Screen(size)
            for _ in 0..<Int.random(in: 0..<6, using: &random) {
                let words = ["a", "bc", "日", "日本語", "e\u{301}", "🍎x", "   ", "\u{7}", "─█", "ü\u{308}\u{308}"]
                let styles: [CellStyle] = [.plain, .red, .bold, .dim, .green.reversed]
                next.put(
                    words.randomElement(using: &random)!, row: .random(in: 0..<4, using: &random), column: .random(in: 0..<11, using: &random),
                    style: styles.randomElement(using: &random)!)
            }
            // Another terminal is drawn on from nothing now and then.
            if step % 13 == 12 { shown = nil }
            terminal.take(ScreenDiff.bytes(from: shown, to: next, hasColours: true))
            #expect(terminal.shows(next), "seed \(seed), step \(step)")
            #expect(terminal.unknown.isEmpty)
            #expect(!terminal.isSynchronized)
            shown = next
        }
    }

    @Test("Only cells that changed are sent, and nothing where none did")
    func economy() {
        let size = Screen.Size(rows: 24, columns: 80)
        var first = Screen(size)
        for row in 0..<24 { first.put(String(repeating: "x", count: 80), row: row, column: 0) }
        var second = first
        second.put("7", row: 12, column: 40)
        second.put("日", row: 20, column: 2)
        #expect(ScreenDiff.bytes(from: first, to: first, hasColours: true) == [])
        var terminal = TerminalEmulator(size)
        terminal.take(ScreenDiff.bytes(from: first, to: second, hasColours: true))
        #expect(terminal.written == 2)
    }

    @Test("Without colours a difference has none, and keeps what is bold or reversed")
    func colours() {
        var screen = Screen(.init(rows: 1, columns: 4))
        screen.put("ab", row: 0, column: 0, style: CellStyle(colour: .red, isBold: true))
        #expect(String(decoding: ScreenDiff.bytes(from: nil, to: screen, hasColours: false), as: UTF8.self).contains("\u{1B}[0;1mab"))
        #expect(String(decoding: ScreenDiff.bytes(from: nil, to: screen, hasColours: true), as: UTF8.self).contains("\u{1B}[0;1;31mab"))
    }

    @Test("A screen of another size is drawn from nothing")
    func otherSize() {
        let small = Screen(.init(rows: 1, columns: 4))
        var large = Screen(.init(rows: 2, columns: 8))
        large.put("abcdefgh", row: 1, column: 0)
        var terminal = TerminalEmulator(large.size)
        terminal.take(ScreenDiff.bytes(from: small, to: large, hasColours: true))
        #expect(terminal.shows(large))
    }
}
