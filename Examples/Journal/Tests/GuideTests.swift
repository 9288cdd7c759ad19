import Foundation
import JournalModel
import SystemPackage
import Testing

/// The page of the book about the journal, compared with the journal.
struct GuideTests {
    private let example = FilePath(#filePath).removingLastComponent().removingLastComponent()

    private func page() throws -> String {
        let package = example.removingLastComponent().removingLastComponent()
        return try text(package.appending("Sources/Ubiquity/Ubiquity.docc/Journal.md"))
    }

    private func text(_ file: FilePath) throws -> String { try String(contentsOfFile: file.string, encoding: .utf8) }

    /// Returns the text without indentation and empty lines.
    private func lines(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    @Test("Every listing of the page stands in the model, line by line")
    func listings() throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: example.appending("Model").string).filter { $0.hasSuffix(".swift") }
        let model = try files.map { lines(try text(example.appending("Model").appending($0))) }
        let listings = try page().components(separatedBy: "```swift\n").dropFirst().map { lines($0.components(separatedBy: "```")[0]) }
        #expect(listings.count == 5)
        for listing in listings { #expect(model.contains { $0.contains(listing) }, "it shows what the model does not do:\n\(listing)") }
    }

    @Test("The page has every key, with its meaning as the screen says it")
    func keys() throws {
        let rows = try page().split(separator: "\n").map { $0.replacing("`", with: "") }
        for (keys, meaning) in JournalView.keys {
            #expect(rows.contains { $0.hasPrefix("| \(keys) |") && $0.contains(meaning) }, "\(keys) | \(meaning)")
        }
    }
}
