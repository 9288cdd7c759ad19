import Foundation
import SystemPackage
import Testing

/// The page on compatible neighbours, and the tests that it names.
struct WorksWithTests {
    @Test("Each line of the page on what works with stores names a test of the neighbours, and each of their tests stands on the page")
    func names() throws {
        let folder = packageDirectory.appending("Tests/NeighbourTests")
        var tests: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder.string) where file.hasSuffix(".swift") {
            tests.formUnion(try packageText("Tests/NeighbourTests/\(file)").matches(of: /@Test\(\s*"(.+)"/).map { String($0.1) })
        }
        let page = try packageText("Sources/Ubiquity/Ubiquity.docc/WorksWith.md")
        let lines = page.split(separator: "\n").filter { $0.hasPrefix("| ") && !$0.hasPrefix("| what |") }
        let named = lines.compactMap { $0.wholeMatch(of: /\|.+\|.+\| “(.+)” \|/).map { String($0.1) } }
        #expect(named.count == lines.count && named.count > 20, "a line names no test")
        #expect(tests == Set(named), "not on the page: \(tests.subtracting(named).sorted()); no such test: \(Set(named).subtracting(tests).sorted())")
    }
}
