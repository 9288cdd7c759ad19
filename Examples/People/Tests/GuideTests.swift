import Foundation
import SystemPackage
import Testing

/// Checks that the guide shows code that runs.
struct GuideTests {
    @Test("Every listing of the guide to testing against wipes stands in this example's test, line by line")
    func listings() throws {
        let here = FilePath(#filePath).removingLastComponent()
        let package = here.removingLastComponent().removingLastComponent().removingLastComponent()
        let guide = try text(package.appending("Sources/UbiquityTesting/UbiquityTesting.docc/TestingWipes.md"))
        let test = lines(try text(here.appending("WipeTests.swift")))
        let listings = guide.components(separatedBy: "```swift\n").dropFirst().map { lines($0.components(separatedBy: "```")[0]) }
        #expect(listings.count == 4)
        for listing in listings { #expect(test.contains(listing), "it shows what the test does not do:\n\(listing)") }
    }

    private func text(_ file: FilePath) throws -> String { try String(contentsOfFile: file.string, encoding: .utf8) }

    /// Returns the text without indentation and empty lines.
    private func lines(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
