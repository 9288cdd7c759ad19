import Foundation
import SystemPackage
import Testing
import UbiquityContainers

/// The file that stands for a document whose bytes are elsewhere.
struct PlaceholderTests {
    private let letter = Placeholder(
        name: "Letter.txt", size: 4, sha256: String(repeating: "a", count: 64), modified: Date(timeIntervalSince1970: 1_772_366_400.25),
        isPackage: false, isEvicted: true)

    @Test("U-74: a placeholder keeps the size and the time of its document, and one that was moved has the name of its file")
    func names() throws {
        #expect(Placeholder(decoding: letter.encoded, named: ".Letter.txt.ubiquity.nosync") == letter)
        var moved = letter
        moved.name = "Other.md"
        #expect(Placeholder(decoding: letter.encoded, named: ".Other.md.ubiquity.nosync") == moved)
        // A name that has no room for the suffix is in the file alone.
        var long = letter
        long.name = String(repeating: "x", count: 250)
        let own = try #require(Placeholder.path(of: FilePath(long.name)).lastComponent?.string)
        #expect(own.utf8.count == 81 && Placeholder(decoding: long.encoded, named: own) == long)
    }

    @Test(
        "U-74: what is no placeholder of a document in the same directory is none",
        arguments: ["..ubiquity.nosync", "...ubiquity.nosync", "Letter.txt", ".a/b.ubiquity.nosync", "..a.ubiquity.nosync.ubiquity.nosync"])
    func refusals(_ own: String) throws {
        #expect(Placeholder(decoding: letter.encoded, named: own) == nil)
        for name in ["", ".", "..", "../Letter.txt", "/etc/passwd", ".x.ubiquity.nosync"] {
            var hostile = letter
            hostile.name = name
            // The name of the file counts, if it is one.
            #expect(Placeholder(decoding: hostile.encoded, named: ".Letter.txt.ubiquity.nosync") == letter)
            #expect(Placeholder(decoding: hostile.encoded, named: own) == nil)
        }
        #expect(Placeholder(decoding: Array("{}".utf8), named: ".Letter.txt.ubiquity.nosync") == nil)
    }
}
