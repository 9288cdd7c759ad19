import ContentHashing
import Foundation
import ObjectTransfer
import Testing
import UbiquityTesting

/// How a file is cut into pieces.
struct ContentChunkerTests {
    /// The lengths of the pieces of some bytes, which come in reads of some length.
    private func cut(_ bytes: [UInt8], reads: Int = 1 << 20) -> [Int] {
        var chunker = ContentChunker()
        var (lengths, length, start) = ([Int](), 0, 0)
        while start < bytes.count {
            let end = min(bytes.count, start + reads)
            bytes[start..<end].withUnsafeBytes { read in
                var rest = read
                while let cut = chunker.cut(rest) {
                    lengths.append(length + cut)
                    (length, rest) = (0, UnsafeRawBufferPointer(rebasing: rest[cut...]))
                }
                length += rest.count
            }
            start = end
        }
        if length > 0 { lengths.append(length) }
        return lengths
    }

    private func random(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return (0..<(count / 8)).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    }

    @Test("Pieces have from 2 to 16 MiB, whatever the bytes are, and do not depend on how the file is read")
    func lengths() {
        for bytes in [random(64 << 20), [UInt8](repeating: 0, count: 40 << 20), random(3 << 20), random(1 << 20), []] {
            let lengths = cut(bytes)
            #expect(lengths.reduce(0, +) == bytes.count)
            #expect(lengths.dropLast().allSatisfy { (2 << 20...16 << 20).contains($0) })
            #expect(lengths.last ?? 1 <= 16 << 20)
            #expect(cut(bytes, reads: 65_521) == lengths)
        }
    }

    @Test("A byte that is changed, put in or taken out changes the pieces around it and no others")
    func edits() {
        let bytes = random(64 << 20)
        func pieces(_ bytes: [UInt8]) -> Set<ContentHash> {
            var start = 0
            return Set(
                cut(bytes).map { length in
                    defer { start += length }
                    return ContentHash(of: bytes[start..<start + length])
                })
        }
        let before = pieces(bytes)
        #expect(before.count > 4)
        for place in [0, 20 << 20, bytes.count - 1] {
            var (changed, longer, shorter) = (bytes, bytes, bytes)
            changed[place] ^= 1
            longer.insert(1, at: place)
            shorter.remove(at: place)
            for edited in [changed, longer, shorter] { #expect(pieces(edited).subtracting(before).count <= 2) }
        }
    }
}
