import Foundation
import FuzzDecoders
import SystemPackage
import Testing

/// What fuzzing found, and what it starts from, read again.
struct FuzzTests {
    private static let finds = URL(filePath: packageDirectory.appending("Tests/UbiquityStoresTests/FuzzFinds").string)

    @Test("what fuzzing found is read without a trap", arguments: FuzzDecoder.allCases)
    func finds(decoder: FuzzDecoder) throws {
        for seed in decoder.seeds {
            decoder.read(seed)
            // A baseline has thousands of bytes, and is joined into two stores; the script of one that ends early is another script.
            let step = decoder == .baseline ? max(seed.count / 40, 64) : max(seed.count / 200, 1)
            for count in stride(from: 0, to: seed.count, by: step) { decoder.read(Array(seed.prefix(count))) }
        }
        for file in try FileManager.default.contentsOfDirectory(atPath: Self.finds.path) where file.hasPrefix("\(decoder.rawValue)-") {
            decoder.read([UInt8](try Data(contentsOf: Self.finds.appending(path: file))))
        }
    }
}
