import Foundation
import SystemPackage
import Testing

/// The tables of the page about Cocoa's names, and the tests that they name.
struct BehaviourTableTests {
    /// A line of a table: its cells.
    private typealias Line = [String]

    /// The tables under "What holds", each without its line of dashes.
    private static func tables() throws -> [[Line]] {
        let page = try packageText("Sources/UbiquityFoundation/UbiquityFoundation.docc/UbiquityFoundation.md")
        let section = try #require(page.components(separatedBy: "\n## ").first { $0.hasPrefix("What holds\n") })
        return section.components(separatedBy: "\n\n").filter { $0.hasPrefix("|") }.map { table in
            table.split(separator: "\n").filter { !$0.hasPrefix("|---") }.map { line in
                line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            }
        }
    }

    /// Every test of the package, as `Suite.function`.
    private static func tests() throws -> Set<String> {
        var tests: Set<String> = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: packageDirectory.appending("Tests").string) where file.hasSuffix(".swift") {
            let text = try packageText("Tests/\(file)")
            let suites = text.matches(of: /(?:struct|class|actor|extension) (\w+Tests)\b/).map { $0.1 }
            let functions = text.components(separatedBy: "@Test").dropFirst().compactMap { $0.firstMatch(of: /func (\w+)\(/)?.1 }
            for suite in suites { for function in functions { tests.insert("\(suite).\(function)") } }
        }
        return tests
    }

    @Test("each line of the behaviour tables names at least one test, and every test that is named exists under that name")
    func names() throws {
        let tests = try Self.tests()
        #expect(tests.count > 1000)
        let tables = try Self.tables()
        #expect(tables.count == 6)
        for table in tables {
            #expect(table.first?.last == "Tests" && table.count > 1, "\(table)")
            for line in table.dropFirst() {
                #expect(line.count == 3, "\(line)")
                let names = line.last?.split(separator: ", ") ?? []
                #expect(!names.isEmpty, "\(line)")
                for name in names {
                    #expect(name.wholeMatch(of: /`\w+Tests\.\w+`/) != nil, "no name of a test: \(name)")
                    #expect(tests.contains(String(name.dropFirst().dropLast())), "no such test: \(name)")
                }
            }
        }
    }

    @Test("the tables of accesses and presenters name tests between processes for all that holds between them")
    func processes() throws {
        // A form's return, programming errors, and evictions, which take a transfer agent, are matters of one process.
        let alone = ["`coordinate(with:queue:byAccessor:)`", "`item(at:", "A presenter that lacks the method for evictions"]
        for line in try Self.tables().prefix(2).flatMap({ $0.dropFirst() }) where !alone.contains(where: line[0].hasPrefix) {
            #expect(line[2].contains("`PortedTests."), "\(line[0])")
        }
    }
}
