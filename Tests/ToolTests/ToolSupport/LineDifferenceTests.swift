import Foundation
import Testing

@testable import ToolSupport

/// The difference of two texts by lines.
struct LineDifferenceTests {
    private func unified(_ old: String, _ new: String, context: Int = 3) throws -> String {
        let difference = try #require(LineDifference(from: old, to: new))
        return difference.unified(old: "a", new: "b", context: context).map { $0.text + "\n" }.joined()
    }

    @Test(
        "a difference is what `diff -u` prints: hunks with their numbers, three lines around a change, and a remark at a last line without its end",
        arguments: [
            ("", "", ""), ("a\n", "a\n", ""), ("", "a\n", "@@ -0,0 +1 @@\n+a\n"), ("a\n", "", "@@ -1 +0,0 @@\n-a\n"),
            ("a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\n5\n6\n", "@@ -3,3 +3,4 @@\n 3\n 4\n 5\n+6\n"),
            ("1\n2\n3\n4\n5\n", "2\n3\n4\n5\n", "@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n"),
            // The ends of lines count, and bytes that show the same are not the same.
            ("a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
            ("a\n", "a", "@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n"),
            ("a\nb", "A\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"),
            ("a\r\nb\n", "a\nb\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n"),
            ("\u{E9}\n", "e\u{301}\n", "@@ -1 +1 @@\n-\u{E9}\n+e\u{301}\n"),
            ("\n\n", "\n", "@@ -1,2 +1 @@\n \n-\n"),
        ] as [(String, String, String)])
    func table(old: String, new: String, expected: String) throws {
        #expect(try unified(old, new) == (expected.isEmpty ? "" : "--- a\n+++ b\n" + expected))
    }

    @Test("changes with at most six equal lines between them share a hunk, and others do not")
    func hunks() throws {
        func text(_ changed: Set<Int>) -> String { (1...20).map { changed.contains($0) ? "new \($0)\n" : "\($0)\n" }.joined() }
        let places = { (text: String) in text.split(separator: "\n").filter { $0.hasPrefix("@@") } }
        #expect(places(try unified(text([]), text([5, 12]))) == ["@@ -2,14 +2,14 @@"])
        #expect(places(try unified(text([]), text([5, 13]))) == ["@@ -2,7 +2,7 @@", "@@ -10,7 +10,7 @@"])
        #expect(places(try unified(text([]), text([5, 12]), context: 0)) == ["@@ -5 +5 @@", "@@ -12 +12 @@"])
        let difference = try #require(LineDifference(from: text([]), to: text([5])))
        #expect(difference.changes == [LineDifference.Change(old: 4..<5, new: 4..<5)])
        let kinds = difference.unified(old: "a", new: "b").map(\.kind)
        #expect(kinds == [.name, .name, .place, .same, .same, .same, .removed, .inserted, .same, .same, .same])
    }

    @Test("the common lines of two texts are a longest common subsequence", arguments: 1...40)
    func longest(round: Int) {
        var state = UInt64(round) &* 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        for _ in 0..<50 {
            let letters = 1 + next(8)
            let (old, new) = ((0..<next(15)).map { _ in next(letters) }, (0..<next(15)).map { _ in next(letters) })
            let common = CommonLines(old, new)
            let ofOld = old.indices.filter { common.old[$0] }.map { old[$0] }
            let ofNew = new.indices.filter { common.new[$0] }.map { new[$0] }
            #expect(ofOld == ofNew && ofOld.count == Self.length(old, new), "\(old) \(new)")
        }
    }

    /// The length of a longest common subsequence, from the whole table.
    private static func length(_ old: [Int], _ new: [Int]) -> Int {
        var row = [Int](repeating: 0, count: new.count + 1)
        for line in old {
            var next = row
            for (column, other) in new.enumerated() { next[column + 1] = line == other ? row[column] + 1 : max(row[column + 1], next[column]) }
            row = next
        }
        return row[new.count]
    }

    @Test("texts of the greatest size that have every line in another place are compared, and their common lines are common")
    func reordered() {
        let old = Array(0..<LineDifference.lineLimit)
        // A step that has no factor in common with the count reaches each line once.
        let new = old.map { $0 * 7919 % LineDifference.lineLimit }
        let common = CommonLines(old, new)
        let (ofOld, ofNew) = (old.filter { common.old[$0] }, new.indices.filter { common.new[$0] }.map { new[$0] })
        #expect(ofOld == ofNew && !ofOld.isEmpty)
    }

    @Test("a text above the limits is not compared, and one at the limits is")
    func limits() {
        let lines = String(repeating: "\n", count: LineDifference.lineLimit)
        #expect(LineDifference(from: lines, to: "")?.changes.count == 1)
        #expect(LineDifference(from: lines + "\n", to: "") == nil && LineDifference(from: "", to: lines + "x") == nil)
        let bytes = String(repeating: "x", count: LineDifference.byteLimit)
        #expect(LineDifference(from: "", to: bytes)?.changes.count == 1)
        #expect(LineDifference(from: "", to: bytes + "x") == nil && LineDifference(from: bytes + "x", to: "") == nil)
    }
}
