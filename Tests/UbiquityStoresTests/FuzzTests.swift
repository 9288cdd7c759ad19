import Foundation
import FuzzDecoders
import Testing

/// What fuzzing found, and what it starts from, read again.
struct FuzzTests {
    private static let finds = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "FuzzFinds")

    @Test("what fuzzing found is read without a trap", arguments: FuzzDecoder.allCases)
    func finds(decoder: FuzzDecoder) throws {
        for seed in decoder.seeds {
            decoder.read(seed)
            // A baseline has thousands of bytes.
            for count in stride(from: 0, to: seed.count, by: max(1, seed.count / 200)) { decoder.read(Array(seed.prefix(count))) }
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: Self.finds.path) where file.hasPrefix("\(decoder.rawValue)-") {
            decoder.read([UInt8](try Data(contentsOf: Self.finds.appending(path: file))))
        }
    }
}
