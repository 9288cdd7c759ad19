import Foundation
import JournalModel
import Testing

/// The thumbnails of attachments.
struct ThumbnailTests {
    private func thumbnail(_ data: Data, _ name: String = "file") -> String { Attachment(post: "1", name: name, data: data).thumbnail }

    /// A BMP file of two rows, the upper one white and the lower one black, with 24 bits a pixel.
    private func bitmap(width: Int, isFromTop: Bool) -> Data {
        func number(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }
        let pitch = (width * 3 + 3) / 4 * 4
        let (white, black) = (Array(repeating: UInt8(255), count: pitch), Array(repeating: UInt8(0), count: pitch))
        var bytes = Array("BM".utf8) + number(54 + 2 * pitch, 4) + number(0, 4) + number(54, 4)
        bytes += number(40, 4) + number(width, 4) + number(isFromTop ? -2 : 2, 4) + number(1, 2) + number(24, 2) + number(0, 24)
        return Data(bytes + (isFromTop ? white + black : black + white))
    }

    @Test("A picture is scaled to a few characters, and keeps its shades and its shape")
    func netpbm() {
        #expect(thumbnail(picture(width: 40, height: 10)) == Array(repeating: "████████████            ", count: 3).joined(separator: "\n"))
        let grey = Data("P5 4 2 3\n".utf8) + Data([0, 1, 2, 3, 0, 1, 2, 3])
        let lines = thumbnail(grey).split(separator: "\n").map(String.init)
        #expect(lines.count == 6 && Set(lines).count == 1 && lines[0].count == 24, "\(lines)")
        #expect(lines[0] == "      ░░░░░░▓▓▓▓▓▓██████", "\(lines)")
    }

    @Test("A bitmap is read from either end")
    func bitmaps() {
        for isFromTop in [true, false] {
            let lines = thumbnail(bitmap(width: 3, isFromTop: isFromTop)).split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.first?.allSatisfy { $0 == "█" } == true && lines.last?.allSatisfy { $0 == " " } == true, "\(lines)")
        }
    }

    @Test("A text shows its beginning, and other data a label")
    func others() {
        #expect(thumbnail(Data("Hello\nworld".utf8)) == "Hello\nworld")
        let long = thumbnail(Data(String(repeating: "ab é\n", count: 1_000).utf8))
        #expect(long == Array(repeating: "ab é", count: 6).joined(separator: "\n"))
        #expect(thumbnail(Data([0, 1, 2]), "a.pdf") == "[pdf, 3 bytes]")
        #expect(thumbnail(Data([255]), "a") == "[data, 1 byte]")
        #expect(thumbnail(Data(), "a") == "[data, 0 bytes]")
    }

    @Test("A picture that is cut off, or says that it is larger than it is, is no picture, and nothing fails")
    func damaged() {
        let whole = picture(width: 4, height: 4)
        for count in 0..<whole.count { #expect(!thumbnail(whole.prefix(count)).contains("█"), "\(count)") }
        #expect(!thumbnail(Data("P6 999999999 999999999 255\n".utf8)).contains("█"))
        #expect(!thumbnail(Data("P6 9223372036854775807 2 255\n".utf8)).contains("█"))
        #expect(!thumbnail(Data("P6 -1 -1 255\n".utf8)).contains("█"))
        let bitmap = bitmap(width: 3, isFromTop: false)
        for count in 0..<bitmap.count { #expect(!thumbnail(bitmap.prefix(count)).contains("█"), "\(count)") }
    }
}
