import StoreFormat
import Testing
import UbiquityTesting

/// Which bundles a head lists, and which of them a reader fetches.
struct HeadRangeTests {
    @Test("P-20: from any head to any other there is a cover of O(log d) bundles, with O(d) heads, that lacks no head")
    func covers() {
        var random = SeededRandom(seed: 29)
        for _ in 0..<4000 {
            let head = Int64.random(in: 1...200_000, using: &random)
            let distance = Int64.random(in: 1...min(head, [20, 300, 5000, 200_000].randomElement(using: &random)!), using: &random)
            let listed = HeadRange.listed(at: head)
            guard let cover = HeadRange.cover(from: head - distance, to: head, among: listed) else {
                Issue.record("no cover of \(distance) heads before \(head)")
                continue
            }
            var reached = head - distance
            for range in cover {
                #expect(range.after <= reached && reached < range.last)
                reached = range.last
            }
            #expect(reached == head)
            let levels = 1 + (0...).first { Int64(1) << (4 * ($0 + 1)) > distance }!
            #expect(cover.count <= 32 * levels, "\(cover.count) bundles for \(distance) heads")
            #expect(cover.reduce(0) { $0 + $1.size } <= 3 * distance + 16, "a cover of \(distance) heads has too many")
        }
    }

    @Test("A head lists at most 31 ranges a level, and each range that ends with it")
    func lists() {
        for head in [Int64(1), 15, 16, 17, 255, 256, 4096, 65_536, 1_000_000] {
            let listed = HeadRange.listed(at: head)
            #expect(Dictionary(grouping: listed, by: \.level).values.allSatisfy { $0.count <= 31 })
            #expect(Set(HeadRange.ending(at: head)).isSubset(of: listed))
            #expect(listed.allSatisfy { $0.last <= head })
        }
    }

    @Test("A range is made of 16 of the level below, and of its ends there is one range or none")
    func parts() {
        for range in HeadRange.listed(at: 70_000) where range.level > 0 {
            #expect(range.parts.count == 16)
            #expect(range.parts.first!.after == range.after && range.parts.last!.last == range.last)
            #expect(HeadRange(after: range.after, last: range.last) == range)
        }
        #expect(HeadRange(after: 1, last: 17) == nil)
        #expect(HeadRange(after: 0, last: 15) == nil)
        #expect(HeadRange(after: -1, last: 0) == nil)
        #expect(HeadRange(after: 0, last: .max) == nil)
    }

    @Test("Behind the floor there is no cover, and above it there is")
    func floor() {
        let listed = HeadRange.listed(at: 5000, above: 4900)
        #expect(HeadRange.cover(from: 10, to: 5000, among: listed) == nil)
        #expect(HeadRange.cover(from: 4900, to: 5000, among: listed) != nil)
        #expect(HeadRange.cover(from: 5000, to: 5000, among: listed) == [])
    }
}
